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
// Between the start of a job and its being known here: it is to last so much longer.
constexpr std::uint64_t kToHearOfItMs = 2'000;
constexpr std::uint64_t kStaleMs = 1'000;  // what was learnt of a job before that
constexpr std::uint32_t kFirstRetryMs = 5'000;
constexpr std::uint32_t kLastRetryMs = 60'000;
constexpr std::uint32_t kMostCancels = 20;
constexpr std::uint32_t kLastTriesMs = 2'000;  // between them, when the DVM ends
constexpr std::uint32_t kSlowEndMs = 5'000;    // after that people are told why it takes so long

std::uint32_t minutes_for(std::uint64_t time_ms) {
  return static_cast<std::uint32_t>((time_ms + kMinuteMs - 1) / kMinuteMs);
}

std::uint32_t at_most_u32(std::uint64_t value) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, UINT32_MAX));
}

std::uint32_t next_pause(std::uint32_t last_ms) {
  return last_ms == 0 ? kFirstRetryMs : std::min(2 * last_ms, kLastRetryMs);
}

// Those that were wished by name may be wished with fewer slots.
void limit_slots(std::vector<Host>& hosts, const std::vector<hosts::HostWord>& words) {
  for (auto& host : hosts) {
    const auto word = std::ranges::find(words, host.name, &hosts::HostWord::name);
    if (word == words.end()) continue;
    host.slots = smaller_limit(host.slots, word->slots);
    host.max_slots = smaller_limit(host.max_slots, word->max_slots);
  }
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
    const auto number = wanted.ask.ask;
    return look_why(
        *node, unless_cancelled(number, [this, wanted = std::move(wanted)] { ask_for(wanted); }));
  }
  const auto number = wanted.ask.ask;
  if (wanted.ask.wish.time_ms > parent_left_ms() && parent_may_last_longer()) {
    return look_at_parent(
        unless_cancelled(number, [this, wanted = std::move(wanted)] { ask_for(wanted); }));
  }
  const auto count = wanted.ask.all ? book_.count_free_beside(wanted.words) : wanted.ask.count;
  if (wanted.words.empty() && count == 0) return listener_.on_granted(number, {});
  auto share = book_.grant(count, wanted.words);
  if (!share) return listener_.on_refused(number, share.error());
  auto& ask = asks_[number];
  ask.share = std::move(*share);
  ask.wish = wanted.ask.wish;
  if (ask.share.count == 0 && ask.share.named.empty()) {
    return grant(number, std::move(ask.share.here));
  }
  allocate(number);
}

// Nobody may wait for it any more when what is looked at first is known.
std::function<void()> SlurmManager::unless_cancelled(std::uint32_t number,
                                                     std::function<void()> then) {
  looking_for_.insert(number);
  return [this, number, then = std::move(then)] {
    if (looking_for_.erase(number) > 0) then();
  };
}

SlurmWish SlurmManager::wish_of(const Ask& ask) const {
  SlurmWish out{.count = ask.share.count + static_cast<std::uint32_t>(ask.share.named.size()),
                .without = book_.nodes(),
                .whole_nodes = parent_.whole_nodes,
                .cores = cores_,
                .minutes = ask.minutes,
                .partition = parent_.partition,
                .account = parent_.account,
                .qos = parent_.qos,
                .job_name = settings_.job_name};
  for (const auto& word : ask.share.named) out.names.push_back(word.name);
  return out;
}

// It would be of no use for longer than the DVM can last.
void SlurmManager::allocate(std::uint32_t number) {
  auto& ask = asks_.at(number);
  const auto wish_ms = std::uint64_t{ask.wish.time_ms};
  const auto minutes = wish_ms == 0 ? 0 : minutes_for(wish_ms + kBeforeTheEndMs + kToHearOfItMs);
  const auto most_ms = parent_left_ms();
  // Slurm counts in minutes. A wish is kept to as far as it can be; without one less is no loss.
  const auto whole = std::max<std::uint32_t>(1, most_ms / kMinuteMs);
  const auto most = most_ms == 0 ? 0 : (wish_ms == 0 ? whole : minutes_for(most_ms));
  ask.minutes = smaller_limit(minutes, most);
  ask.hold = control_.allocate(
      wish_of(ask), {.waits =
                         [this, number](const std::string& job) {
                           left_.erase(job);  // another of this number, then
                           asks_.at(number).queued = job;
                           queued(number, say::slurm_job_waits(job, ""));
                           hurry();
                         },
                     .granted = [this, number](const SlurmJob& job) { on_granted(number, job); },
                     .refused = [this, number](Error why) { not_given(number, std::move(why)); },
                     .left = [this](const std::string& job) { cancel_left(job); }});
}

