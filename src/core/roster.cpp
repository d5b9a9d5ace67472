#include "core/roster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/check.hpp"
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

std::uint32_t Roster::total_slots() const {
  std::uint32_t sum = 0;
  for (const auto& [rank, node] : nodes_) sum += node.slots;
  return sum;
}

// ---- the first start ----

void Roster::start(const StartDvm& request) {
  TIDE_CHECK(!starting_ && !ready_);
  starting_ = true;
  ++campaign_;
  LaunchDaemons launch;
  for (const auto& wanted : request.nodes) {
    Node node{.rank = Rank(next_rank_++),
              .name = wanted.name,
              .incarnation = wanted.incarnation,
              .campaign = campaign_,
              .asked_slots = wanted.slots};
    launch.targets.push_back(LaunchTarget{node.rank, node.name, node.incarnation, node.campaign});
    nodes_.emplace(node.rank, std::move(node));
  }
  notes_.add(Subsystem::kRas, 1, "allocated {} nodes", nodes_.size());
  notes_.add(Subsystem::kPlm, 1, "starting {} daemons", launch.targets.size());
  out_.emplace_back(std::move(launch));
  out_.emplace_back(timers_.arm(TimerKind::kStart, config_.start_timeout_ms));
  listener_.on_daemons_launched();
}

void Roster::on_daemon_started(const DaemonStarted& event) {
  if (Node* node = find(event.rank)) node->pid = event.pid;
}

void Roster::on_launch_failed(const DaemonLaunchFailed& event) {
  const Node* node = find(event.rank);
  if (node == nullptr || !starting_) return;
  fail_start(say::node_not_started(node->name, event.text));
}

bool Roster::admit(const LinkUp& up) {
  Node* node = find(up.peer);
  const bool valid = starting_ && node != nullptr && node->state == NodeState::kLaunching &&
                     !node->link && node->incarnation == up.incarnation &&
                     node->campaign == up.campaign;
  if (valid) node->link = up.link;
  return valid;
}

void Roster::on_report(LinkId link, Rank rank, const wire::Report& report) {
  Node* node = find(rank);
  if (!starting_ || node == nullptr || node->link != link || node->state != NodeState::kLaunching) {
    return;
  }
  node->state = NodeState::kReported;
  node->report = report;
  node->pid = report.pid();
  ++reported_;
  notes_.add(Subsystem::kPlm, 1, "rank {} on node {} reported, pid {}", rank.value(), node->name,
             node->pid);
  out_.emplace_back(
      Progress{fmt::format("node {} is up ({} of {})", node->name, reported_, nodes_.size())});
  if (reported_ == nodes_.size()) {
    listener_.on_daemons_reported();
    wire_up();
  }
}

void Roster::set_slots(Node& node) const {
  using say::SlotSource;
  const auto& topology = node.report.topology();
  std::uint32_t found = 1;
  if (node.asked_slots > 0) {
    node.slot_source = SlotSource::kGiven;
    found = node.asked_slots;
  } else if (config_.default_slots == "cores") {
    node.slot_source = SlotSource::kCores;
    found = topology.cores();
  } else if (config_.default_slots == "sockets") {
    node.slot_source = SlotSource::kSockets;
    found = topology.packages();
  } else if (config_.default_slots == "hwthreads") {
    node.slot_source = SlotSource::kHwthreads;
    found = topology.hwthreads();
  } else {
    node.slot_source = SlotSource::kParameter;
    const auto& text = config_.default_slots;
    std::from_chars(text.data(), text.data() + text.size(), found);
  }
  node.slots = std::max(1U, found);
}

void Roster::wire_up() {
  wire::Operation operation;
  RankSet joined;
  for (auto& [rank, node] : nodes_) {
    set_slots(node);
    notes_.add(Subsystem::kRas, 2, "node {} has {} slots", node.name, node.slots);
    node.state = NodeState::kUp;
    joined.insert(rank);
    const auto& endpoints = node.report.endpoints();
    overlay_.learn(rank, {node.incarnation, {endpoints.begin(), endpoints.end()}});
  }
  operation.mutable_membership()->set_span(next_rank_);
  *operation.mutable_membership()->mutable_joined() = joined.to_wire();
  wired_at_ = overlay_.broadcast(std::move(operation));
  for (const auto& [rank, node] : nodes_) overlay_.welcome(*node.link);
}

