#include "core/roster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "say/starting.hpp"

namespace tide::core {

Roster::Roster(RosterConfig config, Overlay& overlay, RosterListener& listener, TimerBook& timers,
               Actions& out)
    : config_(std::move(config)),
      overlay_(overlay),
      listener_(listener),
      timers_(timers),
      out_(out),
      notes_(out, config_.verbosity) {}

Node* Roster::find(Rank rank) {
  const auto found = nodes_.find(rank);
  return found == nodes_.end() ? nullptr : &found->second;
}

const Node* Roster::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &nodes_.at(*found->second.begin());
}

void Roster::index(const Node& node) {
  by_name_[node.name].insert(node.rank);
  for (const auto& alias : node.aliases) by_name_[alias].insert(node.rank);
}

Node Roster::take_out(Rank rank) {
  Node node = std::move(nodes_.extract(rank).mapped());
  const auto forget = [this, rank](const std::string& name) {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return;
    found->second.erase(rank);
    if (found->second.empty()) by_name_.erase(found);
  };
  forget(node.name);
  for (const auto& alias : node.aliases) forget(alias);
  departing_.erase(rank);
  return node;
}

std::uint32_t Roster::total_slots() const {
  std::uint32_t sum = 0;
  for (const auto& [rank, node] : nodes_) {
    if (node.is_up()) sum += node.slots;
  }
  return sum;
}

std::vector<std::string> Roster::suspected() const {
  std::vector<std::string> out;
  for (const auto& [rank, node] : nodes_) {
    if (node.state == NodeState::kSuspect) out.push_back(node.name);
  }
  return out;
}

std::vector<std::string> Roster::remaining() const {
  std::vector<std::string> out;
  for (const auto& [rank, node] : nodes_) out.push_back(node.name);
  return out;
}

std::vector<std::string> Roster::unreached() const {
  auto unreached = given_up_;
  for (const auto& [rank, node] : nodes_) unreached.emplace(rank, node.name);
  std::vector<std::string> out;
  for (auto& [rank, name] : unreached) out.push_back(std::move(name));
  return out;
}

// A daemon that ends says so to its neighbours only, and no launcher sees the unwatched: where the
// link of one is gone, those below it have had the order to end, too.
void Roster::on_left(Rank rank, bool silent) {
  if (!shutting_down_) return;
  const auto gone = overlay_.membership().tree().subtree(rank);
  std::vector<Rank> left;
  for (const auto& [below, node] : nodes_) {
    if (!node.watched && gone.contains(below)) left.push_back(below);
  }
  for (const Rank one : left) {
    const Node node = take_out(one);
    if (silent) given_up_.emplace(one, node.name);
  }
}

// Their launcher ends sessions, and can't see more than that.
void Roster::give_up_the_unwatched() {
  for (const auto& [rank, node] : nodes_) {
    if (!node.watched) given_up_.emplace(rank, node.name);
  }
}

void Roster::enter_shutdown() {
  shutting_down_ = true;
  for (const auto& [campaign, start] : starts_) timers_.cancel(TimerKind::kStart, campaign.value());
  starts_.clear();
  timers_.cancel(TimerKind::kSuspects);
  timers_.cancel(TimerKind::kProbeAgain);
  std::vector<Rank> over;
  for (const auto& [rank, node] : nodes_) {
    if (node.over) over.push_back(rank);
  }
  for (const Rank rank : over) take_out(rank);
}

// ---- suspicion and death ----

