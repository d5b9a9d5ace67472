#include "sim/schedule.hpp"

#include <algorithm>
#include <utility>

#include "sim/hash.hpp"

namespace tide::sim {

namespace {

bool later(const Schedule::Entry& one, const Schedule::Entry& other) {
  return one.when_us != other.when_us ? one.when_us > other.when_us : one.order > other.order;
}

bool same_lane(const What& first, const What& next) {
  // Bulk waits for the control messages before it.
  const bool behind = first.kind == What::Kind::kMessage && next.kind == What::Kind::kBulk;
  return first.host == next.host && first.lane == next.lane && (first.kind == next.kind || behind);
}

std::uint64_t hash_of(const What& what) {
  return Hash{static_cast<std::uint64_t>(what.kind), what.host, what.lane, what.number}.value();
}

std::uint64_t hash_of(const Schedule::Entry& entry) {
  return Hash{hash_of(entry.what), entry.when_us, entry.round}.value();
}

}  // namespace

void Schedule::after(std::uint64_t delay_us, const What& what, Action action) {
  under_way_ += what.is_activity() ? 1U : 0U;
  if (!chooser_) {
    pending_.push_back(Entry{now_us_ + delay_us, order_++, 0, what, std::move(action)});
    std::ranges::push_heap(pending_, later);
    return;
  }
  const auto when_us = now_us_ + (what.has_its_time() ? delay_us : 0);
  pending_.push_back(Entry{when_us, order_++, round_of(what), what, std::move(action)});
  pending_hash_ += hash_of(pending_.back());
}

void Schedule::at_ms(std::uint64_t when_ms, const What& what, Action action) {
  const auto when_us = when_ms * 1000;
  after(when_us > now_us_ ? when_us - now_us_ : 0, what, std::move(action));
}

// Not before what is ahead of it in its lane.
std::uint64_t Schedule::round_of(const What& what) const {
  std::uint64_t round = round_;
  for (const auto& entry : pending_) {
    if (same_lane(entry.what, what)) round = std::max(round, entry.round);
  }
  return round;
}

bool Schedule::run(std::uint64_t until_ms, std::uint64_t max_steps) {
  if (chooser_) return run_chosen(until_ms, max_steps);
  while (!pending_.empty()) {
    if (pending_.front().when_us > until_ms * 1000 || steps_ >= max_steps) return false;
    std::ranges::pop_heap(pending_, later);
    const Entry entry = std::move(pending_.back());
    pending_.pop_back();
    under_way_ -= entry.what.is_activity() ? 1U : 0U;
    now_us_ = entry.when_us;
    ++steps_;
    entry.action();
  }
  return true;
}

bool Schedule::run_chosen(std::uint64_t until_ms, std::uint64_t max_steps) {
  while (!pending_.empty()) {
    if (now_us_ > until_ms * 1000 || steps_ >= max_steps) return false;
    ++steps_;
    const Entry* chosen = chooser_(pending_);
    if (chosen == nullptr) continue;
    const auto at = pending_.begin() + (chosen - pending_.data());
    const Entry entry = std::move(*at);
    std::swap(*at, pending_.back());
    pending_.pop_back();
    perform(entry);
  }
  return true;
}

void Schedule::perform(const Entry& entry) {
  pending_hash_ -= hash_of(entry);
  under_way_ -= entry.what.is_activity() ? 1U : 0U;
  now_us_ = std::max(now_us_, entry.when_us);
  Host& host = hosts_[entry.what.host];
  host.round = std::max(host.round, entry.round) + 1;
  host.history = Hash{host.history, hash_of(entry.what), now_us_}.value();
  round_ = host.round;
  entry.action();
}

void Schedule::drop_timer(HostId host, std::uint64_t timer) {
  std::erase_if(pending_, [&](const Entry& entry) {
    const bool same = entry.what.kind == What::Kind::kTimer && entry.what.host == host &&
                      entry.what.number == timer;
    if (same) pending_hash_ -= hash_of(entry);
    return same;
  });
}

void Schedule::note(HostId host, std::uint64_t fact) {
  Host& of = hosts_[host];
  of.history = Hash{of.history, fact}.value();
}

void Schedule::note_everywhere(std::uint64_t fact) {
  for (auto& [id, host] : hosts_) host.history = Hash{host.history, fact}.value();
}

std::uint64_t Schedule::hash() const {
  Hash hash{pending_hash_, now_us_};
  for (const auto& [id, host] : hosts_) {
    hash.add(id);
    hash.add(host.history);
  }
  return hash.value();
}

}  // namespace tide::sim
