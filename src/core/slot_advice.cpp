#include "core/slot_advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tide::core {

namespace {

bool fits(const wire::JobSpec& job, const std::vector<MapNode>& nodes) {
  return map_job(job, nodes).verdict == MapVerdict::kPlaced;
}

// The largest number of processes up to `limit` with which the job fits. More processes of one app
// context never leave more room to the others, so halving finds it.
std::uint32_t most_that_fits(wire::JobSpec job, int app, std::uint32_t limit,
                             const std::vector<MapNode>& nodes) {
  const auto with = [&](std::uint32_t processes) {
    job.mutable_apps(app)->set_processes(processes);
    return fits(job, nodes);
  };
  if (limit == 0 || with(limit)) return limit;
  std::uint32_t good = 0;
  std::uint32_t bad = limit;
  while (bad - good > 1) {
    const auto middle = good + (bad - good) / 2;
    (with(middle) ? good : bad) = middle;
  }
  return good;
}

std::vector<MapNode> idle(std::vector<MapNode> nodes) {
  for (auto& node : nodes) node.used = 0;
  return nodes;
}

std::uint32_t most_when_idle(wire::JobSpec job, const std::vector<MapNode>& nodes,
                             const MapFailure& failure) {
  job.mutable_apps(failure.app)->set_processes(failure.asked);
  const auto result = map_job(job, nodes);
  if (result.verdict == MapVerdict::kPlaced) return failure.asked;
  const bool same = result.failure->app == failure.app;
  return most_that_fits(std::move(job), failure.app, same ? result.failure->free : failure.asked,
                        nodes);
}

// Raises the limits that --host sets, first ones first, until the processes have room.
std::string wider_hosts(wire::JobSpec job, const std::vector<MapNode>& nodes,
                        const MapFailure& failure) {
  auto& app = *job.mutable_apps(failure.app);
  app.set_processes(failure.asked);
  auto missing = failure.asked - failure.free;
  for (const auto& seat : failure.seats) {
    const auto& node = nodes[seat.node];
    const auto spoken_for = node.used + seat.taken + seat.usable;
    if (!seat.host_limit || spoken_for >= node.slots) continue;
    const auto more = std::min(missing, node.slots - spoken_for);
    const auto host = std::ranges::find(*app.mutable_hosts(), node.name, &wire::HostRequest::node);
    host->set_slots(host->slots() + more);
    missing -= more;
  }
  if (missing > 0 || !fits(job, nodes)) return {};
  std::string text;
  for (const auto& host : app.hosts()) {
    text += (text.empty() ? "" : ",") + host.node();
    if (host.slots() > 0) text += fmt::format(":{}", host.slots());
  }
  return text;
}

bool fits_without_hosts(wire::JobSpec job, const std::vector<MapNode>& nodes,
                        const MapFailure& failure) {
  auto& app = *job.mutable_apps(failure.app);
  app.set_processes(failure.asked);
  app.clear_hosts();
  return fits(job, nodes);
}

bool fits_oversubscribed(wire::JobSpec job, const std::vector<MapNode>& nodes,
                         const MapFailure& failure) {
  job.mutable_apps(failure.app)->set_processes(failure.asked);
  job.set_oversubscribe(true);
  return fits(job, nodes);
}

say::SlotRow row_of(const MapNode& node, const MapFailure::Seat& seat) {
  return {node.name,  node.slots,      node.source, node.used,
          seat.taken, seat.host_limit, seat.usable, node.max_slots};
}

}  // namespace

say::SlotAdvice advise_on_slots(const wire::JobSpec& job, const std::vector<MapNode>& nodes,
                                const MapFailure& failure) {
  say::SlotAdvice advice;
  const auto& app = job.apps(failure.app);
  advice.fits_now =
      most_that_fits(job, failure.app, job.oversubscribe() ? failure.asked : failure.free, nodes);
  advice.fits_when_idle = most_when_idle(job, idle(nodes), failure);
  if (!app.hosts().empty()) {
    advice.by_file = !app.hostfile().empty();
    advice.hosts = wider_hosts(job, nodes, failure);
    advice.without_hosts = advice.hosts.empty() && fits_without_hosts(job, nodes, failure);
  }
  advice.oversubscribe = !job.oversubscribe() && fits_oversubscribed(job, nodes, failure);
  return advice;
}

std::string explain_map_failure(const wire::JobSpec& job, const std::vector<MapNode>& nodes,
                                const MapFailure& failure, std::vector<std::string> unheard) {
  switch (failure.kind) {
    case MapFailure::Kind::kNoNodes:
      return say::no_nodes_left();
    case MapFailure::Kind::kTooFewSlots:
      break;
  }
  say::SlotShortage shortage;
  shortage.program = job.apps(failure.app).argv(0);
  shortage.asked = failure.asked;
  shortage.number = static_cast<std::size_t>(failure.app) + 1;
  shortage.programs = static_cast<std::size_t>(job.apps_size());
  for (const auto& seat : failure.seats) shortage.rows.push_back(row_of(nodes[seat.node], seat));
  shortage.unheard = std::move(unheard);
  shortage.advice = advise_on_slots(job, nodes, failure);
  return say::not_enough_slots(shortage);
}

}  // namespace tide::core
