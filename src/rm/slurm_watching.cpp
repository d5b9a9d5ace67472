// What Slurm does without being asked: jobs that end, lose or get nodes, or may last longer.
#include <algorithm>
#include <utility>

#include "rm/slurm_manager.hpp"
#include "say/slurm.hpp"

namespace tide::rm {
namespace {

// For Slurm to say why a daemon has ended.
constexpr std::uint32_t kPatienceMs = 2'000;

}  // namespace

// Nodes that nobody here knows are not given to the DVM before it runs: they are free to be had.
void SlurmManager::start() {
  control_.show(book_.parent(), [this](const Result<SlurmJob>& job) {
    if (finishing_) return;
    if (!job) {
      listener_.on_note(say::slurm_job_not_seen(book_.parent(), job.error().message));
    } else if (job->life == SlurmLife::kOver) {
      over(job->id, job->state);
    } else if (job->life == SlurmLife::kRuns) {
      know_parent(*job);
      tell(job->id, {.gone = book_.update(*job, false).gone});
    }
  });
  hurry();
}

void SlurmManager::know_parent(const SlurmJob& job) {
  parent_ = job;
  parent_seen_ = true;
  parent_looked_ms_ = clock_.now_ms();
  cores_ = 0;
  for (const auto& host : job.nodes) cores_ = smaller_limit(cores_, host.slots);
  constexpr std::uint64_t kSecondMs = 1'000;
  const auto end_ms = job.ends_s.value_or(0) * kSecondMs;
  const auto now_ms = clock_.now_ms();
  listener_.on_parent_limit(end_ms > now_ms ? end_ms - now_ms : 0);
}

// ---- when to look ----

// One that comes soon is not put off: there may be a change every second.
void SlurmManager::hurry() {
  look_ms_ = settings_.first_look_ms;
  const bool soon = look_due_ms_ && *look_due_ms_ <= clock_.now_ms() + look_ms_;
  if (!soon) plan_look();
}

void SlurmManager::plan_look() {
  look_due_ms_ = clock_.now_ms() + look_ms_;
  clock_.after(look_ms_, [this, turn = ++look_turn_] {
    if (turn != look_turn_) return;
    look_due_ms_.reset();
    if (!finishing_) look();
  });
}

void SlurmManager::look() {
  if (looking_) return;  // the next one is planned when the answer is there
  looking_ = true;
  look_ms_ = std::min(2 * look_ms_, settings_.last_look_ms);
  control_.list([this](const Result<std::vector<SlurmRow>>& rows) {
    looking_ = false;
    if (finishing_) return;
    if (rows) compare(*rows);
    for (const auto& job : book_.free_lost(listener_.known())) see_to(job);
    plan_look();
  });
}

// Slurm knows before it ends anything, so one question is enough, for all nodes of the job.
void SlurmManager::look_why(const std::string& node, std::function<void()> then) {
  const auto job = book_.job_of(node);
  if (job.empty() || finishing_) return then();
  auto& [turn, waiting] = looks_[job];
  waiting.push_back(std::move(then));
  if (waiting.size() > 1) return;
  turn = ++closer_turn_;
  control_.show(job, [this, job, turn, age = book_.age(job)](const Result<SlurmJob>& closer) {
    looked_closer(job, age, closer);
    go_on(job, turn);
  });
  clock_.after(kPatienceMs, [this, job, turn] { go_on(job, turn); });
}

void SlurmManager::looked_closer(const std::string& job, std::uint64_t age,
                                 const Result<SlurmJob>& closer) {
  if (finishing_ || !book_.knows_job(job)) return;
  if (shows_end(closer)) return over(job, closer ? closer->state : "");
  const bool is_new = age == book_.age(job);  // else it may be of before an order
  if (closer && closer->life == SlurmLife::kRuns && is_new) learn(*closer);
}

void SlurmManager::go_on(const std::string& job, std::uint64_t turn) {
  const auto found = looks_.find(job);
  if (found == looks_.end() || found->second.turn != turn) return;
  const auto look = looks_.extract(found);
  for (const auto& then : look.mapped().waiting) then();
}

// ---- what is seen ----

// That a job is not in the list is no proof: a line may be lost, and the job may be another user's.
void SlurmManager::compare(const std::vector<SlurmRow>& rows) {
  std::set<std::string> unseen = {book_.parent()};
  for (auto& job : book_.children()) unseen.insert(std::move(job));
  for (const auto& row : rows) {
    unseen.erase(row.id);
    compare(row);
  }
  for (const auto& job : unseen) look_closer(job);
  look_for_queued(rows);
}

// Slurm may have lost its memory of a request for which salloc still waits.
void SlurmManager::look_for_queued(const std::vector<SlurmRow>& rows) {
  for (const auto& [number, ask] : asks_) {
    const bool listed = std::ranges::find(rows, ask.queued, &SlurmRow::id) != rows.end();
    if (ask.queued.empty() || listed) continue;
    control_.show(ask.queued, [this, asked = number, job = ask.queued](const auto& closer) {
      const auto found = asks_.find(asked);
      if (found == asks_.end() || found->second.queued != job || !shows_end(closer)) return;
      refuse(asked, say::slurm_job_was_lost(job, closer ? closer->state : ""));
    });
  }
}

void SlurmManager::compare(const SlurmRow& row) {
  const auto ask = std::ranges::find_if(
      asks_, [&row](const auto& entry) { return entry.second.queued == row.id; });
  if (ask != asks_.end()) return compare(ask->first, row);
  if (!book_.knows_job(row.id) || book_.is_busy(row.id)) return;
  if (row.life == SlurmLife::kOver || !book_.agrees(row)) look_closer(row.id);
}

void SlurmManager::compare(std::uint32_t number, const SlurmRow& row) {
  if (row.life == SlurmLife::kOver) {
    refuse(number, say::slurm_job_was_lost(row.id, row.state));
  } else if (row.life == SlurmLife::kWaits && slurm_waits_in_vain(row.reason)) {
    refuse(number, say::slurm_waits_for_ever(row.id, row.reason));
  } else if (row.life == SlurmLife::kWaits) {
    queued(number, say::slurm_job_waits(row.id, row.reason));
  } else if (row.life == SlurmLife::kComes) {
    queued(number, say::slurm_nodes_get_ready(row.id));
  } else {
    compare_running(number);
  }
}

// Slurm has granted it. That salloc says nothing of it may be the moment, or for good.
void SlurmManager::compare_running(std::uint32_t number) {
  auto& ask = asks_.at(number);
  if (!ask.runs_since_ms) {
    ask.runs_since_ms = clock_.now_ms();
    return hurry();
  }
  const bool silent = clock_.now_ms() >= *ask.runs_since_ms + settings_.silence_ms;
  if (settings_.silence_ms > 0 && silent) refuse(number, say::slurm_command_silent("salloc"));
}

void SlurmManager::look_closer(const std::string& job) {
  if (!book_.knows_job(job) || book_.is_busy(job) || is_coming(job)) return;
  control_.show(job, [this, job, age = book_.age(job)](const Result<SlurmJob>& closer) {
    looked_closer(job, age, closer);
  });
}

void SlurmManager::learn(const SlurmJob& job) {
  if (!book_.knows_job(job.id) || book_.is_busy(job.id)) return;
  const auto before = book_.ends_s(job.id);
  const bool is_parent = job.id == book_.parent();
  if (is_parent) know_parent(job);
  tell(job.id, book_.update(job, true));
  if (is_parent && before != job.ends_s) bound_children_anew(before, job.ends_s);
}

// Those that Slurm would let last longer than the parent did, or does now.
void SlurmManager::bound_children_anew(std::optional<std::uint64_t> before_s,
                                       std::optional<std::uint64_t> now_s) {
  const auto limit_s = std::min(before_s.value_or(UINT64_MAX), now_s.value_or(UINT64_MAX));
  for (const auto& child : book_.children()) {
    const bool outlasts = book_.ends_s(child).value_or(UINT64_MAX) > limit_s;
    if (outlasts && !book_.is_busy(child)) lease_moved(child, book_.used_of(child));
  }
}

void SlurmManager::tell(const std::string& job, SlurmBook::News news) {
  if (!news.gone.empty()) reclaimed(std::move(news.gone), say::slurm_took_nodes(job));
  if (!news.come.empty()) listener_.on_pushed(grant_of(std::move(news.come), {}));
  if (!news.moved.empty()) lease_moved(job, std::move(news.moved));
}

// Who was promised less than Slurm gives keeps to that. Nobody stays longer than the parent.
void SlurmManager::lease_moved(const std::string& job, std::vector<std::string> nodes) {
  const auto left = smaller_limit(left_ms(job), parent_left_ms());
  std::erase_if(nodes, [&](const auto& node) {
    const auto until = book_.promised_ms(node);
    if (until && (left == 0 || clock_.now_ms() + left >= *until)) return true;
    book_.promise(node, std::nullopt);
    return false;
  });
  if (nodes.empty()) return;
  listener_.on_lease_moved(std::move(nodes), left);
  hurry();
}

// Who held it has ended: with the job, or killed by somebody.
void SlurmManager::on_over(const std::string& job) {
  if (finishing_ || !book_.knows_job(job)) return;
  unheld_.insert(job);  // until the opposite is known: it may be given back meanwhile
  control_.show(job, [this, job](const Result<SlurmJob>& closer) {
    if (finishing_ || !book_.knows_job(job)) return;
    if (shows_end(closer)) return lost(job, closer ? closer->state : "");
    holds_.erase(job);
    hurry();
  });
}

// The DVM goes with the job that it was started in, unless nothing ever showed that this was one.
void SlurmManager::over(const std::string& job, const std::string& state) {
  if (job != book_.parent()) return lost(job, state);
  if (state.empty() && !parent_seen_) return;
  if (!std::exchange(parent_over_, true)) {
    listener_.on_parent_over(say::slurm_job_over(job, state));
  }
}

void SlurmManager::lost(const std::string& job, const std::string& state) {
  if (!book_.knows_job(job)) return;
  unheld_.erase(job);
  holds_.erase(job);
  retries_.erase(job);
  auto nodes = book_.remove(job);
  take_up(job);
  settle_returns(job, core::ReturnVerdict::kTaken);
  const auto ask = std::ranges::find_if(
      asks_, [&job](const auto& entry) { return entry.second.granted == job; });
  if (ask != asks_.end()) return refuse(ask->first, say::slurm_job_was_lost(job, state));
  if (!nodes.empty()) reclaimed(std::move(nodes), say::slurm_job_over(job, state));
}

void SlurmManager::reclaimed(std::vector<std::string> nodes, const std::string& reason) {
  refuse_without(nodes, reason);
  listener_.on_reclaimed(std::move(nodes), reason);
}

}  // namespace tide::rm
