// What is asked for and given back; what Slurm does by itself is in slurm_watching.cpp.
#include "rm/slurm_manager.hpp"

#include <algorithm>
#include <utility>

#include "rm/slurm_list.hpp"
#include "say/slurm.hpp"

namespace tide::rm {
namespace {

constexpr std::uint64_t kSecondMs = 1'000;
constexpr std::uint64_t kMinuteMs = 60'000;
// Nodes are to be gone before Slurm ends what is on them.
constexpr std::uint64_t kBeforeTheEndMs = 3'000;
constexpr std::uint32_t kFirstRetryMs = 5'000;
constexpr std::uint32_t kLastRetryMs = 60'000;

std::uint32_t minutes_for(std::uint64_t time_ms) {
  return static_cast<std::uint32_t>((time_ms + kMinuteMs - 1) / kMinuteMs);
}

std::uint32_t at_most_u32(std::uint64_t value) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, UINT32_MAX));
}

// A name that Slurm could have; anything else is kept from its commands.
Status check_name(const hosts::HostWord& word) {
  const auto read = expand_slurm_list(word.name, "--host");
  if (!read) return read.error();
  if (read->size() != 1 || read->front() != word.name) return say::slurm_one_name(word.name);
  return ok_status();
}

}  // namespace

SlurmManager::SlurmManager(SlurmControl& control, SlurmClock clock, SlurmListener& listener,
                           SlurmBook book, SlurmSettings settings)
    : control_(control),
      clock_(std::move(clock)),
      listener_(listener),
      book_(std::move(book)),
      settings_(std::move(settings)) {}

std::uint32_t SlurmManager::left_ms(const std::string& job) const {
  const auto ends = book_.ends_s(job);
  if (!ends) return 0;
  const auto end_ms = *ends * kSecondMs;
  const auto now_ms = clock_.now_ms() + kBeforeTheEndMs;
  return at_most_u32(end_ms > now_ms ? end_ms - now_ms : 1);
}

// ---- asking ----

void SlurmManager::ask(const core::AskForNodes& wanted, std::span<const hosts::HostWord> words,
                       std::span<const hosts::HostWord> idle, const std::set<std::string>& known) {
  for (const auto& job : book_.free_lost(known)) see_to(job);
  std::vector<hosts::HostWord> all(words.begin(), words.end());
  for (const auto& word : idle) {
    if (!book_.find(word.name)) {
      return listener_.on_refused(wanted.ask, say::slurm_not_idle(word.name, book_.free_names()));
    }
    all.push_back(word);
  }
  for (const auto& word : all) {
    if (const auto fit = check_name(word); !fit) {
      return listener_.on_refused(wanted.ask, fit.error());
    }
  }
  ask_for({wanted, std::move(all), {}});
}

// Whether a node that the DVM has lost is still there Slurm may know better.
void SlurmManager::ask_for(Wanted wanted) {
  if (finishing_) return;
  for (const auto& word : wanted.words) {
    const auto node = book_.find(word.name);
    if (!node || !book_.is_lost(*node) || !wanted.looked_at.insert(book_.job_of(*node)).second) {
      continue;
    }
    return look_closer(*node, [this, wanted = std::move(wanted)] { ask_for(wanted); });
  }
  const auto number = wanted.ask.ask;
  const auto count = wanted.ask.all ? book_.count_free_beside(wanted.words) : wanted.ask.count;
  if (wanted.words.empty() && count == 0) return listener_.on_granted(number, {});
  auto share = book_.grant(count, wanted.words);
  if (!share) return listener_.on_refused(number, share.error());
  auto& ask = asks_[number];
  ask.share = std::move(*share);
  ask.wish = wanted.ask.wish;
  if (ask.share.count == 0 && ask.share.names.empty()) {
    return grant(number, std::move(ask.share.here));
  }
  allocate(number);
}

