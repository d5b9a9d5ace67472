// What this program sees of a scheduler around it.
#pragma once

#include "rm/grant.hpp"

namespace tide::head {

rm::Surroundings surroundings();

}  // namespace tide::head
