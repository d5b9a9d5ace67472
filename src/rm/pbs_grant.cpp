// PBS, Torque and PALS: PBS_NODEFILE is a file with a line for each slot.
#include "rm/grant_readers.hpp"
#include "rm/granted_hosts.hpp"

namespace tide::rm {

Result<GrantedNodes> read_pbs(const Surroundings& surroundings) {
  const auto file = file_in(surroundings, "PBS_NODEFILE");
  if (!file) return file.error();
  GrantedHosts hosts(file->source);
  if (auto added = hosts.add_lines(file->text); !added) return added.error();
  auto found = hosts.take();
  if (!found) return found.error();
  return GrantedNodes{std::move(*found), "PBS_NODEFILE"};
}

}  // namespace tide::rm