SlurmWish SlurmManager::wish_of(const Ask& ask) const {
  return {.count = ask.share.count + static_cast<std::uint32_t>(ask.share.names.size()),
          .names = ask.share.names,
          .without = book_.nodes(),
          .cores = cores_,
          .minutes = ask.minutes,
          .partition = parent_.partition,
          .account = parent_.account,
          .qos = parent_.qos,
          .job_name = settings_.job_name};
}

// It would be of no use for longer than the DVM can last.
void SlurmManager::allocate(std::uint32_t number) {
  auto& ask = asks_.at(number);
  const auto most_ms = parent_left_ms();
  const auto most = most_ms == 0 ? 0 : std::max<std::uint32_t>(1, most_ms / kMinuteMs);
  // A little more than is wished: it begins before we know, and ends here before it ends there.
  const auto wish_ms = ask.wish.time_ms == 0 ? 0 : ask.wish.time_ms + 2 * kBeforeTheEndMs;
  ask.minutes = smaller_limit(minutes_for(wish_ms), most);
  ask.hold = control_.allocate(
      wish_of(ask),
      {.waits =
           [this, number](const std::string& job) {
             asks_.at(number).job = job;
             queued(number, "");
             hurry();
           },
       .granted = [this, number](SlurmJob job) { on_granted(number, std::move(job)); },
       .refused = [this, number](Error why) { refuse(number, std::move(why)); }});
}

void SlurmManager::queued(std::uint32_t number, const std::string& reason) {
  auto& ask = asks_.at(number);
  auto text = say::slurm_job_waits(ask.job, reason);
  if (text == ask.told) return;
  ask.told = text;
  listener_.on_queued(number, std::move(text));
}

void SlurmManager::on_granted(std::uint32_t number, SlurmJob job) {
  auto& ask = asks_.at(number);
  holds_[job.id] = std::move(ask.hold);
  holds_.at(job.id)->on_over([this, id = job.id] { on_over(id); });
  ask.job.clear();
  book_.add_child(job);
  control_.show(job.id, [this, number, job](const Result<SlurmJob>& closer) {
    on_end_known(number, job, closer);
  });
  hurry();
}

// Where Slurm does not say it, its end is the one that was asked for.
void SlurmManager::on_end_known(std::uint32_t number, SlurmJob job,
                                const Result<SlurmJob>& closer) {
  const auto found = asks_.find(number);
  const auto minutes = found == asks_.end() ? 0 : found->second.minutes;
  if (closer && closer->life == SlurmLife::kRuns) {
    job = *closer;
  } else if (minutes > 0) {
    job.ends_s = (clock_.now_ms() + minutes * kMinuteMs) / kSecondMs;
  }
  book_.update(job, true);
  auto hosts = book_.used_hosts_of(job.id);
  if (found == asks_.end()) {
    book_.unuse(hosts);
    return see_to(job.id);
  }
  auto& here = found->second.share.here;
  hosts.insert(hosts.begin(), here.begin(), here.end());
  grant(number, std::move(hosts));
}

void SlurmManager::grant(std::uint32_t number, std::vector<Host> hosts) {
  const auto wish = asks_.at(number).wish;
  asks_.erase(number);
  listener_.on_granted(number, grant_of(std::move(hosts), wish));
}

// What is granted together goes together: with the job that ends first, or with the parent.
SlurmManager::Grant SlurmManager::grant_of(std::vector<Host> hosts, core::Lease wish) {
  Grant out{.hosts = std::move(hosts), .lease = wish};
  std::set<std::string> jobs;
  for (const auto& host : out.hosts) jobs.insert(book_.job_of(host.name));
  std::uint32_t most_ms = parent_left_ms();
  for (const auto& job : jobs) most_ms = smaller_limit(most_ms, left_ms(job));
  out.lease.time_ms = smaller_limit(wish.time_ms, most_ms);
  out.cut = out.lease.time_ms < wish.time_ms;
  for (const auto& job : jobs) {
    if (out.lease.time_ms > 0 && out.lease.time_ms != left_ms(job)) {
      promised_ms_[job] = clock_.now_ms() + out.lease.time_ms;
    }
  }
  return out;
}

