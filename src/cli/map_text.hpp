// Where the processes of a job are, for people.
#pragma once

#include <string>

#include "wire/client.pb.h"

namespace tide::cli {

std::string map_text(const wire::JobMap& map);

}  // namespace tide::cli
