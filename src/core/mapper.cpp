#include "core/mapper.hpp"

#include <algorithm>
#include <optional>

namespace tide::core {

namespace {

// A node as one app context may use it.
struct Seat {
  std::size_t node;        // index into the candidates
  std::uint32_t cap = 0;   // processes of this app context that it may hold
  std::uint32_t free = 0;  // slots that other jobs leave
};

struct Working {
  const std::vector<MapNode>& nodes;
  std::vector<std::uint32_t> placed;      // by candidate, of this job
  std::vector<std::uint32_t> app_placed;  // by candidate, of the app context at hand
  MapResult result;
};

// How many processes of the app context a host may get; nothing if it was not asked for. A host
// that is named several times counts for the sum, and without a number for all its slots.
std::optional<std::uint32_t> asked_slots(const wire::AppSpec& app, const MapNode& node) {
  if (app.hosts().empty()) return node.slots;
  std::optional<std::uint32_t> sum;
  for (const auto& host : app.hosts()) {
    if (host.node() != node.name) continue;
    const auto more = host.slots() > 0 ? host.slots() : node.slots;
    sum = std::min(node.slots, sum.value_or(0) + std::min(more, node.slots));
  }
  return sum;
}

std::string missing_host(const wire::AppSpec& app, const std::vector<MapNode>& nodes) {
  for (const auto& host : app.hosts()) {
    const bool known = std::any_of(nodes.begin(), nodes.end(),
                                   [&](const auto& node) { return node.name == host.node(); });
    if (!known) return host.node();
  }
  return {};
}

std::vector<Seat> seats_for(const wire::AppSpec& app, const Working& work) {
  std::vector<Seat> seats;
  for (std::size_t i = 0; i < work.nodes.size(); ++i) {
    const auto& node = work.nodes[i];
    const auto cap = asked_slots(app, node);
    if (!cap) continue;
    const std::uint32_t free = node.slots > node.used ? node.slots - node.used : 0;
    seats.push_back(Seat{i, *cap, free});
  }
  return seats;
}

std::uint32_t minus(std::uint32_t whole, std::uint32_t part) {
  return whole > part ? whole - part : 0;
}

// How many more of this app context the seat holds; idle: if no other job were there.
std::uint32_t room(const Seat& seat, const Working& work, bool idle) {
  const auto slots = idle ? work.nodes[seat.node].slots : seat.free;
  return std::min(minus(seat.cap, work.app_placed[seat.node]),
                  minus(slots, work.placed[seat.node]));
}

std::uint64_t total_room(const std::vector<Seat>& seats, const Working& work, bool idle) {
  std::uint64_t sum = 0;
  for (const auto& seat : seats) sum += room(seat, work, idle);
  return sum;
}

void place(Working& work, std::size_t node, std::uint32_t app) {
  const auto rank = static_cast<std::uint32_t>(work.result.placements.size());
  work.result.placements.push_back(
      Placement{ProcRank(rank), app, work.nodes[node].rank, work.placed[node]++});
  ++work.app_placed[node];
}

void place_by_slot(Working& work, const std::vector<Seat>& seats, std::uint32_t app,
                   std::uint32_t& left) {
  for (const auto& seat : seats) {
    for (auto n = room(seat, work, false); n > 0 && left > 0; --n, --left) {
      place(work, seat.node, app);
    }
  }
}

void place_by_node(Working& work, const std::vector<Seat>& seats, std::uint32_t app,
                   std::uint32_t& left) {
  for (bool any = true; any && left > 0;) {
    any = false;
    for (const auto& seat : seats) {
      if (left == 0 || room(seat, work, false) == 0) continue;
      place(work, seat.node, app);
      --left;
      any = true;
    }
  }
}

// What the slots do not hold is spread evenly; by slot the ranks on one node stay neighbours.
void place_surplus(Working& work, const std::vector<Seat>& seats, std::uint32_t app,
                   std::uint32_t& left, bool by_node) {
  if (by_node) {
    for (std::size_t i = 0; left > 0; ++i, --left) place(work, seats[i % seats.size()].node, app);
    return;
  }
  const auto total = left;
  for (std::size_t i = 0; i < seats.size(); ++i) {
    auto share = total / seats.size() + (i < total % seats.size() ? 1 : 0);
    for (; share > 0; --share, --left) place(work, seats[i].node, app);
  }
}

MapResult failed(MapVerdict verdict, MapFailure failure) {
  return MapResult{verdict, {}, std::move(failure)};
}

// The limits that --host sets, as they were written.
std::optional<std::uint32_t> host_limit(const wire::AppSpec& app, const std::string& node) {
  std::optional<std::uint32_t> limit;
  for (const auto& host : app.hosts()) {
    if (host.node() != node) continue;
    if (host.slots() == 0) return std::nullopt;
    limit = limit.value_or(0) + host.slots();
  }
  return limit;
}

MapFailure shortage(int index, const wire::AppSpec& app, std::uint32_t asked, const Working& work,
                    const std::vector<Seat>& seats) {
  MapFailure out{MapFailure::Kind::kTooFewSlots, index, {}, asked, 0, {}};
  for (const auto& seat : seats) {
    const auto usable = room(seat, work, false);
    out.free += usable;
    out.seats.push_back(
        {seat.node, work.placed[seat.node], usable, host_limit(app, work.nodes[seat.node].name)});
  }
  return out;
}

}  // namespace

MapResult map_job(const wire::JobSpec& job, const std::vector<MapNode>& nodes) {
  Working work{nodes, std::vector<std::uint32_t>(nodes.size(), 0), {}, {}};
  const bool by_node = job.map_by() == wire::JobSpec::NODE;
  for (int i = 0; i < job.apps_size(); ++i) {
    const auto& app = job.apps(i);
    const auto index = static_cast<std::uint32_t>(i);
    if (const auto missing = missing_host(app, nodes); !missing.empty()) {
      return failed(MapVerdict::kImpossible,
                    {MapFailure::Kind::kUnknownHost, i, missing, 0, 0, {}});
    }
    work.app_placed.assign(nodes.size(), 0);
    const auto seats = seats_for(app, work);
    if (seats.empty()) {
      return failed(MapVerdict::kImpossible, {MapFailure::Kind::kNoNodes, i, {}, 0, 0, {}});
    }
    const auto free = total_room(seats, work, false);
    const auto idle = total_room(seats, work, true);
    std::uint32_t left = app.processes() > 0 ? app.processes() : static_cast<std::uint32_t>(free);
    const bool short_of_room = left > free && !job.oversubscribe();
    if (left == 0 || short_of_room) {
      const auto asked = std::max(left, 1U);
      const auto verdict = asked > idle ? MapVerdict::kImpossible : MapVerdict::kBusy;
      return failed(verdict, shortage(i, app, asked, work, seats));
    }
    if (by_node) {
      place_by_node(work, seats, index, left);
    } else {
      place_by_slot(work, seats, index, left);
    }
    if (left > 0) place_surplus(work, seats, index, left, by_node);
  }
  return std::move(work.result);
}

}  // namespace tide::core