void SlurmManager::refuse(std::uint32_t number, Error why) {
  book_.unuse(asks_.at(number).share.here);
  asks_.erase(number);
  listener_.on_refused(number, std::move(why));
}

void SlurmManager::cancel(std::uint32_t ask) {
  const auto found = asks_.find(ask);
  if (found == asks_.end()) return;
  book_.unuse(found->second.share.here);
  asks_.erase(found);
}

// ---- more time ----

void SlurmManager::ask(const core::AskForTime& wanted) {
  Prolonging out{.time_ms = wanted.time_ms};
  for (const auto& node : wanted.nodes) {
    if (const auto job = book_.job_of(node); !job.empty()) out.jobs.insert(job);
  }
  const auto parent_ms = parent_left_ms();
  for (const auto& job : out.jobs) {
    if (parent_ms == 0 || job == book_.parent()) continue;
    const auto end_ms = ends_for_us_ms(job);
    const auto parent_end_ms = clock_.now_ms() + parent_ms;
    const auto room_ms = parent_end_ms > end_ms ? parent_end_ms - end_ms : 0;
    if (room_ms < kSecondMs) {
      return listener_.on_refused(wanted.ask, say::slurm_no_longer_than(book_.parent()));
    }
    out.cut = out.cut || room_ms < out.time_ms;
    out.time_ms = at_most_u32(std::min<std::uint64_t>(room_ms, out.time_ms));
  }
  const auto jobs = out.jobs;
  const auto time_ms = out.time_ms;
  prolongings_.emplace(wanted.ask, std::move(out));
  for (const auto& job : jobs) prolong(wanted.ask, job, time_ms);
}

// What Slurm gives already, because it counts in minutes, is not asked for again.
void SlurmManager::prolong(std::uint32_t number, const std::string& job, std::uint32_t time_ms) {
  const auto slurms_end_ms = book_.ends_s(job).value_or(0) * kSecondMs;
  const auto end_ms = ends_for_us_ms(job) + time_ms;
  if (slurms_end_ms == 0 || end_ms <= slurms_end_ms) return prolonged(number, job, ok_status());
  const auto minutes = minutes_for(end_ms - slurms_end_ms);
  control_.prolong(job, minutes, [this, number, job](const Status& status) {
    if (!status) return prolonged(number, job, status);
    control_.show(job, [this, number, job](const Result<SlurmJob>& closer) {
      if (closer) book_.update(*closer, true);
      prolonged(number, job, ok_status());
    });
  });
}

std::uint64_t SlurmManager::ends_for_us_ms(const std::string& job) const {
  const auto promised = promised_ms_.find(job);
  return promised == promised_ms_.end() ? book_.ends_s(job).value_or(0) * kSecondMs
                                        : promised->second;
}

void SlurmManager::prolonged(std::uint32_t number, const std::string& job, const Status& status) {
  const auto found = prolongings_.find(number);
  if (found == prolongings_.end()) return;  // another of its jobs could not be prolonged
  if (!status) {
    prolongings_.erase(found);
    return listener_.on_refused(number, status.error());
  }
  auto& prolonging = found->second;
  if (const auto promised = promised_ms_.find(job); promised != promised_ms_.end()) {
    promised->second += prolonging.time_ms;
  }
  prolonging.jobs.erase(job);
  if (!prolonging.jobs.empty()) return;
  const auto done = std::move(prolongings_.extract(found).mapped());
  listener_.on_time_granted(number, done.time_ms, done.cut);
}

// ---- giving back ----

