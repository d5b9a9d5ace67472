#include "sim/changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/checks.hpp"
#include "sim/world.hpp"

namespace tide::sim {

namespace {

constexpr std::uint64_t kFirstChanger = 9'000'000;
constexpr std::uint64_t kFaultLastsMs = 45'000;  // until it is over, and noticed

enum Purpose : std::uint64_t { kChoicePurpose = 200, kAddPurpose = 204 };  // others: managers.cpp

}  // namespace

Changes::Changes(World& world) : world_(world) {
  for (const auto& plan : world.scenario().changes) {
    outcomes_.emplace_back();
    outcomes_.back().plan = plan;
  }
  for (std::uint32_t i = 1; i <= world.scenario().spares; ++i) {
    free_.insert(fmt::format("p{}", i));
  }
}

void Changes::plan_all() {
  for (std::size_t i = 0; i < outcomes_.size(); ++i) {
    const What what{What::Kind::kArrival, kHeadHost, kFirstChanger + i};
    world_.schedule().at_ms(outcomes_[i].plan.at_ms, what, [this, i] { ask(i); });
  }
}

// ---- whoever asks ----

void Changes::ask(std::size_t index) {
  if (world_.head_exited() || !world_.ready()) return;
  ChangeOutcome& outcome = outcomes_[index];
  outcome.asked_ms = world_.now_ms();
  ++world_.journal().counts.changes;
  if (outcome.plan.by_tool) {
    attach(index);
    return arm_leaving(index);
  }
  switch (outcome.plan.what) {
    case ChangeKind::kGrow:
      ask_to_grow(index);
      break;
    case ChangeKind::kShrink:
      ask_to_shrink(index);
      break;
    case ChangeKind::kPush:
      return push(index);
    case ChangeKind::kReclaim:
      return reclaim(index);
  }
  outcome.asked = true;
  arm_leaving(index);
}

void Changes::arm_leaving(std::size_t index) {
  const ChangeOutcome& outcome = outcomes_[index];
  if (outcome.plan.leaves_after_ms == 0) return;
  const What what{What::Kind::kClient, kHeadHost, kFirstChanger + index};
  world_.schedule().after(outcome.plan.leaves_after_ms * 1000, what,
                          [this, index] { leave(index); });
}

// Names may be those of nodes that are there, that come, or that are about to leave.
void Changes::add_nodes(const JobPlan& plan, std::size_t index, wire::JobSpec& job) {
  if (plan.adds == 0) return;
  const auto spares = world_.scenario().spares;
  if (!plan.adds_by_name) {
    job.mutable_activate()->set_all(plan.adds > spares);
    job.mutable_activate()->set_count(plan.adds > spares ? 0 : plan.adds);
    return;
  }
  const auto first = world_.chance(kAddPurpose).of(index).below(spares);
  for (std::uint64_t i = 0; i < std::min(plan.adds, spares); ++i) {
    job.add_add_hosts()->set_node(fmt::format("p{}", 1 + (first + i) % spares));
  }
  const auto& name = job.add_hosts(0).node();
  if (plan.adds_trouble && free_.contains(name)) troubles_[name] = *plan.adds_trouble;
}

void Changes::leave(std::size_t index) {
  if (outcomes_[index].plan.by_tool) return part(index);
  if (world_.head_exited()) return;
  outcomes_[index].left = true;
  world_.post_to_head(core::ClientGone{ClientId(kFirstChanger + index)});
}

void Changes::ask_to_grow(std::size_t index) {
  const ChangePlan& plan = outcomes_[index].plan;
  core::ClientMessage message{ClientId(kFirstChanger + index), {}, {}};
  message.request.set_request(1);
  auto* grow = message.request.mutable_grow();
  if (!plan.nodes.empty()) {
    for (const auto& name : plan.nodes) grow->add_hosts()->set_node(name);
  } else if (plan.by_name && !free_.empty()) {
    for (const auto& name : free_) {
      if (static_cast<std::uint32_t>(grow->hosts_size()) < plan.count) {
        grow->add_hosts()->set_node(name);
      }
    }
  } else {
    grow->set_count(plan.count);
  }
  world_.post_to_head(std::move(message));
}

std::vector<std::string> Changes::some_nodes(std::uint32_t count, std::uint64_t purpose) const {
  std::vector<std::string> names;
  for (const auto& [rank, node] : world_.head().roster().nodes()) names.push_back(node.name);
  Chance chance = world_.chance(kChoicePurpose).of(purpose);
  while (names.size() > count) {
    names.erase(names.begin() + static_cast<std::ptrdiff_t>(chance.below(names.size())));
  }
  return names;
}

void Changes::ask_to_shrink(std::size_t index) {
  const ChangePlan& plan = outcomes_[index].plan;
  core::ClientMessage message{ClientId(kFirstChanger + index), {}, {}};
  message.request.set_request(1);
  auto* shrink = message.request.mutable_shrink();
  const auto names = plan.nodes.empty() ? some_nodes(plan.count, index) : plan.nodes;
  if ((plan.by_name || !plan.nodes.empty()) && !names.empty()) {
    for (const auto& name : names) shrink->add_nodes(name);
  } else {
    shrink->set_count(plan.count);
  }
  world_.post_to_head(std::move(message));
}

void Changes::push(std::size_t index) {
  core::NodesPushed pushed;
  while (!free_.empty() && pushed.nodes.size() < outcomes_[index].plan.count) {
    pushed.nodes.push_back(node_named(*free_.begin()));
    leased_until_.erase(*free_.begin());
    free_.erase(free_.begin());
  }
  if (!pushed.nodes.empty()) world_.post_to_head(std::move(pushed));
}

void Changes::reclaim(std::size_t index) {
  auto names = some_nodes(outcomes_[index].plan.count, index);
  world_.post_to_head(core::NodesReclaimed{std::move(names), "the lease is over"});
}

// two answers, in this order, and news only between them
bool Changes::on_reply(const core::Reply& reply) {
  const auto client = reply.client.value();
  if (client < kFirstChanger) return false;
  ChangeOutcome& outcome = outcomes_.at(client - kFirstChanger);
  const auto& body = reply.reply;
  const auto broken = [&](const char* what) {
    throw BrokenPromise("a change is answered twice", fmt::format("asker {}: {}", client, what));
  };
  if (body.has_error()) {
    if (outcome.begun || outcome.refused) broken("refused after it had begun, or twice");
    outcome.refused = true;
  } else if (body.has_change_begun()) {
    if (outcome.begun || outcome.refused) broken("begun twice");
    outcome.begun = true;
    outcome.complete = body.change_begun().complete();
    outcome.allocation = body.change_begun().allocation();
    if (outcome.complete) return true;  // nothing came that an id could stand for
    if (outcome.allocation.empty()) broken("no id is given");
    note_ranks(outcome, body.change_begun());
  } else if (body.has_change_news()) {
    const bool may_be_queued =
        !outcome.begun && !outcome.refused && outcome.plan.what == ChangeKind::kGrow;
    const bool under_way = outcome.begun && !outcome.ended && !outcome.complete;
    if (!may_be_queued && !under_way) broken("news of what is not under way");
  } else if (body.has_change_ended()) {
    if (!outcome.begun || outcome.ended || outcome.complete) broken("ended twice, or not begun");
    on_ended(outcome, body.change_ended());
  } else {
    broken("an answer of another kind");
  }
  return true;
}

// Those of a grow that waits for another one are given out later, and not looked at.
void Changes::note_ranks(ChangeOutcome& outcome, const wire::ChangeBegun& begun) const {
  for (const auto& name : begun.nodes()) {
    const auto* node = world_.head().roster().find(name);
    if (node == nullptr) continue;
    const bool own = node->allocation == begun.allocation();
    if (own || outcome.plan.what != ChangeKind::kGrow) outcome.ranks.insert(node->rank);
  }
}

// row:E12 row:E5 row:C3 what is said to be gone is gone
void Changes::on_ended(ChangeOutcome& outcome, const wire::ChangeEnded& ended) const {
  outcome.ended = true;
  outcome.done = ended.done();
  ++(ended.done() ? world_.journal().counts.changes_done : world_.journal().counts.changes_failed);
  if (!ended.done() && (ended.cause().empty() || ended.text().empty())) {
    throw BrokenPromise("a failure has a reason", "a change has none");
  }
  const bool grow_failed = !ended.done() && outcome.plan.what == ChangeKind::kGrow;
  // Whose nodes have the trouble that was drawn for another's is not known: see grant().
  const bool others = outcome.plan.by_tool && std::ranges::any_of(outcomes_, [](const auto& one) {
                        return one.plan.trouble.has_value();
                      });
  const bool harmed = others || outcome.plan.trouble ||
                      world_.last_fault_ms() + kFaultLastsMs >= outcome.asked_ms ||
                      (last_trouble_ms_ && *last_trouble_ms_ >= outcome.asked_ms);
  if (grow_failed && !harmed && !world_.down_requested()) {
    throw BrokenPromise("a grow that nothing happened to succeeds", ended.text());
  }
  if (!ended.done() && outcome.plan.what == ChangeKind::kShrink) check_unordered(outcome);
  const bool leave = ended.done() == (outcome.plan.what == ChangeKind::kShrink);
  if (!leave || world_.down_requested()) return;
  check_round(outcome);
  for (const auto& [id, host] : world_.hosts()) {
    const bool meant = id != kHeadHost && outcome.ranks.contains(host.identity.rank);
    if (!meant || !host.alive || host.foreign) continue;
    if (world_.is_excused(host.identity.rank) || host.silent) continue;
    const bool by_head = host.started_by == kHeadHost;
    if (grow_failed && world_.scenario().far && ends_unseen(host.identity.rank, by_head, outcome)) {
      continue;
    }
    // On another machine a link that breaks looks like the end of who was let go.
    const bool ends = host.core->overlay().leaving() && world_.last_fault_ms() >= outcome.asked_ms;
    if (ends && world_.scenario().far) continue;
    throw BrokenPromise("who is said to have left has ended",
                        fmt::format("rank {} on {}", host.identity.rank.value(), host.node));
  }
}

// On another machine one that the head has not heard of ends with the session that another daemon
// has with it, and one that a fault keeps from hearing is not waited for until it does.
bool Changes::ends_unseen(Rank rank, bool by_head, const ChangeOutcome& outcome) const {
  const bool struck = world_.last_fault_ms() + kFaultLastsMs >= outcome.asked_ms;
  return struck || (!by_head && !reported_.contains(rank));
}

// What the head has heard of it has to see the end of.
void Changes::on_head_step(const core::HeadEvent& event) {
  if (const auto* moved = std::get_if<core::LeaseMoved>(&event)) {
    ++world_.journal().counts.leases_moved;
    note_moved(*moved);
  }
  if (std::holds_alternative<core::TimerFired>(event)) check_lease_ends();
  const auto* heard = std::get_if<core::MessageIn>(&event);
  if (heard == nullptr || !heard->message.has_report()) return;
  const auto* node = world_.head().roster().find(heard->message.report().node());
  if (node != nullptr && node->state >= core::NodeState::kReported) reported_.insert(node->rank);
}

// row:S15 a shrink fails only if its order can't be sent, and then everybody stays
void Changes::check_unordered(const ChangeOutcome& outcome) const {
  if (world_.down_requested()) return;
  if (!world_.scenario().orders_fail()) {
    throw BrokenPromise("a shrink whose order is out succeeds", outcome.allocation);
  }
  if (world_.head().jobs().fence().holds_launch()) return;  // another one may have taken them
  for (const Rank rank : outcome.ranks) {
    const auto& nodes = world_.head().roster().nodes();
    const auto node = nodes.find(rank);
    // It may have been lost meanwhile, or its grow may have failed.
    if (node != nodes.end() && !node->second.is_up()) {
      throw BrokenPromise("who could not be told to leave stays",
                          fmt::format("rank {}", rank.value()));
    }
  }
}

// row:C6 each was offered its share, and has answered or had its time
void Changes::check_round(const ChangeOutcome& outcome) const {
  const auto round = rounds_.find(outcome.allocation);
  if (round == rounds_.end() || round->second.offered.size() != kManagers.size()) {
    throw BrokenPromise("every resource manager is offered its share", outcome.allocation);
  }
  const auto limit_ms = core::ElasticConfig().return_timeout_ms;
  const bool over = world_.now_ms() >= round->second.since_ms + limit_ms;
  if (!round->second.unanswered.empty() && !over) {
    throw BrokenPromise(
        "a change ends when every resource manager had its say",
        fmt::format("{} had not, of {}", *round->second.unanswered.begin(), outcome.allocation));
  }
}

// row:C7 whatever else goes on, who asked is told in the step in which its own change has ended
void Changes::check_told(const core::Actions& actions) const {
  wire::StatusReply status;
  world_.head().elastic().describe(status, world_.now_ms());
  const auto goes_on = [&](const std::string& allocation) {
    return std::ranges::find(status.campaigns(), allocation, &wire::CampaignStatus::allocation) !=
           status.campaigns().end();
  };
  for (std::size_t i = 0; i < outcomes_.size(); ++i) {
    const ChangeOutcome& one = outcomes_[i];
    const bool waits = one.begun && !one.complete && !one.ended && !one.left && !one.plan.by_tool;
    if (!waits || goes_on(one.allocation)) continue;
    const bool told = std::ranges::any_of(actions, [&](const auto& action) {
      const auto* reply = std::get_if<core::Reply>(&action);
      return reply != nullptr && reply->client.value() == kFirstChanger + i &&
             reply->reply.has_change_ended();
    });
    if (!told) throw BrokenPromise("a change that has ended is told at once", one.allocation);
  }
}

void Changes::when_quiet() const {
  for (const auto& outcome : outcomes_) {
    if (!outcome.asked || outcome.left || outcome.refused || outcome.complete) continue;
    if (!outcome.begun || !outcome.ended) {
      throw BrokenPromise("a change is answered twice",
                          fmt::format("that of {} ms is not", outcome.plan.at_ms));
    }
  }
  const auto& head = world_.head();
  if (!head.elastic().idle() || head.jobs().fence().parked() > 0) {
    throw BrokenPromise("no change and no parked job is left", "one is");
  }
  if (!world_.down_requested()) check_leases();
}

// row:E15 grows fail with the DVM, and whoever waits hears so
void Changes::at_the_end() const {
  for (const auto& outcome : outcomes_) {
    const bool waits = outcome.begun && !outcome.left && !outcome.complete && !outcome.ended;
    if (!waits) continue;
    throw BrokenPromise("a change is answered twice",
                        fmt::format("that of {} ms is not when the DVM ends", outcome.plan.at_ms));
  }
}

std::optional<FaultKind> Changes::trouble_of(const std::string& node) {
  const auto found = troubles_.extract(node);
  if (!found.empty()) last_trouble_ms_ = world_.now_ms();
  return found.empty() ? std::nullopt : std::optional(found.mapped());
}

}  // namespace tide::sim
