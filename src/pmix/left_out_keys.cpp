#include "pmix/left_out_keys.hpp"

#include <pmix_common.h>

#include <string>

namespace tide::pmix {

bool is_left_out(std::string_view name) {
#ifdef PMIX_ALLOC_TARGET
  return name.empty();  // later releases have all of them
#else
  constexpr std::string_view kLeftOut = TIDE_KEYS_LEFT_OUT;
  return kLeftOut == ",all," || kLeftOut.find("," + std::string(name) + ",") != kLeftOut.npos;
#endif
}

}  // namespace tide::pmix