void SlurmManager::queued(std::uint32_t number, std::string text) {
  auto& ask = asks_.at(number);
  if (text == ask.told) return;
  ask.told = text;
  listener_.on_queued(number, std::move(text));
}

void SlurmManager::on_granted(std::uint32_t number, const SlurmJob& job) {
  if (book_.knows_job(job.id)) return refuse(number, say::slurm_job_is_not_new(job.id));
  left_.erase(job.id);  // another of this number, then
  auto& ask = asks_.at(number);
  ask.queued.clear();
  ask.granted = job.id;
  auto& hold = holds_[job.id];
  hold = std::move(ask.hold);
  hold->on_over([this, id = job.id] { on_over(id); });
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
  if (found == asks_.end()) return;  // taken back meanwhile, or over
  const auto minutes = found->second.minutes;
  if (shows_end(closer)) return lost(job.id, closer ? closer->state : "");
  if (closer && closer->life == SlurmLife::kRuns) {
    job = *closer;
  } else if (minutes > 0) {
    job.ends_s = (clock_.now_ms() + minutes * kMinuteMs) / kSecondMs;
  }
  book_.update(job, true);
  auto hosts = book_.used_hosts_of(job.id);
  const auto wished = wish_of(found->second).count;
  if (hosts.size() < wished) {  // some are the DVM's already, or have gone
    refuse(number, say::slurm_gave_fewer(job.id, wished, hosts.size()));
    return see_to(job.id);
  }
  limit_slots(hosts, found->second.share.named);
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
  std::uint32_t most_ms = parent_left_ms();
  for (const auto& host : out.hosts) {
    most_ms = smaller_limit(most_ms, left_ms(book_.job_of(host.name)));
  }
  out.lease.time_ms = smaller_limit(wish.time_ms, most_ms);
  out.cut = out.lease.time_ms < wish.time_ms;
  const auto until_ms = clock_.now_ms() + out.lease.time_ms;
  for (const auto& host : out.hosts) {
    book_.promise(host.name, std::nullopt);
    const auto job_ms = end_ms(host.name);
    const bool sooner = out.lease.time_ms > 0 && (job_ms == 0 || until_ms + kSecondMs < job_ms);
    if (sooner) book_.promise(host.name, until_ms);
  }
  return out;
}

// What it had of our jobs is free again; one of which nothing else is used goes.
void SlurmManager::cancel(std::uint32_t ask) {
  looking_for_.erase(ask);
  prolongings_.erase(ask);
  const auto gone = asks_.extract(ask);
  if (gone.empty()) return;
  auto hosts = gone.mapped().share.here;
  for (auto& host : book_.used_hosts_of(gone.mapped().granted)) hosts.push_back(std::move(host));
  for (const auto& job : book_.unuse(hosts)) see_to(job);
}

bool SlurmManager::is_coming(const std::string& job) const {
  return std::ranges::any_of(asks_,
                             [&job](const auto& entry) { return entry.second.granted == job; });
}

// Slurm's words do not say what was asked for.
void SlurmManager::not_given(std::uint32_t number, Error why) {
  const auto wish = wish_of(asks_.at(number));
  const bool explained = why.message.find('\n') != why.message.npos;
  if (why.code == ErrorCode::kOutOfResources && !explained) {
    why = say::slurm_refuses(wish.count, wish.names, why.message);
  }
  refuse(number, std::move(why));
}

void SlurmManager::refuse(std::uint32_t number, Error why) {
  cancel(number);
  listener_.on_refused(number, std::move(why));
}