std::vector<Rank> Roster::suspect(const Suspicion& suspicion, std::uint64_t now_ms) {
  Node* node = find(suspicion.rank);
  if (node == nullptr || shutting_down_) return {};
  if (start_of(*node) != nullptr) {
    node->silent = suspicion.silent;
    node_failed(
        *node, ChangeFailure::kLost,
        say::daemon_lost_at_start(node->campaign != kFirstStart, node->name, suspicion.reason));
    return {};
  }
  if (!suspect_one(suspicion, now_ms, now_ms + config_.suspect_grace_ms)) return {};
  std::vector<Rank> suspected = {suspicion.rank};
  if (suspicion.silent || suspicion.missing) {
    // They notice the silence themselves first, and it takes them as long as us at the most.
    const auto until_ms = now_ms + std::max(config_.silence_ms, config_.suspect_grace_ms);
    const std::string reason = fmt::format("it is below {}, which is not heard of", node->name);
    overlay_.membership().tree().subtree(suspicion.rank).for_each(next_rank_, [&](Rank rank) {
      if (suspect_one({rank, reason}, now_ms, until_ms)) suspected.push_back(rank);
    });
  }
  arm_suspects(now_ms);
  return suspected;
}

bool Roster::suspect_one(const Suspicion& suspicion, std::uint64_t now_ms, std::uint64_t until_ms) {
  Node* node = find(suspicion.rank);
  if (node == nullptr || node->suspect_until_ms != 0) return false;
  // One that is to leave is not given up for it, unless it has to stay after all.
  if (node->state != NodeState::kUp && node->state != NodeState::kLeaving) return false;
  if (node->state == NodeState::kUp) node->state = NodeState::kSuspect;
  node->suspected_ms = now_ms;
  node->suspect_until_ms = until_ms;
  node->suspicion = suspicion.reason;
  node->silent = suspicion.silent;
  notes_.add(Subsystem::kErrmgr, 1, "node {} is suspected: {}", node->name, suspicion.reason);
  probe(*node);
  return true;
}

// One that is about to leave is suspected, too, and does not come to its order if it has ended.
bool Roster::is_probed(const Node& node) {
  const bool member = node.is_up() || node.state == NodeState::kLeaving;
  return (member && node.suspect_until_ms != 0) ||
         (node.state == NodeState::kDeparting && !node.watched);
}

void Roster::probe(Node& node) {
  node.port_open = false;
  const auto& endpoints = node.report.endpoints();
  out_.emplace_back(Probe{node.rank, {endpoints.begin(), endpoints.end()}});
}

bool Roster::heard_from(Rank rank) {
  Node* node = find(rank);
  const bool suspected = node != nullptr && node->suspect_until_ms != 0;
  if (!suspected || !(node->is_up() || node->state == NodeState::kLeaving)) return false;
  node->suspect_until_ms = 0;
  if (node->state == NodeState::kSuspect) node->state = NodeState::kUp;
  notes_.add(Subsystem::kErrmgr, 1, "node {} is back", node->name);
  return true;
}

// Whoever answers there may be well and not know that what it says does not arrive: it hears so by
// the silence of its parent, or its parent by its own.
void Roster::on_probe(const ProbeAnswered& event) {
  if (const auto undone = rolled_back_.find(event.rank); undone != rolled_back_.end()) {
    if (event.refused) {
      undone->second.endpoints.clear();
      return check_undone(event.rank);
    }
    undone->second.port_open = true;
    return probe_again_later();
  }
  Node* node = find(event.rank);
  if (node == nullptr || !is_probed(*node)) return;
  const bool departs = node->state == NodeState::kDeparting;
  node->port_open = !event.refused;
  if (event.refused) {
    if (departs) return note_departure(event.rank);
    if (node->state == NodeState::kLeaving) return note_early_departure(event.rank);
    return declare_dead({{event.rank, node->suspicion}});
  }
  if (std::exchange(node->to_be_ended, false)) out_.emplace_back(EndDaemon{event.rank});
  probe_again_later();
  if (node->silent || departs) return;
  node->silent = true;
  node->suspect_until_ms += config_.silence_ms;
}

// What a link says of a crash is known before the kernel has closed the port.
void Roster::probe_again_later() {
  if (timers_.armed(TimerKind::kProbeAgain)) return;
  out_.emplace_back(timers_.arm(TimerKind::kProbeAgain, config_.probe_again_ms));
}

