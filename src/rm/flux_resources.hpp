// The set of resources that Flux writes as a JSON document (version 1): cores of ranks, and the
// names of the nodes that have those ranks. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "rm/host.hpp"

namespace tide::rm {

// A slot for each core. Several ranks of one node are one host. `source` is named in errors.
Result<std::vector<Host>> parse_flux_resources(std::string_view document, std::string_view source);

}  // namespace tide::rm