void Roster::on_operations_complete(Serial serial) {
  if (ready_ || !wired_at_ || serial < *wired_at_ || shutting_down_) return;
  ready_ = true;
  starting_ = false;
  timers_.cancel(TimerKind::kStart);
  listener_.on_ready();
}

void Roster::fail_start(const std::string& reason) {
  if (!starting_) return;
  starting_ = false;
  timers_.cancel(TimerKind::kStart);
  listener_.on_start_failed(reason);
}

void Roster::on_stranger_lost(Rank rank, const std::string& reason) {
  const Node* node = find(rank);
  if (node == nullptr || shutting_down_) return;
  fail_start(say::daemon_lost_at_start(node->name, reason));
}

void Roster::enter_shutdown() {
  shutting_down_ = true;
  starting_ = false;
  timers_.cancel(TimerKind::kStart);
  timers_.cancel(TimerKind::kSuspects);
}

// ---- suspicion and death ----

bool Roster::suspect(Rank rank, const std::string& reason, std::uint64_t now_ms) {
  Node* node = find(rank);
  if (node == nullptr || shutting_down_) return false;
  if (starting_) {
    fail_start(say::daemon_lost_at_start(node->name, reason));
    return false;
  }
  if (node->state != NodeState::kUp) return false;
  node->state = NodeState::kSuspect;
  node->suspect_until_ms = now_ms + config_.suspect_grace_ms;
  node->suspicion = reason;
  notes_.add(Subsystem::kErrmgr, 1, "node {} is suspected: {}", node->name, reason);
  out_.emplace_back(
      Probe{rank, {node->report.endpoints().begin(), node->report.endpoints().end()}});
  arm_suspects(now_ms);
  return true;
}

bool Roster::heard_from(Rank rank) {
  Node* node = find(rank);
  if (node == nullptr || node->state != NodeState::kSuspect) return false;
  node->state = NodeState::kUp;
  notes_.add(Subsystem::kErrmgr, 1, "node {} is back", node->name);
  return true;
}

void Roster::on_probe(const ProbeAnswered& event) {
  const Node* node = find(event.rank);
  if (node == nullptr || node->state != NodeState::kSuspect || !event.refused) return;
  declare_dead(event.rank, node->suspicion);
}

void Roster::on_daemon_exited(const DaemonExited& event) {
  const Node* node = find(event.rank);
  if (node == nullptr) return;
  if (shutting_down_) {
    nodes_.erase(event.rank);
    return;
  }
  if (starting_) {
    fail_start(say::daemon_ended_at_start(node->name, event.text));
    return;
  }
  declare_dead(event.rank, fmt::format("its daemon ended: {}", event.text));
}

void Roster::declare_dead(Rank rank, std::string reason) {
  const auto found = nodes_.find(rank);
  if (found == nodes_.end()) return;
  const Node node = std::move(found->second);
  nodes_.erase(found);
  notes_.add(Subsystem::kErrmgr, 0, "node {} is lost: {}", node.name, reason);
  out_.emplace_back(EndDaemon{rank});
  wire::Operation operation;
  *operation.mutable_membership()->mutable_left() = RankSet(rank).to_wire();
  overlay_.broadcast(std::move(operation));
  listener_.on_node_lost(node, reason);
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
  std::vector<Rank> expired;
  for (const auto& [rank, node] : nodes_) {
    if (node.state == NodeState::kSuspect && node.suspect_until_ms <= now_ms)
      expired.push_back(rank);
  }
  for (const Rank rank : expired) {
    declare_dead(rank, fmt::format("{}; not heard of for {} ms since", nodes_.at(rank).suspicion,
                                   config_.suspect_grace_ms));
  }
  arm_suspects(now_ms);
}

bool Roster::handle_timer(TimerKind kind, std::uint64_t now_ms) {
  if (kind == TimerKind::kSuspects) {
    check_suspects(now_ms);
    return true;
  }
  if (kind != TimerKind::kStart) return false;
  std::vector<std::string> missing;
  for (const auto& [rank, node] : nodes_) {
    if (node.state == NodeState::kLaunching) missing.push_back(node.name);
  }
  fail_start(missing.empty()
                 ? say::daemons_not_wired_up(config_.start_timeout_ms)
                 : say::daemons_did_not_report(config_.start_timeout_ms, say::name_list(missing)));
  return true;
}

}  // namespace tide::core
