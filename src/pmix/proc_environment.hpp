// What a process has in its environment so that it finds its server.
#pragma once

#include <string>

#include "base/result.hpp"
#include "pmix/server.hpp"

namespace tide::pmix {

struct Surroundings {
  bool shared_host = false;  // other daemons on this host play other nodes
  bool crowded = false;      // the job has more processes on this host than it has processors
  std::string session_directory;
};

// Of a process that libpmix knows as local.
Result<ProcEnvironment> proc_environment(const ProcName& proc, const Surroundings& surroundings);

}  // namespace tide::pmix
