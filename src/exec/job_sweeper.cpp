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

// One that can't be ended within this is left over. Killing takes far less than a millisecond.
constexpr auto kPatience = std::chrono::milliseconds(2000);
// In a row, before the thread does anything else: orphans that ended leave us theirs.
constexpr int kMostLooks = 64;

}  // namespace

JobSweeper::JobSweeper(asio::io_context& io, std::string dvm_id, Callbacks callbacks)
    : io_(io), marker_(std::move(dvm_id) + "@"), callbacks_(std::move(callbacks)), timer_(io) {}

void JobSweeper::sweep(JobId job) {
  const auto now = Clock::now();
  pending_[job] = now + kPatience;
  pace_.start(now);
  look_soon();
}

void JobSweeper::orphan_ended(pid_t pid) {
  possible_owners_.erase(pid);
  if (!pending_.empty()) look_soon();
}

void JobSweeper::look_soon() {
  if (std::exchange(look_posted_, true)) return;
  asio::post(io_, [this, alive = std::weak_ptr(lifetime_)] {
    if (!alive.expired()) look();
  });
}

void JobSweeper::look() {
  look_posted_ = false;
  if (pending_.empty()) return;
  Left left;
  if (has_children()) left = end_orphans();
  const std::weak_ptr alive = lifetime_;
  report(left);
  if (alive.expired()) return;
  pace_.looked(Clock::now(), !pending_.empty());
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
        possible_owners_.erase(pid);
        again = true;
        continue;
      }
      const auto owner = owner_of(pid);
      if (owner ? running.contains(*owner) : may_be_of_running_job(pid, running)) continue;
      ::kill(pid, SIGKILL);
      ++(owner ? left.of[*owner] : left.of_nobody);
    }
  }
  return left;
}

std::optional<JobId> JobSweeper::owner_of(pid_t pid) const {
  const std::string name = environment_value(pid, kNamespaceVariable);
  if (!name.starts_with(marker_)) return std::nullopt;
  const std::string_view number = std::string_view(name).substr(marker_.size());
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc{} || end != number.data() + number.size()) return std::nullopt;
  return JobId(value);
}

bool JobSweeper::may_be_of_running_job(pid_t pid, const std::set<JobId>& running) {
  auto& owners = possible_owners_.try_emplace(pid, running).first->second;
  std::erase_if(owners, [&](JobId job) { return !running.contains(job); });
  return !owners.empty();
}

void JobSweeper::report(const Left& left) {
  const auto now = Clock::now();
  std::map<JobId, std::uint32_t> answers;
  std::erase_if(pending_, [&](const auto& entry) {
    const auto own = left.of.find(entry.first);
    const std::uint32_t count = left.of_nobody + (own == left.of.end() ? 0 : own->second);
    if (count > 0 && now < entry.second) return false;
    answers.emplace(entry.first, count);
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
