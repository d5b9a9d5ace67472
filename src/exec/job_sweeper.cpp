#include "exec/job_sweeper.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <asio/post.hpp>
#include <charconv>
#include <csignal>
#include <string_view>
#include <utility>

namespace tide::exec {
namespace {

// When none has ended for so long, those that are there can't be ended. Killing one takes far less
// than a millisecond, but there may be thousands.
constexpr auto kPatience = std::chrono::milliseconds(2000);
// In a row, before the thread does anything else: orphans that ended leave us theirs.
constexpr int kMostLooks = 4;

}  // namespace

JobSweeper::JobSweeper(asio::io_context& io, std::string dvm_id, Callbacks callbacks)
    : io_(io), marker_(std::move(dvm_id) + "@"), callbacks_(std::move(callbacks)), timer_(io) {}

void JobSweeper::sweep(JobId job) {
  pending_.insert(job);
  last_progress_ = Clock::now();
  pace_.start(last_progress_);
  look_soon();
}

void JobSweeper::orphan_ended(pid_t pid) {
  reaped(pid);
  if (pace_.running()) look_soon();
}

void JobSweeper::reaped(pid_t pid) {
  orphans_.erase(pid);
  last_progress_ = Clock::now();
}

void JobSweeper::look_soon() {
  if (std::exchange(look_posted_, true)) return;
  asio::post(io_, [this, alive = std::weak_ptr(lifetime_)] {
    if (!alive.expired()) look();
  });
}

void JobSweeper::look() {
  look_posted_ = false;
  Left left;
  if (has_children()) left = end_orphans();
  const std::weak_ptr alive = lifetime_;
  report(left);
  if (alive.expired()) return;
  pace_.looked(Clock::now(), left.of_nobody > 0 || !left.of.empty());
  wait();
}

JobSweeper::Left JobSweeper::end_orphans() {
  const std::set<JobId> running = callbacks_.running();
  Left left;
  bool again = true;
  for (int round = 0; again && round < kMostLooks; ++round) {
    again = false;
    left = Left{};
    for (const pid_t pid : child_pids()) {
      if (callbacks_.is_leader(pid)) continue;
      if (::waitpid(pid, nullptr, WNOHANG) == pid) {
        reaped(pid);
        again = true;
        continue;
      }
      Orphan& orphan = orphans_.try_emplace(pid, Orphan{{}, running}).first->second;
      if (!end_unless_wanted(pid, orphan, running)) continue;
      ++(orphan.owner ? left.of[*orphan.owner] : left.of_nobody);
    }
  }
  return left;
}

// True if it has to go, or may have to. Each is looked at closely once: there may be very many of
// them.
bool JobSweeper::end_unless_wanted(pid_t pid, Orphan& orphan, const std::set<JobId>& running) {
  if (orphan.killed) return true;
  if (!orphan.looked_at) read_owner(pid, orphan);
  if (!orphan.looked_at) return true;  // and be it that it has to be looked at again
  std::erase_if(orphan.possible_owners, [&](JobId job) { return !running.contains(job); });
  if (orphan.owner ? running.contains(*orphan.owner) : !orphan.possible_owners.empty()) {
    return false;
  }
  ::kill(pid, SIGKILL);
  orphan.killed = true;
  return true;
}

void JobSweeper::read_owner(pid_t pid, Orphan& orphan) const {
  const auto name = environment_value(pid, kNamespaceVariable);
  orphan.looked_at = name.has_value();
  if (!name || !name->starts_with(marker_)) return;
  const std::string_view number = std::string_view(*name).substr(marker_.size());
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error == std::errc{} && end == number.data() + number.size()) orphan.owner = JobId(value);
}

void JobSweeper::report(const Left& left) {
  const bool patient = Clock::now() < last_progress_ + kPatience;
  std::map<JobId, std::uint32_t> answers;
  std::erase_if(pending_, [&](JobId job) {
    const auto own = left.of.find(job);
    const std::uint32_t count = left.of_nobody + (own == left.of.end() ? 0 : own->second);
    if (count > 0 && patient) return false;
    answers.emplace(job, count);
    return true;
  });
  const std::weak_ptr alive = lifetime_;
  for (const auto& [job, count] : answers) {
    callbacks_.done(job, count);
    if (alive.expired()) return;
  }
}

// An end is noticed at once, by its signal; this is for those whose end we do not hear of.
void JobSweeper::wait() {
  if (!pace_.running()) {
    timer_.cancel();
    return;
  }
  timer_.expires_at(pace_.next());
  timer_.async_wait([this, alive = std::weak_ptr(lifetime_)](const asio::error_code& error) {
    if (!error && !alive.expired()) look();
  });
}

}  // namespace tide::exec
