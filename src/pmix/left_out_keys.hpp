// For tests: what the own_keys.cpp was compiled without that they are linked with.
#pragma once

#include <string_view>

namespace tide::pmix {

// Of a name without its PMIX_; never of one that libpmix has itself.
bool is_left_out(std::string_view name);

}  // namespace tide::pmix