void SlurmManager::refuse_without(const std::vector<std::string>& gone, const std::string& reason) {
  std::map<std::uint32_t, std::string> missing;
  for (const auto& [number, ask] : asks_) {
    for (const auto& host : ask.share.here) {
      if (std::ranges::find(gone, host.name) != gone.end()) missing[number] = host.name;
    }
  }
  for (const auto& [number, name] : missing)
    refuse(number, say::slurm_lost_meanwhile(name, reason));
}

// ---- more time ----

void SlurmManager::ask(const core::AskForTime& wanted) {
  auto out = prolonging_of(wanted);
  if ((!out || out->cut) && parent_may_last_longer()) {
    return look_at_parent(unless_cancelled(wanted.ask, [this, wanted] { ask(wanted); }));
  }
  if (!out) return listener_.on_refused(wanted.ask, out.error());
  const auto jobs = out->jobs;
  prolongings_.emplace(wanted.ask, std::move(*out));
  for (const auto& job : jobs) prolong(wanted.ask, job);
}

// As far as the first job lasts, as it is known here.
Result<SlurmManager::Prolonging> SlurmManager::prolonging_of(const core::AskForTime& wanted) const {
  Prolonging out{.time_ms = wanted.time_ms};
  for (const auto& node : wanted.nodes) {
    if (const auto job = book_.job_of(node); !job.empty()) out.nodes[job].push_back(node);
  }
  if (out.nodes.empty()) return say::slurm_has_none_of_them();
  const auto parent_ms = parent_left_ms();
  for (const auto& [job, nodes] : out.nodes) {
    out.jobs.insert(job);
    if (parent_ms == 0 || job == book_.parent()) continue;
    const auto ends_ms = last_end_ms(nodes);
    const auto parent_end_ms = clock_.now_ms() + parent_ms;
    const auto room_ms = parent_end_ms > ends_ms ? parent_end_ms - ends_ms : 0;
    if (room_ms < kSecondMs) return say::slurm_no_longer_than(book_.parent());
    out.cut = out.cut || room_ms < out.time_ms;
    out.time_ms = at_most_u32(std::min<std::uint64_t>(room_ms, out.time_ms));
  }
  return out;
}

// Somebody may have prolonged it since it was looked at: then nobody is cut short for nothing.
bool SlurmManager::parent_may_last_longer() const {
  return parent_left_ms() > 0 && clock_.now_ms() >= parent_looked_ms_ + kStaleMs;
}

void SlurmManager::look_at_parent(std::function<void()> then) {
  const auto job = book_.parent();
  control_.show(job, [this, job, age = book_.age(job),
                      then = std::move(then)](const Result<SlurmJob>& closer) {
    parent_looked_ms_ = clock_.now_ms();
    looked_closer(job, age, closer);
    then();
  });
}

// What Slurm gives already, because it counts in minutes, is not asked for again.
void SlurmManager::prolong(std::uint32_t number, const std::string& job) {
  const auto& prolonging = prolongings_.at(number);
  const auto slurms_end_ms = book_.ends_s(job).value_or(0) * kSecondMs;
  const auto needed_ms =
      last_end_ms(prolonging.nodes.at(job)) + prolonging.time_ms + kBeforeTheEndMs;
  if (slurms_end_ms == 0 || needed_ms <= slurms_end_ms) {
    return prolonged(number, job, ok_status());
  }
  book_.begin_order(job);
  const auto minutes = minutes_for(needed_ms - slurms_end_ms);
  control_.prolong(job, minutes, [this, number, job](const Status& status) {
    if (!status) {
      prolonged(number, job, status);
      book_.end_order(job);
      return see_to(job);
    }
    control_.show(job, [this, number, job](const Result<SlurmJob>& closer) {
      if (closer && closer->life == SlurmLife::kRuns) on_new_end(number, *closer);
      prolonged(number, job, ok_status());
      book_.end_order(job);
      see_to(job);
    });
  });
}

// Those that are prolonged have what they are told next, and not what Slurm makes of it.
void SlurmManager::on_new_end(std::uint32_t number, const SlurmJob& job) {
  if (const auto found = prolongings_.find(number); found != prolongings_.end()) {
    for (const auto& node : found->second.nodes.at(job.id)) book_.promise(node, end_ms(node));
  }
  tell(job.id, book_.update(job, true));
}

