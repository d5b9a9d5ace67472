// The virtual resource managers: what they grant, now or much later, for how long, and what they
// make of what they get back.
#include <algorithm>
#include <utility>

#include "sim/changes.hpp"
#include "sim/checks.hpp"
#include "sim/world.hpp"

namespace tide::sim {

namespace {

constexpr std::uint64_t kFirstGrant = 9'100'000;
constexpr std::uint64_t kFirstReturn = 9'200'000;
constexpr std::uint64_t kFirstQueued = 9'300'000;
constexpr std::uint64_t kFirstMove = 9'400'000;
constexpr std::uint64_t kAnswerUs = 3'000;
constexpr unsigned kRefusesPercent = 5;
constexpr unsigned kSilentPercent = 4;
constexpr unsigned kUnwillingPercent = 40;  // the second manager, to take nodes back
constexpr unsigned kLeasePercent = 20;
constexpr std::uint64_t kLongestLeaseMs = 4'000;
constexpr std::uint64_t kSameLeaseMs = 1'000;  // an end that is moved by less stays where it is
constexpr unsigned kMovePercent = 20;
constexpr unsigned kLiftPercent = 20;
constexpr unsigned kQueuePercent = 20;
constexpr unsigned kNeverPercent = 30;
constexpr unsigned kCrossPercent = 25;
constexpr std::uint64_t kLongestQueueMs = 60'000;  // more than others have for an answer

enum Purpose : std::uint64_t {
  kGrantPurpose = 201,
  kReturnPurpose = 202,
  kLifePurpose = 203,
  kCrossPurpose = 205
};

}  // namespace

const char* manager_of(const std::string& node) {
  const bool second = node.starts_with('p') && (node.back() - '0') % 2 == 0;
  return kManagers[second ? 1 : 0];
}

core::NodeRequest Changes::node_named(const std::string& name) {
  Chance life = world_.chance(kLifePurpose).of(++incarnations_);
  return core::NodeRequest{.name = name,
                           .slots = world_.scenario().slots,
                           .incarnation = Incarnation(life.next()),
                           .watched = !world_.scenario().far,
                           .manager = manager_of(name)};
}

bool Changes::perform(const core::Action& action) {
  if (const auto* ask = std::get_if<core::AskForNodes>(&action)) {
    grant(*ask);
  } else if (const auto* time = std::get_if<core::AskForTime>(&action)) {
    prolong(*time);
  } else if (const auto* cancel = std::get_if<core::CancelAsk>(&action)) {
    ++world_.journal().counts.taken_back;
    forget(cancel->ask);
  } else if (const auto* order = std::get_if<core::ReturnNodes>(&action)) {
    take_back(*order);
  } else {
    return false;
  }
  return true;
}

// What a scheduler lets wait is decided much later, or never: then somebody takes it back.
void Changes::grant(const core::AskForNodes& ask) {
  Chance chance = world_.chance(kGrantPurpose).of(ask.ask);
  const bool moody = !world_.schedule().explores();
  if (moody && chance.percent(kSilentPercent)) {
    ever_refused_ = true;
    return;
  }
  if (moody && chance.percent(kQueuePercent)) {
    return queue(ask.ask, chance, [this, ask, chance] { decide(ask, chance); });
  }
  decide(ask, chance);
}

void Changes::queue(std::uint32_t ask, Chance chance, std::function<void()> then) {
  const auto tell = [&](std::uint64_t after_us, const char* text) {
    const What what{What::Kind::kClient, kHeadHost, kFirstQueued + ask};
    world_.schedule().after(after_us, what, [this, ask, text] {
      if (queued_.contains(ask)) world_.post_to_head(core::NodesQueued{ask, text});
    });
  };
  queued_.insert(ask);
  ++world_.journal().counts.queued;
  tell(chance.between(1, kAnswerUs), "it is pending (Priority)");
  tell(chance.between(kAnswerUs + 1, kLongestQueueMs * 1000), "it is pending (Resources)");
  const bool taken_down = world_.scenario().take_down_ms.has_value();
  if (taken_down && chance.percent(kNeverPercent)) return;
  const What what{What::Kind::kClient, kHeadHost, kFirstGrant + ask};
  const auto after_ms = chance.between(1, kLongestQueueMs);
  world_.schedule().after(after_ms * 1000, what, [this, ask, then = std::move(then)] {
    if (queued_.erase(ask) > 0) then();
  });
}

// What has been decided already crosses, and some managers are slow to listen.
void Changes::forget(std::uint32_t ask) {
  const bool hears = !world_.chance(kCrossPurpose).of(ask).percent(kCrossPercent);
  if (hears) queued_.erase(ask);
}

void Changes::decide(const core::AskForNodes& ask, Chance chance) {
  const bool moody = !world_.schedule().explores();
  core::NodesGranted granted{ask.ask, {}};
  std::vector<std::string> names;
  for (const auto& host : ask.hosts) {
    if (std::ranges::find(names, host.node()) == names.end()) names.push_back(host.node());
  }
  for (auto it = free_.begin(); it != free_.end() && (ask.all || names.size() < ask.count); ++it) {
    names.push_back(*it);
  }
  const bool there =
      std::ranges::all_of(names, [this](const auto& name) { return free_.contains(name); });
  const bool enough = there && names.size() >= ask.count && (ask.all || !names.empty());
  const What what{What::Kind::kClient, kHeadHost, kFirstGrant + ask.ask};
  if (!enough || (moody && chance.percent(kRefusesPercent))) {
    ever_refused_ = true;
    const core::NodesRefused refused{ask.ask, {ErrorCode::kOutOfResources, "not to be had"}};
    world_.schedule().after(chance.between(1, kAnswerUs), what,
                            [this, refused] { world_.post_to_head(refused); });
    return;
  }
  for (const auto& name : names) {
    free_.erase(name);
    granted.nodes.push_back(node_named(name));
  }
  draw_trouble(names);
  if (ask.wish.time_ms > 0) {
    granted.lease = ask.wish;
  } else if (world_.head().elastic().enabled() && chance.percent(kLeasePercent)) {
    granted.lease.time_ms = static_cast<std::uint32_t>(chance.between(1, kLongestLeaseMs));
    granted.lease.warn_ms = static_cast<std::uint32_t>(chance.between(0, kLongestLeaseMs));
  }
  note_lease(granted);
  world_.schedule().after(chance.between(1, kAnswerUs), what,
                          [this, granted] { world_.post_to_head(granted); });
  const bool moves = moody && world_.head().elastic().enabled() && chance.percent(kMovePercent);
  if (moves) plan_moves(ask.ask, names, chance);
}

// Who asked is not told to a resource manager: the one that is to go wrong is drawn here.
void Changes::draw_trouble(const std::vector<std::string>& names) {
  for (auto& outcome : outcomes_) {
    const bool named = outcome.plan.nodes.empty() || outcome.plan.nodes == names;
    const bool waits = outcome.asked_ms == world_.now_ms() && !outcome.begun && named;
    if (outcome.plan.what == ChangeKind::kGrow && waits && outcome.plan.trouble) {
      troubles_[names.front()] = *outcome.plan.trouble;
    }
  }
}

// ---- time ----

// Later, earlier, or no limit any more.
void Changes::plan_moves(std::uint32_t ask, const std::vector<std::string>& names, Chance chance) {
  const What what{What::Kind::kClient, kHeadHost, kFirstMove + ask};
  for (std::uint64_t moves = chance.between(1, 3); moves > 0; --moves) {
    core::LeaseMoved moved{names, 0, 0};
    if (!chance.percent(kLiftPercent)) {
      moved.time_ms = static_cast<std::uint32_t>(chance.between(1, 4 * kLongestLeaseMs));
      moved.warn_ms = static_cast<std::uint32_t>(chance.between(0, kLongestLeaseMs));
    }
    world_.schedule().after(chance.between(1, 2 * kLongestLeaseMs) * 1000, what,
                            [this, moved] { world_.post_to_head(moved); });
  }
}

void Changes::prolong(const core::AskForTime& ask) {
  Chance chance = world_.chance(kGrantPurpose).of(ask.ask);
  if (chance.percent(kSilentPercent)) return;
  if (chance.percent(kQueuePercent)) {
    return queue(ask.ask, chance, [this, ask, chance] { decide(ask, chance); });
  }
  decide(ask, chance);
}

// How much of it is left when it comes is not known here, so nobody's is looked at any more.
void Changes::decide(const core::AskForTime& ask, Chance chance) {
  const What what{What::Kind::kClient, kHeadHost, kFirstGrant + ask.ask};
  if (chance.percent(kRefusesPercent)) {
    const core::NodesRefused refused{ask.ask, {ErrorCode::kOutOfResources, "no more time"}};
    return world_.schedule().after(chance.between(1, kAnswerUs), what,
                                   [this, refused] { world_.post_to_head(refused); });
  }
  leased_until_.clear();
  const core::TimeGranted granted{ask.ask, ask.time_ms, {}};
  world_.schedule().after(chance.between(1, kAnswerUs), what,
                          [this, granted] { world_.post_to_head(granted); });
}

// Those that came together stay or go together.
void Changes::note_moved(const core::LeaseMoved& moved) {
  std::set<std::string> allocations;
  const auto& nodes = world_.head().roster().nodes();
  for (const auto& [rank, node] : nodes) {
    const bool named = std::ranges::find(moved.nodes, node.name) != moved.nodes.end();
    if (named && node.state < core::NodeState::kLeaving) allocations.insert(node.allocation);
  }
  const auto move = [&](const std::string& name) {
    leased_until_.erase(name);
    if (moved.time_ms > 0) leased_until_[name] = world_.now_ms() + moved.time_ms;
  };
  wire::StatusReply status;
  world_.head().elastic().describe(status, world_.now_ms());
  for (const auto& name : moved.nodes) {  // granted, and not begun to start
    const bool waits = std::ranges::any_of(status.campaigns(), [&name](const auto& one) {
      return !one.shrinks() && std::ranges::find(one.nodes(), name) != one.nodes().end();
    });
    if (waits && world_.head().roster().find(name) == nullptr) move(name);
  }
  for (const auto& [rank, node] : nodes) {
    if (!node.allocation.empty() && allocations.contains(node.allocation)) move(node.name);
  }
}

void Changes::note_lease(const core::NodesGranted& granted) {
  for (const auto& node : granted.nodes) {
    leased_until_.erase(node.name);
    if (granted.lease.time_ms == 0) continue;
    leased_until_[node.name] = world_.now_ms() + granted.lease.time_ms;
  }
}

// row:E17
void Changes::check_leases() const {
  if (world_.scenario().orders_fail()) return;
  for (const auto& [rank, node] : world_.head().roster().nodes()) {
    const auto lease = leased_until_.find(node.name);
    if (lease == leased_until_.end() || lease->second > world_.now_ms()) continue;
    throw BrokenPromise("who has had its time has left", node.name);
  }
}

// A shrink that nobody asked for takes out those whose time is over, and nobody else. What extends
// an allocation has the time of that, which is not known here.
void Changes::check_lease_ends() {
  const auto ends = world_.head().elastic().counts().lease_ends;
  if (std::exchange(lease_ends_, ends) == ends || world_.scenario().reserves()) return;
  wire::StatusReply status;
  world_.head().elastic().describe(status, world_.now_ms());
  if (status.campaigns().empty()) return;
  const auto& last = *status.campaigns().rbegin();
  if (!last.shrinks() || last.age_ms() > 0) return;  // no node was left of it
  for (const auto& name : last.nodes()) {
    const auto lease = leased_until_.find(name);
    const bool over =
        lease != leased_until_.end() && lease->second <= world_.now_ms() + kSameLeaseMs;
    if (!over) throw BrokenPromise("a lease ends when its manager says so", name);
  }
}

// ---- what comes back ----

// Which it may not answer: the core does not wait for ever.
void Changes::take_back(const core::ReturnNodes& order) {
  for (const auto& name : order.nodes) {
    if (manager_of(name) != order.manager) {
      throw BrokenPromise("nodes go back to who granted them", name + " to " + order.manager);
    }
  }
  wire::StatusReply status;
  world_.head().elastic().describe(status, world_.now_ms());
  std::string allocation;
  for (const auto& campaign : status.campaigns()) {
    if (campaign.number() == order.number) allocation = campaign.allocation();
  }
  Round& round = rounds_[allocation];
  round.offered.insert(order.manager);
  round.unanswered.insert(order.manager);
  round.since_ms = world_.now_ms();
  Chance chance = world_.chance(kReturnPurpose).of(++answers_);
  const bool moody = !world_.schedule().explores();
  core::ReturnAnswered answer{order.number, order.manager, core::ReturnVerdict::kTaken};
  if (moody && order.manager == kManagers[1] && chance.percent(kUnwillingPercent)) {
    static constexpr std::array kUnwilling = {core::ReturnVerdict::kDeclined,
                                              core::ReturnVerdict::kDeferred,
                                              core::ReturnVerdict::kFailed};
    answer.verdict = kUnwilling[chance.below(kUnwilling.size())];
  }
  for (const auto& name : order.nodes) free_.insert(name);
  if (moody && chance.percent(kSilentPercent)) return;
  const What what{What::Kind::kClient, kHeadHost, kFirstReturn + answers_};
  world_.schedule().after(chance.between(1, kAnswerUs), what, [this, answer, allocation] {
    rounds_[allocation].unanswered.erase(answer.manager);
    world_.post_to_head(answer);
  });
}

}  // namespace tide::sim
