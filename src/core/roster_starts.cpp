// Daemons that are started together: launched, reported, wired, or rolled back.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/check.hpp"
#include "core/roster.hpp"
#include "say/elastic.hpp"
#include "say/starting.hpp"

namespace tide::core {

namespace {

// Who starts whom is who will be whose parent.
LaunchTarget with_all_below(Rank rank, const std::vector<LaunchTarget>& flat,
                            const RoutingTree& tree) {
  LaunchTarget out = flat.at(rank.value() - flat.front().rank.value());
  for (const Rank child : tree.children(rank)) {
    out.below.push_back(with_all_below(child, flat, tree));
  }
  return out;
}

// `flat` has consecutive ranks, the highest there are. Nobody who was there before comes to stand
// below one of them.
std::vector<LaunchTarget> tree_of(const std::vector<LaunchTarget>& flat, std::uint32_t span,
                                  std::uint32_t radix, RankSet living) {
  const auto first = flat.front().rank;
  for (const auto& target : flat) living.insert(target.rank);
  const RoutingTree tree(span, radix, std::move(living));
  std::vector<LaunchTarget> out;
  for (const auto& target : flat) {
    if (*tree.parent(target.rank) < first) out.push_back(with_all_below(target.rank, flat, tree));
  }
  return out;
}

// Whoever names a node for a job may know it by another name than the start.
void add_aliases(Node& node, const wire::Report& report) {
  if (!report.host_name().empty()) node.aliases.push_back(report.host_name());
  for (const auto& endpoint : report.endpoints()) {
    const bool of_every_machine =
        endpoint.address().starts_with("127.") || endpoint.address() == "::1";
    if (!of_every_machine) node.aliases.push_back(endpoint.address());
  }
}

}  // namespace

void Roster::start(const StartDvm& request) {
  TIDE_CHECK(starts_.empty() && !ready_);
  launch(kFirstStart, request.nodes, config_.start_timeout_ms);
  listener_.on_daemons_launched();
}

void Roster::grow(CampaignId campaign, const std::vector<NodeRequest>& nodes,
                  std::uint32_t limit_ms) {
  TIDE_CHECK(ready_ && !nodes.empty());
  launch(campaign, nodes, limit_ms);
}

void Roster::launch(CampaignId campaign, const std::vector<NodeRequest>& nodes,
                    std::uint32_t limit_ms) {
  Start& start = starts_[campaign];
  start.limit_ms = limit_ms;
  LaunchDaemons launch;
  for (const auto& wanted : nodes) {
    Node node{.rank = Rank(next_rank_++),
              .name = wanted.name,
              .incarnation = wanted.incarnation,
              .campaign = campaign,
              .allocation = wanted.allocation,
              .session = wanted.session,
              .manager = wanted.manager,
              .watched = wanted.watched,
              .aliases = wanted.aliases,
              .asked_slots = wanted.slots,
              .max_slots = wanted.max_slots};
    launch.targets.push_back(
        LaunchTarget{node.rank, node.name, node.incarnation, campaign.value()});
    index(node);
    nodes_.emplace(node.rank, std::move(node));
  }
  if (config_.tree_launch && !nodes.empty()) {
    launch.targets = tree_of(launch.targets, next_rank_, overlay_.membership().radix(),
                             overlay_.membership().tree().living());
  }
  start.book.expect(kHeadRank, launch.targets);
  notes_.add(Subsystem::kRas, 1, "allocated {} nodes", nodes.size());
  notes_.add(Subsystem::kPlm, 1, "starting {} daemons, {} of them directly", nodes.size(),
             launch.targets.size());
  out_.emplace_back(std::move(launch));
  out_.emplace_back(timers_.arm(TimerKind::kStart, limit_ms, campaign.value()));
}

// Null once those who were started with it are all up, or are given up.
Roster::Start* Roster::start_of(const Node& node) {
  const auto found = starts_.find(node.campaign);
  return found == starts_.end() ? nullptr : &found->second;
}

void Roster::on_daemon_started(const DaemonStarted& event) {
  if (Node* node = find(event.rank)) node->pid = event.pid;
}

void Roster::on_launch_failed(const DaemonLaunchFailed& event) {
  Node* node = find(event.rank);
  if (node == nullptr || start_of(*node) == nullptr) {
    return on_daemon_exited(DaemonExited{event.rank, event.text});
  }
  node->over = true;
  node_failed(*node, ChangeFailure::kCannotStart, say::node_not_started(node->name, event.text));
}

void Roster::on_launch_failed(Rank by, const wire::LaunchFailed& failed) {
  const Rank rank{failed.rank()};
  const Node* node = find(rank);
  const Start* start = node == nullptr ? nullptr : start_of(*node);
  if (start != nullptr && start->book.starts(by, rank)) {
    on_launch_failed(DaemonLaunchFailed{rank, failed.text()});
  }
}

bool Roster::admit(const LinkUp& up) {
  if (admit_undone(up)) return true;
  Node* node = find(up.peer);
  const bool valid = node != nullptr && start_of(*node) != nullptr &&
                     node->state == NodeState::kLaunching && !node->link &&
                     node->incarnation == up.incarnation && node->campaign.value() == up.campaign;
  if (valid) node->link = up.link;
  return valid;
}

void Roster::on_report(LinkId link, Rank rank, const wire::Report& report) {
  if (on_report_of_undone(link, rank, report)) return;
  Node* node = find(rank);
  Start* start = node == nullptr ? nullptr : start_of(*node);
  if (start == nullptr || node->link != link || node->state != NodeState::kLaunching) return;
  node->state = NodeState::kReported;
  node->report = report;
  node->pid = report.pid();
  add_aliases(*node, report);
  index(*node);
  start->book.reported(rank);
  notes_.add(Subsystem::kPlm, 1, "rank {} on node {} reported, pid {}", rank.value(), node->name,
             node->pid);
  const CampaignId campaign = node->campaign;
  if (campaign == kFirstStart) {
    out_.emplace_back(Progress{fmt::format("node {} is up ({} of {})", node->name,
                                           start->book.reports(), start->book.size())});
  }
  unite_with_same_machine(*node);
  if (const Node* kept = find(rank)) listener_.on_node_reported(campaign, *kept);
  check_reports(campaign);
}

void Roster::check_reports(CampaignId campaign) {
  const LaunchBook& book = starts_.at(campaign).book;
  if (book.has_failures()) {
    if (book.settled()) {
      fail_start(campaign, starts_.at(campaign).cause,
                 say::nodes_not_started(book.reasons(), book.size()));
    }
  } else if (book.reports() == book.size()) {
    if (campaign == kFirstStart) listener_.on_daemons_reported();
    wire_up(campaign);
  }
}

// One machine under two names is one node, with the name that was given first, whichever daemon
// comes first. The other is sent home when all are up: others may be started by it.
void Roster::unite_with_same_machine(const Node& node) {
  if (node.report.machine().empty()) return;
  const auto twin = std::ranges::find_if(nodes_, [&](const auto& entry) {
    return entry.first != node.rank && entry.second.report.machine() == node.report.machine();
  });
  if (twin == nodes_.end()) return;
  Node& kept = nodes_.at(std::min(node.rank, twin->first));
  const auto other = nodes_.find(std::max(node.rank, twin->first));
  Node& second = other->second;
  kept.aliases.push_back(second.name);
  kept.aliases.insert(kept.aliases.end(), second.aliases.begin(), second.aliases.end());
  if (kept.campaign == second.campaign) {
    kept.asked_slots += second.asked_slots;
    kept.max_slots += second.max_slots;
  }
  starts_.at(second.campaign).unneeded.emplace_back(*second.link, say::not_needed(kept.name));
  out_.emplace_back(Progress{say::same_machine(second.name, kept.name)});
  overlay_.keep_waiting(*second.link);
  take_out(second.rank);
  index(kept);
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
  if (node.max_slots > 0) node.slots = std::min(node.slots, node.max_slots);
}

void Roster::wire_up(CampaignId campaign) {
  wire::Operation operation;
  RankSet joined;
  std::vector<LinkId> links;
  for (auto& [rank, node] : nodes_) {
    if (node.campaign != campaign) continue;
    set_slots(node);
    notes_.add(Subsystem::kRas, 2, "node {} has {} slots", node.name, node.slots);
    node.state = NodeState::kWiring;
    joined.insert(rank);
    links.push_back(*node.link);
    const auto& endpoints = node.report.endpoints();
    overlay_.learn(rank, {node.incarnation, {endpoints.begin(), endpoints.end()}});
  }
  if (joined.empty() && campaign != kFirstStart) return complete(campaign);
  operation.mutable_membership()->set_span(next_rank_);
  *operation.mutable_membership()->mutable_joined() = joined.to_wire();
  // Set before: with nobody to wait for, all have it at once.
  starts_.at(campaign).wired_at = Serial(overlay_.membership().serial().value() + 1);
  overlay_.broadcast(std::move(operation));
  for (const LinkId link : links) overlay_.welcome(link);
}

void Roster::on_operations_complete(Serial serial) {
  if (shutting_down_) return;
  std::vector<CampaignId> wired;
  for (const auto& [campaign, start] : starts_) {
    if (start.wired_at && *start.wired_at <= serial) wired.push_back(campaign);
  }
  for (const CampaignId campaign : wired) complete(campaign);
}

void Roster::complete(CampaignId campaign) {
  auto start = starts_.extract(campaign);
  timers_.cancel(TimerKind::kStart, campaign.value());
  for (auto& [rank, node] : nodes_) {
    if (node.campaign == campaign && node.state == NodeState::kWiring) node.state = NodeState::kUp;
  }
  send_home(start.mapped());
  if (campaign != kFirstStart) return listener_.on_grown(campaign);
  ready_ = true;
  listener_.on_ready();
}

void Roster::send_home(Start& start) {
  for (auto& [link, why] : std::exchange(start.unneeded, {})) {
    overlay_.send_home(link, std::move(why));
  }
}

// ---- failure ----

// The others get some time, so that all that is wrong is told together.
void Roster::node_failed(const Node& node, ChangeFailure cause, const std::string& reason) {
  Start* start = start_of(node);
  if (start == nullptr) return;
  const CampaignId campaign = node.campaign;
  const bool first = !start->book.has_failures();
  if (first) start->cause = cause;
  start->book.failed(node.rank, reason);
  if (start->book.settled()) {
    check_reports(campaign);
  } else if (first) {
    out_.emplace_back(timers_.arm(TimerKind::kStart, config_.gather_ms, campaign.value()));
    if (campaign != kFirstStart) listener_.on_grow_failing(campaign, config_.gather_ms);
  }
}

void Roster::give_up(CampaignId campaign, ChangeFailure cause, const std::string& reason) {
  if (starts_.contains(campaign)) fail_start(campaign, cause, reason);
}

void Roster::fail_start(CampaignId campaign, ChangeFailure cause, const std::string& reason) {
  auto start = starts_.extract(campaign);
  timers_.cancel(TimerKind::kStart, campaign.value());
  send_home(start.mapped());
  if (campaign == kFirstStart) return listener_.on_start_failed(reason);
  roll_back(campaign, start.mapped().book);
  listener_.on_grow_failed(campaign, cause, reason);
  check_rolled_back(campaign);
}

// The ranks stay holes.
void Roster::roll_back(CampaignId campaign, const LaunchBook& book) {
  RankSet members;
  std::vector<Node> nodes;
  std::vector<Rank> own;
  for (const auto& [rank, node] : nodes_) {
    if (node.campaign == campaign) own.push_back(rank);
  }
  for (const Rank rank : own) nodes.push_back(take_out(rank));
  for (const auto& node : nodes) {
    auto daemon = undone(node, book);
    if (node.state == NodeState::kWiring) {
      members.insert(node.rank);
    } else if (node.link && !(daemon && daemon->link)) {
      overlay_.send_home(*node.link, say::grow_rolled_back());
    }
    if (!node.over) out_.emplace_back(EndDaemon{node.rank});
    if (!daemon) continue;
    const auto entry = rolled_back_.emplace(node.rank, std::move(*daemon)).first;
    if (!entry->second.endpoints.empty()) probe(node.rank, entry->second);
  }
  if (!members.empty()) {
    wire::Operation operation;
    *operation.mutable_membership()->mutable_left() = members.to_wire();
    overlay_.broadcast(std::move(operation));
  }
  for (const auto& node : nodes) {
    if (node.state >= NodeState::kReported) listener_.on_withdrawn(node);
  }
}

// row:C3 what has to end before the failure is told. Whom no launcher watches is asked until its
// port is closed, the last thing that it does, unless it is so silent that nothing would come of
// it. One that has not reported ends with its session, ours or that of a daemon which ends its
// sessions before itself; unless it finds the head before, and goes on alone: then it has to say
// where its port is before it is sent home.
std::optional<Roster::RolledBack> Roster::undone(const Node& node, const LaunchBook& book) {
  if (node.over) return std::nullopt;
  RolledBack out{
      .campaign = node.campaign, .incarnation = node.incarnation, .watched = node.watched};
  if (node.watched) {
    out.launcher_tells = true;
  } else if (node.state >= NodeState::kReported && !node.report.endpoints().empty()) {
    if (node.silent) return std::nullopt;
    out.endpoints.assign(node.report.endpoints().begin(), node.report.endpoints().end());
  } else {
    out.launcher_tells = book.starts(kHeadRank, node.rank);
    out.link = node.link;
  }
  return out;
}

bool Roster::admit_undone(const LinkUp& up) {
  const auto found = rolled_back_.find(up.peer);
  if (found == rolled_back_.end()) return false;
  RolledBack& daemon = found->second;
  const bool expected = !daemon.watched && !daemon.link && daemon.endpoints.empty() &&
                        daemon.incarnation == up.incarnation &&
                        daemon.campaign.value() == up.campaign;
  if (expected) daemon.link = up.link;
  return expected;
}

// True if it is one of them.
bool Roster::on_report_of_undone(LinkId link, Rank rank, const wire::Report& report) {
  const auto found = rolled_back_.find(rank);
  if (found == rolled_back_.end() || found->second.link != link) return false;
  RolledBack& daemon = found->second;
  daemon.link.reset();
  daemon.endpoints.assign(report.endpoints().begin(), report.endpoints().end());
  overlay_.send_home(link, say::grow_rolled_back());
  if (daemon.endpoints.empty()) {
    check_undone(rank);
  } else {
    probe(rank, daemon);
  }
  return true;
}

void Roster::probe(Rank rank, RolledBack& daemon) {
  daemon.port_open = false;
  out_.emplace_back(Probe{rank, daemon.endpoints});
}

void Roster::check_undone(Rank rank) {
  const RolledBack& daemon = rolled_back_.at(rank);
  if (!daemon.is_awaited()) check_rolled_back(CampaignId(daemon.campaign));
}

void Roster::check_rolled_back(CampaignId campaign) {
  const bool left = std::ranges::any_of(rolled_back_, [campaign](const auto& entry) {
    return entry.second.campaign == campaign && entry.second.is_awaited();
  });
  if (!left) return end_rollback(campaign);
  if (timers_.armed(TimerKind::kRollback, campaign.value())) return;
  out_.emplace_back(timers_.arm(TimerKind::kRollback, config_.rollback_ms, campaign.value()));
}

// Whoever comes later is in no book and turned away.
void Roster::end_rollback(CampaignId campaign) {
  timers_.cancel(TimerKind::kRollback, campaign.value());
  std::erase_if(rolled_back_, [this, campaign](const auto& entry) {
    const RolledBack& daemon = entry.second;
    if (daemon.campaign != campaign) return false;
    if (daemon.link) overlay_.send_home(*daemon.link, say::grow_rolled_back());
    return true;
  });
  listener_.on_rolled_back(campaign);
}

void Roster::on_start_timer(CampaignId campaign) {
  const auto found = starts_.find(campaign);
  if (found == starts_.end()) return;
  const LaunchBook& book = found->second.book;
  const auto limit_ms = found->second.limit_ms;
  const auto silent = book.silent();
  const bool grows = campaign != kFirstStart;
  if (book.has_failures()) {
    fail_start(campaign, found->second.cause,
               say::nodes_not_started(book.reasons(), book.size(), silent));
  } else if (silent.empty()) {
    std::vector<std::string> missing;
    bool speak_for_others = false;
    for (const auto& one : unwired_of(campaign)) {
      missing.push_back(one.node);
      speak_for_others = speak_for_others || one.speaks_for_others;
    }
    fail_start(campaign, ChangeFailure::kTimeLimit,
               say::daemons_not_wired_up(grows, limit_ms, missing, speak_for_others));
  } else {
    fail_start(campaign, ChangeFailure::kTimeLimit,
               say::daemons_did_not_report(grows, limit_ms, say::name_list(silent)));
  }
}

std::vector<std::string> Roster::silent_of(CampaignId campaign) const {
  const auto found = starts_.find(campaign);
  return found == starts_.end() ? std::vector<std::string>() : found->second.book.silent();
}

std::vector<LaunchBook::Failure> Roster::failures_of(CampaignId campaign) const {
  const auto found = starts_.find(campaign);
  return found == starts_.end() ? std::vector<LaunchBook::Failure>()
                                : found->second.book.failures();
}

std::vector<Roster::Unwired> Roster::unwired_of(CampaignId campaign) const {
  const auto found = starts_.find(campaign);
  if (found == starts_.end() || !found->second.wired_at) return {};
  std::vector<Unwired> out;
  for (const Rank rank : overlay_.not_acknowledged(*found->second.wired_at)) {
    const auto node = nodes_.find(rank);
    if (node == nodes_.end()) continue;
    const bool has_others = !overlay_.membership().tree().children(rank).empty();
    out.push_back({node->second.name, has_others});
  }
  return out;
}

bool Roster::all_reported(CampaignId campaign) const {
  const auto found = starts_.find(campaign);
  return found == starts_.end() || found->second.book.reports() == found->second.book.size();
}

void Roster::on_stranger_lost(Rank rank, const std::string& reason, bool silent) {
  if (const auto undone = rolled_back_.find(rank); undone != rolled_back_.end()) {
    undone->second.link.reset();
    return check_undone(rank);
  }
  Node* node = find(rank);
  if (node == nullptr || shutting_down_) return;
  node->silent = silent;
  node_failed(*node, ChangeFailure::kLost,
              say::daemon_lost_at_start(node->campaign != kFirstStart, node->name, reason));
}

}  // namespace tide::core
