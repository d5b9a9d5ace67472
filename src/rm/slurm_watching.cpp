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
    if (!job) {
      listener_.on_note(say::slurm_job_not_seen(book_.parent(), job.error().message));
    } else if (job->life == SlurmLife::kOver) {
      return listener_.on_parent_over(say::slurm_job_over(job->id, job->state));
    } else {
      know_parent(*job);
      const auto news = book_.update(*job, false);
      if (!news.gone.empty()) listener_.on_reclaimed(news.gone, say::slurm_took_nodes(job->id));
    }
  });
  hurry();
}

void SlurmManager::know_parent(const SlurmJob& job) {
  parent_ = job;
  parent_seen_ = true;
  cores_ = 0;
  for (const auto& host : job.nodes) cores_ = smaller_limit(cores_, host.slots);
  constexpr std::uint64_t kSecondMs = 1'000;
  const auto end_ms = job.ends_s.value_or(0) * kSecondMs;
  const auto now_ms = clock_.now_ms();
  listener_.on_parent_limit(end_ms > now_ms ? end_ms - now_ms : 0);
}

// ---- when to look ----

void SlurmManager::hurry() {
  look_ms_ = settings_.first_look_ms;
  plan_look();
}

void SlurmManager::plan_look() {
  clock_.after(look_ms_, [this, turn = ++look_turn_] {
    if (turn == look_turn_ && !finishing_) look();
  });
}

void SlurmManager::look() {
  look_ms_ = std::min(2 * look_ms_, settings_.last_look_ms);
  control_.list([this](const Result<std::vector<SlurmRow>>& rows) {
    if (finishing_) return;
    if (rows) compare(*rows);
    plan_look();
  });
}

// Slurm knows before it ends anything, so one question is enough, for all nodes of the job.
void SlurmManager::look_closer(const std::string& node, std::function<void()> then) {
  const auto job = book_.job_of(node);
  if (job.empty() || finishing_) return then();
  auto& waiting = looks_[job];
  waiting.push_back(std::move(then));
  if (waiting.size() > 1) return;
  control_.show(job, [this, job](const Result<SlurmJob>& closer) {
    if (!finishing_) looked_closer(job, closer);
    go_on(job);
  });
  clock_.after(kPatienceMs, [this, job] { go_on(job); });
}

void SlurmManager::looked_closer(const std::string& job, const Result<SlurmJob>& closer) {
  if (!closer || !book_.knows_job(job)) return;
  if (closer->life == SlurmLife::kRuns) return learn(*closer);
  if (closer->life != SlurmLife::kOver) return;
  if (job == book_.parent()) {
    return listener_.on_parent_over(say::slurm_job_over(job, closer->state));
  }
  lost(job, closer->state);
}

void SlurmManager::go_on(const std::string& job) {
  const auto waiting = looks_.extract(job);
  if (waiting.empty()) return;
  for (const auto& then : waiting.mapped()) then();
}

// ---- what is seen ----

void SlurmManager::compare(const std::vector<SlurmRow>& rows) {
  std::set<std::string> seen;
  for (const auto& row : rows) {
    seen.insert(row.id);
    compare(row);
  }
  for (const auto& job : std::set<std::string>(unheld_)) {
    if (!seen.contains(job)) lost(job, "");
  }
  if (!seen.contains(book_.parent())) look_for_parent();
}

void SlurmManager::compare(const SlurmRow& row) {
  for (const auto& [number, ask] : asks_) {
    if (!ask.job.empty() && ask.job == row.id && row.life == SlurmLife::kWaits) {
      return queued(number, row.reason);
    }
  }
  if (!book_.knows_job(row.id) || book_.is_busy(row.id)) return;
  if (row.life == SlurmLife::kOver) {
    if (row.id == book_.parent()) {
      return listener_.on_parent_over(say::slurm_job_over(row.id, row.state));
    }
    // Whoever holds it hears of it, too, and sooner.
    if (unheld_.contains(row.id)) lost(row.id, row.state);
    return;
  }
  if (book_.agrees(row)) return;
  control_.show(row.id, [this](const Result<SlurmJob>& job) {
    if (job && job->life == SlurmLife::kRuns && !finishing_) learn(*job);
  });
}

// A list without it is no proof: it may be another user's. That Slurm does not know it any more is.
void SlurmManager::look_for_parent() {
  control_.show(book_.parent(), [this](const Result<SlurmJob>& job) {
    if (finishing_) return;
    const bool unknown = !job && job.error().code != ErrorCode::kUnavailable && parent_seen_;
    if (!unknown && (!job || job->life != SlurmLife::kOver)) return;
    listener_.on_parent_over(say::slurm_job_over(book_.parent(), job ? job->state : ""));
  });
}

void SlurmManager::learn(const SlurmJob& job) {
  if (!book_.knows_job(job.id) || book_.is_busy(job.id)) return;
  if (job.id == book_.parent()) know_parent(job);
  auto news = book_.update(job, true);
  if (!news.gone.empty()) {
    listener_.on_reclaimed(std::move(news.gone), say::slurm_took_nodes(job.id));
  }
  if (!news.come.empty()) listener_.on_pushed(grant_of(std::move(news.come), {}));
  if (!news.moved.empty()) lease_moved(job.id, std::move(news.moved));
}

// The parent takes the DVM along. Who was promised less than Slurm gives keeps to that.
void SlurmManager::lease_moved(const std::string& job, std::vector<std::string> nodes) {
  if (job == book_.parent()) return;
  const auto left = left_ms(job);
  const auto promised = promised_ms_.find(job);
  if (promised != promised_ms_.end()) {
    if (left == 0 || clock_.now_ms() + left >= promised->second) return;
    promised_ms_.erase(promised);
  }
  listener_.on_lease_moved(std::move(nodes), left);
  hurry();
}

// Who held it has ended: with the job, or killed by somebody.
void SlurmManager::on_over(const std::string& job) {
  if (finishing_ || !book_.knows_job(job)) return;
  control_.show(job, [this, job](const Result<SlurmJob>& closer) {
    if (finishing_ || !book_.knows_job(job)) return;
    const bool unknown = !closer && closer.error().code == ErrorCode::kUnavailable;
    if (unknown || (closer && closer->life != SlurmLife::kOver)) {
      holds_.erase(job);
      unheld_.insert(job);
      return hurry();
    }
    lost(job, closer ? closer->state : "");
  });
}

void SlurmManager::lost(const std::string& job, const std::string& state) {
  unheld_.erase(job);
  holds_.erase(job);
  promised_ms_.erase(job);
  retries_.erase(job);
  auto nodes = book_.remove(job);
  settle_returns(job, core::ReturnVerdict::kTaken);
  if (!nodes.empty()) listener_.on_reclaimed(std::move(nodes), say::slurm_job_over(job, state));
}

}  // namespace tide::rm
