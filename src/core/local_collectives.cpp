#include "core/local_collectives.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/message_limit.hpp"
#include "core/rank_set.hpp"
#include "core/service_status.hpp"

namespace tide::core {

// The daemons that take part, as far as they are known here: relays wait for these to merge what
// they say. The head knows all.
wire::RankSet LocalCollectives::daemons_of(const std::string& participants) const {
  RankSet out;
  const auto names = names_in(participants);
  for (const auto& name : names.names()) {
    const wire::LaunchCommon* launch = jobs_.launch_of(name.nspace());
    if (launch == nullptr) return {};
    for (const auto& host : launch->hosts()) {
      const bool takes_part =
          name.rank() == kAllRanks || std::ranges::any_of(host.ranks(), [&](const auto& range) {
            return range.first() <= name.rank() && name.rank() <= range.last();
          });
      if (takes_part) out.insert(Rank(host.daemon()));
    }
  }
  return out.to_wire();
}

Status LocalCollectives::may_begin(const CollectiveEntered& event) const {
  if (event.broken) {
    return Error{ErrorCode::kConnectionLost, "a process that takes part was lost"};
  }
  if (event.data.size() > limit_) return too_large("what the processes here contribute");
  return ok_status();
}

void LocalCollectives::handle(const CollectiveEntered& event) {
  const Series series{event.kind, event.name, canonical(event.participants)};
  const CollectiveKey key{series, ++entered_[series]};
  if (const auto early = early_.extract(key); !early.empty()) {
    const Result& result = early.mapped();
    out_.emplace_back(AnswerCollective{event.ticket, result.status, result.data, result.context});
    return;
  }
  if (const Status begun = may_begin(event); !begun) {
    out_.emplace_back(AnswerCollective{event.ticket, begun, {}, 0});
    return report_failure(key, begun.error());
  }
  Open& open = open_[key];
  open.ticket = event.ticket;
  open.contribution.mutable_id()->set_kind(wire::ReductionId::COLLECTIVE);
  *open.contribution.mutable_id()->mutable_collective() = id_of(key);
  *open.contribution.mutable_participants() = daemons_of(series.participants);
  auto* own = open.contribution.add_contributions();
  own->set_rank(self_.value());
  own->set_data(std::string(event.data.view()));
  if (event.timeout_ms > 0) {
    open.timer = ++last_timer_;
    by_timer_[open.timer] = key;
    out_.emplace_back(timers_.arm(TimerKind::kCollective, event.timeout_ms, open.timer));
  }
  head_.contribute(open.contribution);
}

// Who connects with a job that has no process here wants to know it afterwards.
void LocalCollectives::answer(std::map<CollectiveKey, Open>::iterator open, const Result& result) {
  const CollectiveKey key = open->first;
  const Open done = std::move(open->second);
  open_.erase(open);
  if (done.timer != 0) {
    timers_.cancel(TimerKind::kCollective, done.timer);
    by_timer_.erase(done.timer);
  }
  std::set<std::string> wanted;
  if (result.status && key.first.kind == wire::CollectiveId::CONNECT) {
    const auto names = names_in(key.first.participants);
    for (const auto& name : names.names()) wanted.insert(name.nspace());
  }
  guests_.introduce(wanted, [this, done, result](const Status& status) {
    out_.emplace_back(AnswerCollective{done.ticket, result.status ? status : result.status,
                                       result.data, result.context});
  });
}

void LocalCollectives::on_result(const wire::CollectiveResult& result, const Bytes& data) {
  const CollectiveKey key = key_of(result.id());
  const Result given{status_of(result), data, result.context()};
  const auto open = open_.find(key);
  if (open != open_.end()) {
    answer(open, given);
  } else if (const auto entered = entered_.find(key.first);
             (entered == entered_.end() ? 0 : entered->second) < key.second && may_enter(key)) {
    early_[key] = given;
  }
}

// Somebody of it is still here.
bool LocalCollectives::may_enter(const CollectiveKey& key) const {
  const auto names = names_in(key.first.participants);
  return std::ranges::any_of(names.names(), [this](const auto& name) {
    return jobs_.launch_of(name.nspace()) != nullptr;
  });
}

void LocalCollectives::contribute_again() {
  for (const auto& [key, open] : open_) head_.contribute(open.contribution);
}

// The others must not wait for us.
void LocalCollectives::report_failure(const CollectiveKey& key, const Error& error) {
  wire::UpBody body;
  *body.mutable_collective_failed()->mutable_id() = id_of(key);
  set_status(*body.mutable_collective_failed(), error);
  head_.send_to_head(std::move(body), {});
}

bool LocalCollectives::handle_timer(TimerKind kind, std::uint32_t subject) {
  if (kind != TimerKind::kCollective) return false;
  const auto timer = by_timer_.find(subject);
  if (timer == by_timer_.end()) return true;
  const CollectiveKey key = timer->second;
  const Error late = timed_out("what was to be done together");
  answer(open_.find(key), Result{late, {}, 0});
  report_failure(key, late);
  return true;
}

void LocalCollectives::forget(const std::string& nspace) {
  const Status over = Error{ErrorCode::kConnectionLost, "a job that takes part has ended"};
  std::vector<CollectiveKey> waiting;
  for (const auto& [key, open] : open_) {
    if (involves(key.first.participants, nspace)) waiting.push_back(key);
  }
  for (const auto& key : waiting) answer(open_.find(key), Result{over, {}, 0});
  std::erase_if(entered_,
                [&](const auto& entry) { return involves(entry.first.participants, nspace); });
  std::erase_if(
      early_, [&](const auto& entry) { return involves(entry.first.first.participants, nspace); });
}

}  // namespace tide::core
