// A job on the nodes of the DVM: what it says of hosts becomes names of nodes, and these are
// mapped.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "core/mapper.hpp"

namespace tide::core {

// Whether a node under suspicion may be used.
enum class Suspects : std::uint8_t { kIfNamed, kAlways };

struct Placing {
  std::optional<wire::JobSpec> chosen;  // the job with the nodes it chose; unset: it chose none
  std::vector<MapNode> candidates;
  std::vector<std::string> unheard;  // nodes that are left out because they are suspected
  std::optional<Error> bad_hosts;    // what the job says of hosts makes no sense here
  MapResult result;                  // unless there are bad hosts

  [[nodiscard]] bool placed() const { return !bad_hosts && result.verdict == MapVerdict::kPlaced; }
};

// True if a program of the job chooses among the nodes.
bool names_hosts(const wire::JobSpec& job);

// `nodes` are all nodes in the order of the DVM: relative names count in it.
Placing place_job(const wire::JobSpec& job, const std::vector<MapNode>& nodes, Suspects suspects);

// Why it has no place, for people.
std::string explain_failure(const wire::JobSpec& job, Placing placing);

// In the hosts of each program that chooses, names of nodes, each once, in place of its words. A
// node that a program has chosen is not empty for those after it.
Status choose_nodes(wire::JobSpec& job, const std::vector<MapNode>& nodes, Suspects suspects);

}  // namespace tide::core
