#include "sim/service_plan.hpp"

#include <utility>

namespace tide::sim {

namespace {

using Unit = std::vector<Act>;  // steps that belong together, in their order

Unit unit_of(Ask ask) {
  switch (ask) {
    case Ask::kFence:
      return {Act::kFence};
    case Ask::kSubset:
      return {Act::kSubset};
    case Ask::kModex:
      return {Act::kModex};
    case Ask::kPublish:
      return {Act::kPublish, Act::kLook};
    case Ask::kEvent:
      return {Act::kEvent};
    case Ask::kGroup:
      return {Act::kConstruct, Act::kDestruct};
    case Ask::kSpawn:
      return {Act::kSpawn, Act::kConnect, Act::kMeet, Act::kDisconnect};
    case Ask::kLog:
      return {Act::kLog};
    case Ask::kQuery:
      return {Act::kQuery};
    case Ask::kAllocate:
      return {Act::kAllocate};
  }
  return {};
}

void append(std::vector<ServiceStep>& program, const Unit& unit, std::uint64_t draw) {
  for (const Act act : unit) program.push_back(ServiceStep{act, draw});
}

}  // namespace

std::vector<ServiceStep> program_of(const JobPlan& plan, Chance chance) {
  std::vector<ServiceStep> program;
  if (plan.spawned) append(program, {Act::kConnect, Act::kMeet, Act::kDisconnect}, chance.next());
  std::vector<Ask> asks;
  for (std::size_t i = 0; i < kAsks; ++i) {
    asks.insert(asks.end(), plan.asks.at(i), static_cast<Ask>(i));
  }
  for (std::size_t left = asks.size(); left > 0; --left) {
    std::swap(asks[left - 1], asks[chance.below(left)]);
    // Who is connected with its parent does not connect with its children.
    const bool alone = plan.spawned && asks[left - 1] == Ask::kSpawn;
    append(program, alone ? Unit{Act::kSpawn} : unit_of(asks[left - 1]), chance.next());
  }
  return program;
}

bool takes_part(const JobPlan& plan, const ServiceStep& step, std::uint32_t rank,
                std::uint32_t size) {
  const bool first = rank == step.draw % size;
  Chance of_rank = Chance(step.draw).of(rank);
  switch (step.act) {
    case Act::kFence:
      return true;
    case Act::kSubset:
    case Act::kConstruct:
    case Act::kDestruct:
      // Nobody learns that one has deserted some of those who are with it on a node.
      return first || plan.trouble == Trouble::kDeserts || of_rank.percent(60);
    case Act::kModex:
    case Act::kLog:
    case Act::kQuery:
      return of_rank.percent(50);
    case Act::kPublish:
      return first || rank == (step.draw >> 8U) % size || rank == (step.draw >> 16U) % size;
    case Act::kLook:
      return rank == (step.draw >> 24U) % size;
    case Act::kConnect:
    case Act::kDisconnect:
      return first || plan.spawned;
    default:
      return first;
  }
}

JobPlan child_plan(const JobPlan& parent, Chance chance) {
  JobPlan child;
  child.spawned = !parent.spawned;
  child.processes = chance.small(1, 4);
  child.by_node = chance.percent(70);
  child.max_run_ms = 40;
  child.max_output_bytes = chance.percent(50) ? 0 : chance.small(50, 600);
  child.trouble = parent.child;
  child.trouble_rank = chance.small(0, child.processes - 1);
  child.asks_for(Ask::kFence) = chance.small(0, 1);
  // Generations: each has fewer wishes than the one before, so there is a last one.
  if (const auto wishes = parent.asks_for(Ask::kAllocate); wishes > 0) {
    child.aimed = chance.percent(40);
    child.asks_for(Ask::kAllocate) = wishes - 1;
    child.asks_for(Ask::kSpawn) = wishes > 1 ? 1 : 0;
  }
  const bool hangs = child.trouble == Trouble::kHang || child.trouble == Trouble::kStubborn;
  // With a parent that fails it ends without.
  const bool ends_with_parent =
      parent.trouble == Trouble::kExitCode || parent.trouble == Trouble::kCrash;
  if (hangs && !ends_with_parent) child.timeout_ms = chance.small(500, 3'000);
  return child;
}

JobPlan tool_job_plan(const ToolPlan& tool, Chance chance) {
  JobPlan job;
  job.processes = tool.processes;
  job.by_node = chance.percent(60);
  job.max_run_ms = 60;
  job.max_output_bytes = tool.max_output_bytes;
  job.asks_for(Ask::kFence) = chance.small(0, 1);
  job.asks_for(Ask::kLog) = chance.small(0, 1);
  if (tool.wishes > 0) {
    job.aimed = tool.aims;
    job.asks_for(Ask::kAllocate) = chance.small(0, 2);
    job.asks_for(Ask::kSpawn) = chance.small(0, 1);
  }
  if (chance.percent(15)) job.trouble = Trouble::kExitCode;
  // It ends when the tool leaves, and only then.
  if (tool.stay_ms > 0 && !tool.outlived && chance.percent(40)) job.trouble = Trouble::kHang;
  return job;
}

}  // namespace tide::sim
