// What a daemon is told, from what all daemons of its DVM are told.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "core/actions.hpp"
#include "wire/link.pb.h"

namespace tide::launch {

// The daemon that a target of the core's is, without those below it.
wire::DaemonSeed seed_of(const core::LaunchTarget& target);
// The way back, with all below.
core::LaunchTarget target_of(const wire::DaemonSeed& seed);

// Takes from `common`, which may be the blob of another daemon, what is the same for all.
wire::DaemonBlob blob_for(const wire::DaemonSeed& seed, const wire::DaemonBlob& common);

// What the daemon of one machine is told, found by the names of that machine: the first that fits a
// host as it is, else without its domain. An error, for people, where there is not exactly one.
Result<wire::DaemonBlob> part_of(const wire::StepBlob& step, const std::vector<std::string>& names);

}  // namespace tide::launch
