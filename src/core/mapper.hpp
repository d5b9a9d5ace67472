// Where the processes of a job go. A pure function of the job and of the nodes as they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "wire/job.pb.h"

namespace tide::core {

struct MapNode {
  Rank rank;
  std::string name;
  std::uint32_t slots = 0;
  std::uint32_t used = 0;
};

struct Placement {
  ProcRank rank;
  std::uint32_t app = 0;
  Rank daemon;
  std::uint32_t local_rank = 0;  // among the processes of this job on its node
};

enum class MapVerdict : std::uint8_t {
  kPlaced,
  kImpossible,  // not even an idle DVM could hold it
  kBusy,        // it would fit if other jobs were not there
};

struct MapResult {
  MapVerdict verdict = MapVerdict::kPlaced;
  std::vector<Placement> placements;  // in rank order
  std::string reason;                 // for people, with the numbers; empty if placed
};

// `nodes` are the candidates in mapping order. By slot: a node is filled up to its free slots, then
// the next. By node: round robin over the nodes, each up to its free slots. With oversubscription,
// what is left over once all slots are taken goes round the nodes evenly.
MapResult map_job(const wire::JobSpec& job, const std::vector<MapNode>& nodes);

}  // namespace tide::core