std::uint64_t SlurmManager::end_ms(const std::string& node) const {
  if (const auto promised = book_.promised_ms(node)) return *promised;
  const auto job_ms = book_.ends_s(book_.job_of(node)).value_or(0) * kSecondMs;
  return job_ms > kBeforeTheEndMs ? job_ms - kBeforeTheEndMs : 0;
}

std::uint64_t SlurmManager::last_end_ms(const std::vector<std::string>& nodes) const {
  std::uint64_t out = 0;
  for (const auto& node : nodes) out = std::max(out, end_ms(node));
  return out;
}

void SlurmManager::prolonged(std::uint32_t number, const std::string& job, const Status& status) {
  const auto found = prolongings_.find(number);
  if (found == prolongings_.end()) return;  // another of its jobs could not be prolonged
  if (!status) {
    prolongings_.erase(found);
    return listener_.on_refused(number, status.error());
  }
  auto& prolonging = found->second;
  prolonging.jobs.erase(job);
  if (!prolonging.jobs.empty()) return;
  const auto done = std::move(prolongings_.extract(found).mapped());
  for (const auto& [of, nodes] : done.nodes) {
    for (const auto& node : nodes) {
      if (const auto until = book_.promised_ms(node)) book_.promise(node, *until + done.time_ms);
    }
  }
  listener_.on_time_granted(number, done.time_ms, done.cut);
}

// ---- giving back ----

void SlurmManager::give_back(const core::ReturnNodes& order) {
  Return back{.number = order.number, .jobs = book_.give_back(order.nodes, order.never_joined)};
  if (back.jobs.empty()) {
    const bool slurm_has_them = std::ranges::all_of(
        order.nodes, [this](const auto& node) { return book_.job_of(node).empty(); });
    return listener_.on_returned(
        order.number, slurm_has_them ? core::ReturnVerdict::kTaken : core::ReturnVerdict::kDeclined,
        "");
  }
  const auto jobs = back.jobs;
  for (const auto& job : jobs) {
    if (book_.is_busy(job)) back.late.insert(job);
  }
  returns_.push_back(std::move(back));
  for (const auto& job : jobs) see_to(job);
}

void SlurmManager::see_to(const std::string& job) {
  if (book_.is_busy(job)) return;
  take_up(job);
  auto order = book_.order_for(job);
  using What = SlurmBook::Order::What;
  switch (order.what) {
    case What::kNothing:
      return book_.can_shrink(job) ? settle_returns(job, core::ReturnVerdict::kTaken)
                                   : settle_returns(job, core::ReturnVerdict::kDeclined,
                                                    say::slurm_shrinks_no_more(job));
    case What::kCancel:
      drop(job);
      return settle_returns(job, core::ReturnVerdict::kTaken);
    case What::kKeep:
      listener_.on_note(say::slurm_keeps_nodes(job, order.kept));
      book_.was_resized(job, order);
      return settle_returns(job, core::ReturnVerdict::kDeclined,
                            say::slurm_keeps_nodes(job, order.kept));
    case What::kResize:
      return resize(job, std::move(order));
  }
}

// What came to go while another order was carried out is part of the next.
void SlurmManager::take_up(const std::string& job) {
  for (auto& back : returns_) back.late.erase(job);
}

void SlurmManager::resize(const std::string& job, SlurmBook::Order order) {
  book_.begin_order(job);
  const auto staying = order.staying;
  control_.resize(job, staying, [this, job, order = std::move(order)](const Status& status) {
    resized(job, order, status);
  });
  hurry();
}

