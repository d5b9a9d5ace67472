#include "sim/choices.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/hash.hpp"

namespace tide::sim {

namespace {

// Shorter than the time after which anybody is given up: no promise may hang on such a delay.
constexpr std::uint64_t kLatestUs = 1'000'000;
constexpr std::uint32_t kWaits = 2;
constexpr std::size_t kMostArrivals = 62;  // bits of a number, the first being no choice

// The canonical order: it depends on the state and not on how that was reached.
bool before(const Schedule::Entry& one, const Schedule::Entry& other) {
  const auto key = [](const Schedule::Entry& entry) {
    const bool timed = entry.what.has_its_time();
    return std::tuple(timed, timed ? entry.when_us : 0, entry.round, entry.what.host,
                      entry.what.kind, entry.what.lane, entry.order);
  };
  return key(one) < key(other);
}

bool is_behind(const Schedule::Entry& entry, const Schedule::Entry& other) {
  const What& what = entry.what;
  if (what.host != other.what.host || what.lane != other.what.lane) return false;
  if (what.kind == What::Kind::kBulk && other.what.kind == What::Kind::kMessage)
    return other.order < entry.order;
  return what.kind == other.what.kind && before(other, entry);
}

std::uint64_t earliest_us(const std::vector<Schedule::Entry>& pending) {
  return std::ranges::min_element(pending, {}, &Schedule::Entry::when_us)->when_us;
}

}  // namespace

// Both classes of one way of a link wait together: bulk must not overtake control.
Choices::Lane Choices::lane_of(const Entry& entry) {
  const bool bulk = entry.what.kind == What::Kind::kBulk;
  return {bulk ? What::Kind::kMessage : entry.what.kind, entry.what.host, entry.what.lane};
}

// What has to wait comes when nothing else does; for a timer it waits if one comes soon enough.
const Schedule::Entry* Choices::default_of(const std::vector<Entry>& pending) const {
  const Entry* first = nullptr;
  const Entry* late = nullptr;
  const Entry* timed = nullptr;
  bool for_timer = false;
  for (const auto& entry : pending) {
    const auto wait = waiting_.find(lane_of(entry));
    const bool waits = wait != waiting_.end();
    for_timer = for_timer || (waits && wait->second == Wait::kForTimer);
    const Entry*& best = entry.what.has_its_time() ? timed : waits ? late : first;
    if (best == nullptr || before(entry, *best)) best = &entry;
  }
  if (first != nullptr) return first;
  if (late == nullptr) return timed;
  const bool soon = timed != nullptr && timed->when_us <= earliest_us(pending) + kLatestUs;
  return for_timer && soon ? timed : late;
}

// The first of each lane but the default, if nothing gets too late by that.
std::vector<const Schedule::Entry*> Choices::overtakers(const std::vector<Entry>& pending) const {
  const Entry* usual = default_of(pending);
  const auto latest_us = earliest_us(pending) + kLatestUs;
  std::vector<const Entry*> heads;
  for (const auto& entry : pending) {
    const bool blocked = std::ranges::any_of(
        pending, [&](const Entry& other) { return &other != &entry && is_behind(entry, other); });
    if (&entry != usual && !blocked && entry.when_us <= latest_us) heads.push_back(&entry);
  }
  std::ranges::sort(heads,
                    [](const Entry* one, const Entry* other) { return before(*one, *other); });
  return heads;
}

std::uint32_t Choices::orders(const std::vector<Entry>& pending) const {
  const bool can_wait = !default_of(pending)->what.has_its_time() && pending.size() > 1;
  return static_cast<std::uint32_t>(overtakers(pending).size()) + (can_wait ? kWaits : 0);
}

std::uint64_t Choices::arrivals(const std::vector<Entry>& pending) const {
  if (!world_.ready()) return 0;
  std::uint64_t out = 0;
  const auto heads = overtakers(pending);
  for (std::size_t i = 0; i < heads.size() && i < kMostArrivals; ++i) {
    if (heads[i]->what.kind == What::Kind::kArrival) out |= std::uint64_t{1} << (i + 1);
  }
  return out;
}

std::uint32_t Choices::faults() const {
  return struck_ ? 0 : static_cast<std::uint32_t>(world_.possible_strikes(classes_).size());
}

const Schedule::Entry* Choices::choose(const std::vector<Entry>& pending, std::uint32_t choice) {
  const Entry* usual = default_of(pending);
  if (choice == 0) return take(*usual);
  const auto heads = overtakers(pending);
  if (choice <= heads.size()) {
    const Entry* chosen = heads[choice - 1];
    say(fmt::format("first {}, then {}", describe(chosen->what), describe(usual->what)));
    return chosen;
  }
  const auto rest = choice - static_cast<std::uint32_t>(heads.size()) - 1;
  const auto waits = orders(pending) - static_cast<std::uint32_t>(heads.size());
  if (rest < waits) {
    let_wait(*usual, rest == 0 ? Wait::kForAllElse : Wait::kForTimer);
  } else {
    struck_ = true;
    const auto strikes = world_.possible_strikes(classes_);
    const auto& strike = strikes.at(rest - waits);
    if (!world_.strike(strike)) return nullptr;
    const auto kind = static_cast<std::uint64_t>(strike.kind);
    world_.schedule().note_everywhere(Hash{kind, strike.host, strike.which, strike.for_ms}.value());
  }
  return nullptr;
}

void Choices::let_wait(const Entry& entry, Wait wait) {
  say(fmt::format("{} waits for {}", describe(entry.what),
                  wait == Wait::kForTimer ? "a timer" : "all else"));
  waiting_[lane_of(entry)] = wait;
}

// Who waited for it need not wait any longer.
const Schedule::Entry* Choices::take(const Entry& entry) {
  if (entry.what.has_its_time() || waiting_.contains(lane_of(entry))) waiting_.clear();
  return &entry;
}

std::uint64_t Choices::state_hash() const {
  Hash hash{world_.state_hash()};
  for (const auto& [lane, wait] : waiting_) {
    const auto& [kind, host, number] = lane;
    for (const auto value : {static_cast<std::uint64_t>(kind), std::uint64_t{host}, number,
                             static_cast<std::uint64_t>(wait)})
      hash.add(value);
  }
  return hash.value();
}

void Choices::say(const std::string& text) const {
  world_.journal().line(world_.schedule().now_us(), kHeadHost, TraceLine::Kind::kWorld,
                        "choice: " + text);
}

}  // namespace tide::sim