void Roster::probe_again() {
  for (auto& [rank, node] : nodes_) {
    if (is_probed(node) && node.port_open) probe(node);
  }
  for (auto& [rank, daemon] : rolled_back_) {
    if (daemon.port_open) probe(rank, daemon);
  }
}

void Roster::on_daemon_exited(const DaemonExited& event) {
  if (const auto undone = rolled_back_.find(event.rank); undone != rolled_back_.end()) {
    // Of one that goes on alone its launcher knows the session only.
    undone->second.launcher_tells = false;
    return check_undone(event.rank);
  }
  Node* node = find(event.rank);
  if (node == nullptr) return;
  if (shutting_down_) {
    take_out(event.rank);
    return;
  }
  if (start_of(*node) != nullptr) {
    const bool reported = node->state != NodeState::kLaunching;
    node->over = true;
    return node_failed(*node, reported ? ChangeFailure::kLost : ChangeFailure::kCannotStart,
                       say::daemon_ended_at_start(node->name, event.text));
  }
  if (node->state == NodeState::kDeparting) {
    if (node->watched) note_departure(event.rank);  // else it is only the session that ended
    return;
  }
  declare_dead({{event.rank, fmt::format("its daemon ended: {}", event.text)}});
}

// Together: the tree is repaired once.
void Roster::declare_dead(const std::vector<std::pair<Rank, std::string>>& dead) {
  RankSet ranks;
  std::vector<std::pair<Node, std::string>> lost;
  for (const auto& [rank, reason] : dead) {
    if (!nodes_.contains(rank)) continue;
    lost.emplace_back(take_out(rank), reason);
    notes_.add(Subsystem::kErrmgr, 0, "node {} is lost: {}", lost.back().first.name, reason);
    out_.emplace_back(EndDaemon{rank, lost.back().first.port_open});
    ranks.insert(rank);
  }
  if (lost.empty()) return;
  tell_of_dead(ranks);
  for (const auto& [node, reason] : lost) listener_.on_node_lost(node, reason);
}

void Roster::tell_of_dead(const RankSet& ranks) {
  wire::Operation operation;
  *operation.mutable_membership()->mutable_left() = ranks.to_wire();
  overlay_.broadcast(std::move(operation));
}

void Roster::arm_suspects(std::uint64_t now_ms) {
  std::uint64_t next = UINT64_MAX;
  for (const auto& [rank, node] : nodes_) {
    if (node.state == NodeState::kSuspect) next = std::min(next, node.suspect_until_ms);
  }
  if (next == UINT64_MAX) return;
  const auto wait = next > now_ms ? next - now_ms : 0;
  out_.emplace_back(timers_.arm(TimerKind::kSuspects, static_cast<std::uint32_t>(wait)));
}

void Roster::check_suspects(std::uint64_t now_ms) {
  std::vector<std::pair<Rank, std::string>> expired;
  for (const auto& [rank, node] : nodes_) {
    if (node.state != NodeState::kSuspect || node.suspect_until_ms > now_ms) continue;
    expired.emplace_back(rank, fmt::format("{}; not heard of for {} ms since", node.suspicion,
                                           node.suspect_until_ms - node.suspected_ms));
  }
  declare_dead(expired);
  arm_suspects(now_ms);
}

bool Roster::handle_timer(TimerKind kind, std::uint32_t subject, std::uint64_t now_ms) {
  switch (kind) {
    case TimerKind::kSuspects:
      check_suspects(now_ms);
      return true;
    case TimerKind::kProbeAgain:
      probe_again();
      return true;
    case TimerKind::kStart:
      on_start_timer(CampaignId(subject));
      return true;
    case TimerKind::kRollback:
      end_rollback(CampaignId(subject));
      return true;
    default:
      return false;
  }
}

}  // namespace tide::core