// One that did not reach Slurm is tried again: the nodes are not ours to keep.
void SlurmManager::resized(const std::string& job, const SlurmBook::Order& order,
                           const Status& status) {
  book_.end_order(job);
  if (!book_.knows_job(job)) return;  // it is over, and who gave back was answered
  if (status) {
    retries_.erase(job);
    book_.was_resized(job, order);
    if (!order.kept.empty()) listener_.on_note(say::slurm_keeps_nodes(job, order.kept));
    settle_returns(job, core::ReturnVerdict::kTaken);
    return see_to(job);  // others may have come to go meanwhile
  }
  take_up(job);
  if (status.error().code == ErrorCode::kNotFound) {
    return settle_returns(job, core::ReturnVerdict::kTaken);  // that it is over will be seen
  }
  if (status.error().code == ErrorCode::kUnavailable) {
    settle_returns(job, core::ReturnVerdict::kDeferred, status.error().message);
    return try_again(job);
  }
  book_.cannot_resize(job);
  // Others may have come to go meanwhile: a job of which nothing is used goes as a whole.
  if (book_.order_for(job).what == SlurmBook::Order::What::kCancel) return see_to(job);
  listener_.on_note(say::slurm_cannot_shrink(job, order.leaving, status.error().message));
  settle_returns(job, core::ReturnVerdict::kDeclined, status.error().message);
}

void SlurmManager::try_again(const std::string& job) {
  auto& after_ms = retries_[job];
  after_ms = next_pause(after_ms);
  if (!waiting_.insert(job).second) return;
  clock_.after(after_ms, [this, job] {
    waiting_.erase(job);
    if (!finishing_) see_to(job);
  });
}

void SlurmManager::settle_returns(const std::string& job, core::ReturnVerdict verdict,
                                  const std::string& why) {
  for (auto& back : returns_) {
    if (back.late.contains(job) || back.jobs.erase(job) == 0) continue;
    if (verdict == core::ReturnVerdict::kTaken) continue;
    back.verdict = verdict;
    back.why = why;
  }
  std::vector<Return> done;
  std::erase_if(returns_, [&done](const Return& back) {
    if (back.jobs.empty()) done.push_back(back);
    return back.jobs.empty();
  });
  for (const auto& back : done) listener_.on_returned(back.number, back.verdict, back.why);
}

void SlurmManager::drop(const std::string& job) {
  book_.remove(job);
  retries_.erase(job);
  holds_.erase(job);
  if (unheld_.erase(job) > 0) cancel_left(job);
}

// What nobody holds any more is cancelled. That Slurm does not know it is as good.
void SlurmManager::cancel_left(const std::string& job) {
  const auto tries = ++left_[job];
  control_.cancel(job, settings_.job_name, [this, job, tries](const Status& status) {
    if (status || status.error().code == ErrorCode::kNotFound) {
      left_.erase(job);
      return;
    }
    if (finishing_ || !left_.contains(job)) return;
    if (tries == kMostCancels) {
      return listener_.on_note(say::slurm_jobs_may_be_left(settings_.job_name));
    }
    std::uint32_t pause_ms = 0;
    for (std::uint32_t i = 0; i < tries; ++i) pause_ms = next_pause(pause_ms);
    clock_.after(pause_ms, [this, job] {
      if (!finishing_ && left_.contains(job)) cancel_left(job);
    });
  });
}

void SlurmManager::finish(std::function<void(bool)> then) {
  finishing_ = true;
  finish_by_ms_ = clock_.now_ms() + settings_.settle_ms;
  finished_ = std::move(then);
  asks_.clear();
  looking_for_.clear();
  holds_.clear();
  for (const auto& job : std::exchange(unheld_, {})) left_.try_emplace(job, 0);
  clock_.after(kSlowEndMs, [this] {
    const auto more_ms = settings_.settle_ms - std::min(kSlowEndMs, settings_.settle_ms);
    if (finished_) listener_.on_note(say::slurm_is_waited_for(more_ms));
  });
  give_back_the_rest();
}

// Again and again: Slurm may be away for a while, and afterwards nobody is here to give back.
void SlurmManager::give_back_the_rest() {
  std::vector<std::string> jobs;
  for (const auto& [job, tries] : left_) jobs.push_back(job);
  for (const auto& job : jobs) cancel_left(job);
  const auto now_ms = clock_.now_ms();
  const auto time_ms = finish_by_ms_ > now_ms ? finish_by_ms_ - now_ms : 0;
  control_.settle(static_cast<std::uint32_t>(time_ms), [this](bool settled) {
    if ((settled && left_.empty()) || clock_.now_ms() >= finish_by_ms_) {
      return std::exchange(finished_, {})(settled && left_.empty());
    }
    clock_.after(kLastTriesMs, [this] { give_back_the_rest(); });
  });
}

}  // namespace tide::rm
