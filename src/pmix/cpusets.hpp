// Where on a node processes may run, in the texts that PMIx has for it.
#pragma once

#include <map>
#include <string>

namespace tide::pmix {

// What this process itself may use, as hwloc lists it ("0-3,8"); empty if libpmix does not tell,
// because it is not started.
std::string own_cpu_list();

// Of the node on which libpmix runs. Keeps what it found: many processes have the same.
class Localities {
 public:
  // How processes with these CPUs relate to others, for PMIX_LOCALITY_STRING; empty where libpmix
  // does not make sense of it.
  const std::string& of(const std::string& cpu_list);

 private:
  std::map<std::string, std::string> known_;
};

// For PMIX_CPUSET.
std::string cpuset_text(const std::string& cpu_list);

}  // namespace tide::pmix
