// Whether somebody is at the other end of a connection within this host, without a word to him.
#pragma once

#include <optional>

namespace tide::pmix {

// Nothing if the kernel does not tell.
std::optional<bool> has_other_end(int descriptor);

}  // namespace tide::pmix
