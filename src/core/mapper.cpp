#include "core/mapper.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>

namespace tide::core {

namespace {

// A node as one app context may use it.
struct Seat {
  std::size_t node;           // index into the candidates
  std::uint32_t cap = 0;      // processes of this app context that it may hold
  std::uint32_t free = 0;     // slots that other jobs leave
  std::uint32_t ceiling = 0;  // processes of this app context, also when oversubscribed
  std::optional<std::uint32_t> host_limit;  // that --host sets, as it was written
};

struct Working {
  const std::vector<MapNode>& nodes;
  std::vector<std::uint32_t> placed;      // by candidate, of this job
  std::vector<std::uint32_t> app_placed;  // by candidate, of the app context at hand
  MapResult result;
};

// What an app context says of one node. Named several times it counts for the sum, and without a
// number for all its slots.
struct HostLimit {
  std::uint64_t sum = 0;
  bool all = false;
  std::uint32_t max_slots = 0;
};

std::map<std::string_view, HostLimit> limits_of(const wire::AppSpec& app) {
  std::map<std::string_view, HostLimit> limits;
  for (const auto& host : app.hosts()) {
    auto& limit = limits[host.node()];
    limit.sum += host.slots();
    limit.all = limit.all || host.slots() == 0;
    limit.max_slots = std::max(limit.max_slots, host.max_slots());
  }
  return limits;
}

Seat limited(Seat seat, const HostLimit& limit) {
  if (!limit.all) {
    seat.host_limit = static_cast<std::uint32_t>(std::min<std::uint64_t>(limit.sum, UINT32_MAX));
    seat.cap = std::min(seat.cap, *seat.host_limit);
  }
  if (limit.max_slots > 0) seat.ceiling = limit.max_slots;
  return seat;
}

std::vector<Seat> seats_for(const wire::AppSpec& app, const Working& work) {
  const auto limits = limits_of(app);
  std::vector<Seat> seats;
  for (std::size_t i = 0; i < work.nodes.size(); ++i) {
    const auto& node = work.nodes[i];
    const std::uint32_t free = node.slots > node.used ? node.slots - node.used : 0;
    const Seat seat{i, node.slots, free, UINT32_MAX, std::nullopt};
    const auto limit = limits.find(node.name);
    if (limits.empty()) {
      seats.push_back(seat);
    } else if (limit != limits.end()) {
      seats.push_back(limited(seat, limit->second));
    }
  }
  return seats;
}

std::uint32_t minus(std::uint32_t whole, std::uint32_t part) {
  return whole > part ? whole - part : 0;
}

// How many more the seat takes when its slots may be exceeded; idle: if no other job were there.
std::uint32_t ceiling(const Seat& seat, const Working& work, bool idle) {
  const auto& node = work.nodes[seat.node];
  const auto of_app = minus(seat.ceiling, work.app_placed[seat.node]);
  if (node.max_slots == 0) return of_app;
  const auto spoken_for = work.placed[seat.node] + (idle ? 0 : node.used);
  return std::min(of_app, minus(node.max_slots, spoken_for));
}

// The same within its slots.
std::uint32_t room(const Seat& seat, const Working& work, bool idle) {
  const auto slots = idle ? work.nodes[seat.node].slots : seat.free;
  const auto within_slots =
      std::min(minus(seat.cap, work.app_placed[seat.node]), minus(slots, work.placed[seat.node]));
  return std::min(within_slots, ceiling(seat, work, idle));
}

using Measure = std::uint32_t (*)(const Seat&, const Working&, bool idle);

std::uint64_t total(Measure measure, const std::vector<Seat>& seats, const Working& work,
                    bool idle) {
  std::uint64_t sum = 0;
  for (const auto& seat : seats) sum += measure(seat, work, idle);
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

// How many of `left` each seat gets when they go round and none gets more than it takes.
std::vector<std::uint32_t> even_shares(const Working& work, const std::vector<Seat>& seats,
                                       std::uint32_t left) {
  std::vector<std::uint32_t> shares(seats.size(), 0);
  std::vector<std::size_t> open(seats.size());
  std::iota(open.begin(), open.end(), 0);
  while (left > 0 && !open.empty()) {
    std::erase_if(open, [&](auto i) { return shares[i] == ceiling(seats[i], work, false); });
    for (std::size_t k = 0; k < open.size() && left > 0; ++k, --left) ++shares[open[k]];
  }
  return shares;
}

// What the slots do not hold is spread evenly; by slot the ranks on one node stay neighbours.
void place_surplus(Working& work, const std::vector<Seat>& seats, std::uint32_t app,
                   std::uint32_t left, bool by_node) {
  auto shares = even_shares(work, seats, left);
  std::vector<std::size_t> open(seats.size());
  std::iota(open.begin(), open.end(), 0);
  while (!open.empty()) {
    std::erase_if(open, [&](auto i) { return shares[i] == 0; });
    for (const auto i : open) {
      auto now = by_node ? 1 : shares[i];
      shares[i] -= now;
      for (; now > 0; --now) place(work, seats[i].node, app);
    }
  }
}

MapResult failed(MapVerdict verdict, MapFailure failure) {
  return MapResult{verdict, {}, std::move(failure)};
}

MapFailure shortage(int index, std::uint32_t asked, const Working& work,
                    const std::vector<Seat>& seats, Measure measure) {
  MapFailure out{MapFailure::Kind::kTooFewSlots, index, asked, 0, {}};
  for (const auto& seat : seats) {
    const auto usable = measure(seat, work, false);
    out.free += usable;
    out.seats.push_back({seat.node, work.placed[seat.node], usable, seat.host_limit});
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
    work.app_placed.assign(nodes.size(), 0);
    const auto seats = seats_for(app, work);
    if (seats.empty()) {
      return failed(MapVerdict::kImpossible, {MapFailure::Kind::kNoNodes, i, 0, 0, {}});
    }
    const auto free = static_cast<std::uint32_t>(total(room, seats, work, false));
    std::uint32_t left = app.processes() > 0 ? app.processes() : free;
    const Measure measure = job.oversubscribe() && left > 0 ? ceiling : room;
    if (left == 0 || left > total(measure, seats, work, false)) {
      const auto asked = std::max(left, 1U);
      const bool fits_idle = asked <= total(measure, seats, work, true);
      return failed(fits_idle ? MapVerdict::kBusy : MapVerdict::kImpossible,
                    shortage(i, asked, work, seats, measure));
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
