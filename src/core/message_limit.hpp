// What one message between the head and a daemon may carry. A link ends at a message above its own
// maximum, and what was not acknowledged goes again over the next one, which ends as well: so
// nothing above this is ever sent, and whoever wanted it is told.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace tide::core {

// The rim sets it to half of what links take; the other half is for what is added on the way.
inline constexpr std::size_t kDefaultMessageLimit = 32UL << 20U;

inline Error too_large(std::string_view what) {
  return Error{ErrorCode::kOutOfResources,
               std::string(what) + " is more than one message may carry (prte_max_msg_size)"};
}

}  // namespace tide::core
