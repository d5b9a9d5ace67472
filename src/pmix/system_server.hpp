// The PMIx server that tools of a host find without knowing anything about it.
#pragma once

#include <string>

#include "base/result.hpp"

namespace tide::pmix {

// Where it is told: `named`, or without that where libpmix and tools look by themselves.
std::string system_server_directory(const std::string& named);

// Whether this place is free. libpmix 4.2.2 would take the file of another server that runs, and
// remove it when it ends.
Status check_system_server(const std::string& directory, const std::string& host);

}  // namespace tide::pmix
