// The limit on open files: ours is raised, that of the programs we start stays what it was.
#pragma once

#include <sys/resource.h>

#include "base/result.hpp"

namespace tide::exec {

// Raises the soft limit on open files of this program to its hard limit and returns the soft limit
// that it was started with, which is what ProcessTable and ProcessSpawner give back to children.
Result<rlim_t> raise_descriptor_limit();

}  // namespace tide::exec
