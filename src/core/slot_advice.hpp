// Why a job has no place, and what would do instead: for people.
#pragma once

#include <string>
#include <vector>

#include "core/mapper.hpp"

namespace tide::core {

// The smallest changes to the app context that found no place, everything else as asked, with which
// map_job() would place the job: now, or in an idle DVM.
say::SlotAdvice advise_on_slots(const wire::JobSpec& job, const std::vector<MapNode>& nodes,
                                const MapFailure& failure);

// `unheard`: nodes that are no candidates because they do not answer at present.
std::string explain_map_failure(const wire::JobSpec& job, const std::vector<MapNode>& nodes,
                                const MapFailure& failure, std::vector<std::string> unheard);

}  // namespace tide::core
