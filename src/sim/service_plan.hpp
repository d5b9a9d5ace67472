// What the processes of a job do with the services, one step after the other: the same for all of
// them, so that they meet where they do something together.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/chance.hpp"
#include "sim/scenario.hpp"

namespace tide::sim {

enum class Act : std::uint8_t {
  kFence,
  kSubset,
  kModex,
  kPublish,
  kLook,  // for what was published some steps before
  kEvent,
  kConstruct,
  kDestruct,
  kSpawn,
  kConnect,  // with whom was spawned, or with who did
  kMeet,     // wants what the others there have put
  kDisconnect,
  kLog,
  kQuery,
  kAllocate,
};

struct ServiceStep {
  Act act = Act::kFence;
  std::uint64_t draw = 0;  // the same for steps that belong together
};

inline Ask ask_of(Act act) {
  switch (act) {
    case Act::kFence:
      return Ask::kFence;
    case Act::kSubset:
      return Ask::kSubset;
    case Act::kModex:
    case Act::kMeet:
      return Ask::kModex;
    case Act::kPublish:
    case Act::kLook:
      return Ask::kPublish;
    case Act::kEvent:
      return Ask::kEvent;
    case Act::kConstruct:
    case Act::kDestruct:
      return Ask::kGroup;
    case Act::kLog:
      return Ask::kLog;
    case Act::kQuery:
      return Ask::kQuery;
    case Act::kAllocate:
      return Ask::kAllocate;
    default:
      return Ask::kSpawn;
  }
}

std::vector<ServiceStep> program_of(const JobPlan& plan, Chance chance);
// Whether the process of this rank does something in the step.
bool takes_part(const JobPlan& plan, const ServiceStep& step, std::uint32_t rank,
                std::uint32_t size);
// What a process of a job so planned spawns, and a tool.
JobPlan child_plan(const JobPlan& parent, Chance chance);
JobPlan tool_job_plan(const ToolPlan& tool, Chance chance);

}  // namespace tide::sim
