#include "sim/changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/checks.hpp"
#include "sim/world.hpp"

namespace tide::sim {

namespace {

constexpr std::uint64_t kFirstChanger = 9'000'000;
constexpr std::uint64_t kAnswerUs = 3'000;
constexpr std::uint64_t kFaultLastsMs = 45'000;  // until it is over, and noticed
constexpr unsigned kRefusesPercent = 5;
constexpr unsigned kSilentPercent = 4;

enum Purpose : std::uint64_t {
  kChoicePurpose = 200,
  kGrantPurpose = 201,
  kReturnPurpose = 202,
  kLifePurpose = 203
};

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
    const What what{What::Kind::kDeadline, kHeadHost, kFirstChanger + i};
    world_.schedule().at_ms(outcomes_[i].plan.at_ms, what, [this, i] { ask(i); });
  }
}

// ---- whoever asks ----

void Changes::ask(std::size_t index) {
  if (world_.head_exited() || !world_.ready()) return;
  ChangeOutcome& outcome = outcomes_[index];
  outcome.asked_ms = world_.now_ms();
  ++world_.journal().counts.changes;
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
  if (outcome.plan.leaves_after_ms == 0) return;
  const What what{What::Kind::kClient, kHeadHost, kFirstChanger + index};
  world_.schedule().after(outcome.plan.leaves_after_ms * 1000, what,
                          [this, index] { leave(index); });
}

void Changes::leave(std::size_t index) {
  if (world_.head_exited()) return;
  outcomes_[index].left = true;
  world_.post_to_head(core::ClientGone{ClientId(kFirstChanger + index)});
}

