// Text and bytes that libpmix allocated and that are ours to free.
#pragma once

#include <cstdlib>
#include <memory>

namespace tide::pmix {

struct FreeText {
  void operator()(char* text) const { std::free(text); }  // NOLINT(*-no-malloc): libpmix's
};
using LibraryText = std::unique_ptr<char, FreeText>;

}  // namespace tide::pmix