void SlurmManager::give_back(const core::ReturnNodes& order) {
  Return back{.number = order.number, .jobs = book_.give_back(order.nodes, order.never_joined)};
  if (back.jobs.empty()) {
    const bool slurm_has_them = std::ranges::all_of(
        order.nodes, [this](const auto& node) { return book_.job_of(node).empty(); });
    return listener_.on_returned(order.number, slurm_has_them ? core::ReturnVerdict::kTaken
                                                              : core::ReturnVerdict::kDeclined);
  }
  const auto jobs = back.jobs;
  returns_.push_back(std::move(back));
  for (const auto& job : jobs) see_to(job);
}

void SlurmManager::see_to(const std::string& job) {
  auto order = book_.order_for(job);
  using What = SlurmBook::Order::What;
  switch (order.what) {
    case What::kNothing:
      if (!book_.is_busy(job)) settle_returns(job, core::ReturnVerdict::kTaken);
      return;
    case What::kCancel:
      drop(job);
      return settle_returns(job, core::ReturnVerdict::kTaken);
    case What::kKeep:
      listener_.on_note(say::slurm_keeps_nodes(job, order.staying));
      book_.was_resized(job, order);
      return settle_returns(job, core::ReturnVerdict::kDeclined);
    case What::kResize:
      return resize(job, std::move(order));
  }
}

void SlurmManager::resize(const std::string& job, SlurmBook::Order order) {
  book_.set_busy(job, true);
  const auto staying = order.staying;
  control_.resize(job, staying, [this, job, order = std::move(order)](const Status& status) {
    resized(job, order, status);
  });
  hurry();
}

// One that did not reach Slurm is tried again: the nodes are not ours to keep.
void SlurmManager::resized(const std::string& job, const SlurmBook::Order& order,
                           const Status& status) {
  book_.set_busy(job, false);
  if (status) {
    retries_.erase(job);
    book_.was_resized(job, order);
    return see_to(job);  // others may have come to go meanwhile
  }
  if (status.error().code == ErrorCode::kUnavailable) {
    settle_returns(job, core::ReturnVerdict::kDeferred);
    return try_again(job);
  }
  listener_.on_note(say::slurm_cannot_shrink(job, order.leaving, status.error().message));
  book_.cannot_resize(job);
  settle_returns(job, core::ReturnVerdict::kDeclined);
}

void SlurmManager::try_again(const std::string& job) {
  auto& after_ms = retries_[job];
  after_ms = after_ms == 0 ? kFirstRetryMs : std::min(2 * after_ms, kLastRetryMs);
  clock_.after(after_ms, [this, job] {
    if (!finishing_) see_to(job);
  });
}

void SlurmManager::settle_returns(const std::string& job, core::ReturnVerdict verdict) {
  for (auto& back : returns_) {
    if (back.jobs.erase(job) > 0 && verdict != core::ReturnVerdict::kTaken) back.verdict = verdict;
  }
  auto ended =
      std::ranges::stable_partition(returns_, [](const auto& r) { return !r.jobs.empty(); });
  const std::vector<Return> done(ended.begin(), ended.end());
  returns_.erase(ended.begin(), ended.end());
  for (const auto& back : done) listener_.on_returned(back.number, back.verdict);
}

void SlurmManager::drop(const std::string& job) {
  book_.remove(job);
  promised_ms_.erase(job);
  retries_.erase(job);
  holds_.erase(job);
  if (unheld_.erase(job) > 0) cancel_unheld(job, kFirstRetryMs);
}

void SlurmManager::cancel_unheld(const std::string& job, std::uint32_t retry_ms) {
  control_.cancel(job, [this, job, retry_ms](const Status& status) {
    if (status || finishing_ || status.error().code != ErrorCode::kUnavailable) return;
    clock_.after(retry_ms, [this, job, retry_ms] {
      cancel_unheld(job, std::min(2 * retry_ms, kLastRetryMs));
    });
  });
}

void SlurmManager::finish(std::function<void(bool)> then) {
  finishing_ = true;
  asks_.clear();
  holds_.clear();
  for (const auto& job : unheld_) cancel_unheld(job, kFirstRetryMs);
  control_.settle(settings_.settle_ms, std::move(then));
}

}  // namespace tide::rm