void Changes::ask_to_grow(std::size_t index) {
  const ChangePlan& plan = outcomes_[index].plan;
  core::ClientMessage message{ClientId(kFirstChanger + index), {}, {}};
  message.request.set_request(1);
  auto* grow = message.request.mutable_grow();
  if (plan.by_name && !free_.empty()) {
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
  const auto names = some_nodes(plan.count, index);
  if (plan.by_name && !names.empty()) {
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
    if (body.change_begun().allocation().empty()) broken("no id is given");
    note_ranks(outcome, body.change_begun());
  } else if (body.has_change_news()) {
    if (!outcome.begun || outcome.ended || outcome.complete)
      broken("news of what is not under way");
  } else if (body.has_change_ended()) {
    if (!outcome.begun || outcome.ended || outcome.complete) broken("ended twice, or not begun");
    on_ended(outcome, body.change_ended());
  } else {
    broken("an answer of another kind");
  }
  return true;
}

// Those of a grow were given out in the same step, as the last ones.
void Changes::note_ranks(ChangeOutcome& outcome, const wire::ChangeBegun& begun) const {
  auto next = world_.ranks_given() - static_cast<std::uint32_t>(begun.nodes_size());
  for (const auto& name : begun.nodes()) {
    const auto* node = world_.head().roster().find(name);
    if (outcome.plan.what == ChangeKind::kGrow) {
      outcome.ranks.insert(Rank(++next));
    } else if (node != nullptr) {
      outcome.ranks.insert(node->rank);
    }
  }
}

// row:E12 row:E5 what is said to be gone is gone
void Changes::on_ended(ChangeOutcome& outcome, const wire::ChangeEnded& ended) const {
  outcome.ended = true;
  outcome.done = ended.done();
  ++(ended.done() ? world_.journal().counts.changes_done : world_.journal().counts.changes_failed);
  if (!ended.done() && (ended.cause().empty() || ended.text().empty())) {
    throw BrokenPromise("a failure has a reason", "a change has none");
  }
  const bool grow_failed = !ended.done() && outcome.plan.what == ChangeKind::kGrow;
  const bool harmed =
      outcome.plan.trouble || world_.last_fault_ms() + kFaultLastsMs >= outcome.asked_ms;
  if (grow_failed && !harmed && !world_.down_requested()) {
    throw BrokenPromise("a grow that nothing happened to succeeds", ended.text());
  }
  const bool leave = ended.done() == (outcome.plan.what == ChangeKind::kShrink);
  if (!leave || world_.down_requested()) return;
  // Of daemons on other machines that a grow started nobody sees the end but themselves.
  if (!ended.done() && world_.scenario().far) return;
  for (const auto& [id, host] : world_.hosts()) {
    const bool meant = id != kHeadHost && outcome.ranks.contains(host.identity.rank);
    if (!meant || !host.alive || host.foreign) continue;
    if (world_.is_excused(host.identity.rank) || host.silent) continue;
    // On another machine a link that breaks looks like the end of who was let go.
    const bool ends = host.core->overlay().leaving() && world_.last_fault_ms() >= outcome.asked_ms;
    if (ends && world_.scenario().far) continue;
    throw BrokenPromise("who is said to have left has ended",
                        fmt::format("rank {} on {}", host.identity.rank.value(), host.node));
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
}

// ---- the resource manager ----

core::NodeRequest Changes::node_named(const std::string& name) {
  Chance life = world_.chance(kLifePurpose).of(++incarnations_);
  return core::NodeRequest{.name = name,
                           .slots = world_.scenario().slots,
                           .incarnation = Incarnation(life.next()),
                           .watched = !world_.scenario().far};
}

bool Changes::perform(const core::Action& action) {
  if (const auto* ask = std::get_if<core::AskForNodes>(&action)) {
    grant(*ask);
  } else if (const auto* order = std::get_if<core::ReturnNodes>(&action)) {
    take_back(*order);
  } else {
    return false;
  }
  return true;
}

void Changes::grant(const core::AskForNodes& ask) {
  Chance chance = world_.chance(kGrantPurpose).of(ask.ask);
  if (chance.percent(kSilentPercent)) return;
  core::NodesGranted granted{ask.ask, {}};
  std::vector<std::string> names;
  for (const auto& host : ask.hosts) names.push_back(host.node());
  for (auto it = free_.begin(); it != free_.end() && names.size() < ask.count; ++it) {
    names.push_back(*it);
  }
  const bool there =
      std::ranges::all_of(names, [this](const auto& name) { return free_.contains(name); });
  const bool enough = there && names.size() >= ask.count && !names.empty();
  const What what{What::Kind::kClient, kHeadHost, kFirstChanger + ask.ask};
  if (!enough || chance.percent(kRefusesPercent)) {
    const core::NodesRefused refused{ask.ask, {ErrorCode::kOutOfResources, "not to be had"}};
    world_.schedule().after(chance.between(1, kAnswerUs), what,
                            [this, refused] { world_.post_to_head(refused); });
    return;
  }
  for (const auto& name : names) {
    free_.erase(name);
    granted.nodes.push_back(node_named(name));
  }
  // Who asked is not told to a resource manager: the one that is to go wrong is drawn here.
  for (auto& outcome : outcomes_) {
    const bool waits = outcome.asked_ms == world_.now_ms() && !outcome.begun;
    if (outcome.plan.what == ChangeKind::kGrow && waits && outcome.plan.trouble) {
      troubles_[names.front()] = *outcome.plan.trouble;
    }
  }
  world_.schedule().after(chance.between(1, kAnswerUs), what,
                          [this, granted] { world_.post_to_head(granted); });
}

// Which it may not answer: the core does not wait for ever.
void Changes::take_back(const core::ReturnNodes& order) {
  for (const auto& name : order.nodes) free_.insert(name);
  Chance chance = world_.chance(kReturnPurpose).of(++answers_);
  if (chance.percent(kSilentPercent)) return;
  const What what{What::Kind::kClient, kHeadHost, kFirstChanger + answers_};
  world_.schedule().after(chance.between(1, kAnswerUs), what, [this, number = order.number] {
    world_.post_to_head(core::ReturnAnswered{number});
  });
}

std::optional<FaultKind> Changes::trouble_of(const std::string& node) {
  const auto found = troubles_.extract(node);
  return found.empty() ? std::nullopt : std::optional(found.mapped());
}

}  // namespace tide::sim
