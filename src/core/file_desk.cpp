#include "core/file_desk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "say/staging.hpp"

namespace tide::core {

FileDesk::FileDesk(FileDeskConfig config, Verbosity verbosity, const Roster& roster,
                   DaemonPort& daemons, TimerBook& timers, FileDeskListener& listener, Actions& out)
    : config_(config),
      notes_(out, verbosity),
      roster_(roster),
      daemons_(daemons),
      timers_(timers),
      listener_(listener),
      out_(out) {}

FileDesk::Staging* FileDesk::find(JobId job) {
  const auto found = stagings_.find(job);
  return found == stagings_.end() ? nullptr : &found->second;
}

// ---- to the nodes ----

void FileDesk::begin(Order order) {
  const JobId job = order.job;
  Staging& staging = stagings_[job];
  RankSet participants;
  for (const Rank daemon : order.daemons) {
    participants.insert(daemon);
    staging.taken.emplace(daemon, 0);
  }
  staging.participants = participants.to_wire().SerializeAsString();
  staging.counted[0] = static_cast<std::uint32_t>(order.daemons.size());
  staging.order = std::move(order);
  waiting_.push_back(job);
  start_waiting();
}

void FileDesk::start_waiting() {
  while (sending_ < config_.jobs_at_once && !waiting_.empty()) {
    Staging* staging = find(waiting_.front());
    waiting_.pop_front();
    if (staging != nullptr && staging->step == Step::kWaiting) start(*staging);
  }
}

void FileDesk::start(Staging& staging) {
  staging.step = Step::kSending;
  ++sending_;
  if (!staging.order.files.empty()) return grant(staging);
  watch(staging.order.job);
  wire::FileChunk only_the_directory;
  staging.complete = true;
  send(staging, std::move(only_the_directory), {});
  progress(staging);
}

// The pieces that all daemons have.
std::uint32_t FileDesk::level(const Staging& staging) {
  return staging.counted.empty() ? staging.sent : staging.counted.begin()->first;
}

void FileDesk::grant(Staging& staging) {
  const std::uint32_t allowed = level(staging) + config_.window_chunks;
  if (staging.complete || allowed <= staging.granted) return;
  wire::ClientReply reply;
  reply.set_request(staging.order.request);
  reply.mutable_file_credit()->set_job(staging.order.job.value());
  reply.mutable_file_credit()->set_chunks(allowed - staging.granted);
  reply.mutable_file_credit()->set_chunk_bytes(config_.chunk_bytes);
  staging.granted = allowed;
  watch(staging.order.job);
  out_.emplace_back(Reply{staging.order.client, std::move(reply), {}});
}

void FileDesk::take(ClientId client, const wire::ClientFileChunk& chunk, const Bytes& data) {
  Staging* staging = find(JobId(chunk.job()));
  if (staging == nullptr || staging->step != Step::kSending || staging->order.client != client) {
    return;
  }
  const auto& files = staging->order.files;
  const bool expected = staging->file < files.size() && chunk.file() == staging->file &&
                        staging->sent < staging->granted && data.size() <= config_.chunk_bytes;
  if (!expected) return fail(*staging, say::files_out_of_order(staging->order.nspace));
  const auto& file = files[staging->file];
  if (!chunk.failure().empty()) {
    return fail(*staging, say::file_not_read(staging->order.nspace, file.name(), chunk.failure()));
  }
  wire::FileChunk down;
  if (!std::exchange(staging->in_file, true)) *down.mutable_begins() = file;
  down.set_last(chunk.last());
  if (chunk.last()) {
    staging->in_file = false;
    staging->complete = ++staging->file == files.size();
  }
  send(*staging, std::move(down), data);
  progress(*staging);  // there may be nobody to wait for
}

void FileDesk::send(Staging& staging, wire::FileChunk chunk, const Bytes& data) {
  chunk.set_job(staging.order.job.value());
  chunk.set_number(++staging.sent);
  chunk.set_complete(staging.complete);
  if (staging.sent == 1) chunk.set_participants(staging.participants);
  DaemonPort::Slices slices;
  slices.reserve(staging.taken.size());
  for (const auto& [daemon, number] : staging.taken) {
    *slices.emplace_back(daemon, wire::DownBody{}).second.mutable_file_chunk() = chunk;
  }
  daemons_.scatter(std::move(slices), nullptr, data);
}

void FileDesk::on_reduction(const wire::Reduction& reduction) {
  const JobId job{reduction.id().job()};
  Staging* staging = find(job);
  if (staging == nullptr) return;
  if (reduction.id().kind() == wire::ReductionId::FILES_REMOVED) {
    if (staging->step != Step::kRemoving) return;
    for (const auto& one : reduction.contributions()) staging->removing.erase(Rank(one.rank()));
    if (staging->removing.empty()) finish_removal(job);
    return;
  }
  for (const auto& one : reduction.contributions()) {
    advance(*staging, Rank(one.rank()), reduction.id().attempt());
  }
  progress(*staging);
}

// What a daemon says holds for all pieces before, too, so a word that was lost is made good by the
// next.
void FileDesk::advance(Staging& staging, Rank daemon, std::uint32_t number) {
  const auto found = staging.taken.find(daemon);
  if (found == staging.taken.end() || number <= found->second || number > staging.sent) return;
  if (--staging.counted[found->second] == 0) staging.counted.erase(found->second);
  ++staging.counted[number];
  found->second = number;
}

void FileDesk::drop(Staging& staging, Rank daemon) {
  const auto found = staging.taken.find(daemon);
  if (found == staging.taken.end()) return;
  if (--staging.counted[found->second] == 0) staging.counted.erase(found->second);
  staging.taken.erase(found);
}

void FileDesk::progress(Staging& staging) {
  if (staging.step != Step::kSending) return;
  if (!staging.complete || level(staging) < staging.sent) return grant(staging);
  staging.step = Step::kStaged;
  --sending_;
  timers_.cancel(TimerKind::kFiles, staging.order.job.value());
  const auto files = staging.order.files.size();
  const auto nodes = staging.taken.size();
  listener_.on_files_staged(staging.order.job,
                            fmt::format("{} on {}", say::counted(files, "file", "files"),
                                        say::counted(nodes, "node", "nodes")));
  start_waiting();
}

void FileDesk::on_failed(Rank daemon, const wire::FilesFailed& failed) {
  Staging* staging = find(JobId(failed.job()));
  if (staging == nullptr || !staging->taken.contains(daemon)) return;
  fail(*staging,
       say::file_not_staged(staging->order.nspace, place(daemon), failed.file(), failed.reason()));
}

void FileDesk::fail(Staging& staging, std::string message) {
  if (staging.step != Step::kSending) return;
  staging.step = Step::kFailed;
  --sending_;
  timers_.cancel(TimerKind::kFiles, staging.order.job.value());
  listener_.on_files_failed(staging.order.job, std::move(message));
  start_waiting();
}

void FileDesk::on_node_lost(Rank daemon) {
  std::vector<JobId> jobs;
  for (const auto& [job, staging] : stagings_) jobs.push_back(job);
  for (const JobId job : jobs) {
    Staging* staging = find(job);
    if (staging == nullptr) continue;
    drop(*staging, daemon);
    if (staging->step != Step::kRemoving) {
      progress(*staging);
    } else if (staging->removing.erase(daemon) > 0 && staging->removing.empty()) {
      finish_removal(job);
    }
  }
}

// ---- away from them ----

bool FileDesk::remove(JobId job) {
  Staging* staging = find(job);
  if (staging == nullptr) return true;
  if (staging->step == Step::kRemoving) return false;
  const bool was_sending = staging->step == Step::kSending;
  staging->step = Step::kRemoving;
  if (was_sending) --sending_;
  if (staging->sent == 0 || staging->taken.empty()) {
    timers_.cancel(TimerKind::kFiles, job.value());
    stagings_.erase(job);
    start_waiting();
    return true;
  }
  for (const auto& [daemon, number] : staging->taken) staging->removing.insert(daemon);
  watch(job);
  order_removal(*staging, false);
  start_waiting();
  return false;
}

void FileDesk::order_removal(const Staging& staging, bool forget) {
  DaemonPort::Slices slices;
  for (const auto& [daemon, number] : staging.taken) {
    auto* order = slices.emplace_back(daemon, wire::DownBody{}).second.mutable_remove_files();
    order->set_job(staging.order.job.value());
    order->set_forget(forget);
    if (!forget) order->set_participants(staging.participants);
  }
  if (!slices.empty()) daemons_.scatter(std::move(slices), nullptr, {});
}

void FileDesk::finish_removal(JobId job) {
  Staging* staging = find(job);
  order_removal(*staging, true);
  timers_.cancel(TimerKind::kFiles, job.value());
  stagings_.erase(job);
  listener_.on_files_removed(job);
}

void FileDesk::abandon(JobId job) {
  if (remove(job)) return;
  order_removal(*find(job), true);
  timers_.cancel(TimerKind::kFiles, job.value());
  stagings_.erase(job);
}

// ---- time ----

void FileDesk::watch(JobId job) {
  out_.emplace_back(timers_.arm(TimerKind::kFiles, config_.timeout_ms, job.value()));
}

bool FileDesk::handle_timer(TimerKind kind, std::uint32_t subject) {
  if (kind != TimerKind::kFiles) return false;
  Staging* staging = find(JobId(subject));
  if (staging == nullptr) return true;
  if (staging->step == Step::kRemoving) {
    notes_.add(Subsystem::kErrmgr, 0, "job {}: its files on {} are not removed in time",
               staging->order.nspace, place(*staging->removing.begin()));
    finish_removal(JobId(subject));
  } else {
    fail(*staging, say::files_stalled(staging->order.nspace, config_.timeout_ms,
                                      whom_it_waits_for(*staging)));
  }
  return true;
}

bool FileDesk::is_behind(const Staging& staging, std::uint32_t taken) {
  const auto spoken_of =
      staging.complete ? staging.sent : staging.sent - staging.sent % kFilesAckEvery;
  return taken < spoken_of;
}

std::string FileDesk::whom_it_waits_for(const Staging& staging) const {
  for (const auto& [daemon, number] : staging.taken) {
    if (is_behind(staging, number)) return place(daemon);
  }
  return "the command that has them";
}

std::string FileDesk::place(Rank daemon) const {
  const auto node = roster_.nodes().find(daemon);
  return node == roster_.nodes().end() ? "a lost node" : "node " + node->second.name;
}

std::optional<FileDesk::Wait> FileDesk::wait_of(JobId job) const {
  const auto found = stagings_.find(job);
  if (found == stagings_.end()) return std::nullopt;
  const Staging& staging = found->second;
  if (staging.step == Step::kRemoving) {
    return Wait{true, {staging.removing.begin(), staging.removing.end()}};
  }
  if (staging.step != Step::kWaiting && staging.step != Step::kSending) return std::nullopt;
  Wait out;
  for (const auto& [daemon, number] : staging.taken) {
    if (is_behind(staging, number)) out.daemons.push_back(daemon);
  }
  return out;
}

bool FileDesk::has_all(JobId job, Rank daemon) const {
  const auto found = stagings_.find(job);
  if (found == stagings_.end()) return false;
  const Staging& staging = found->second;
  const auto taken = staging.taken.find(daemon);
  return staging.complete && taken != staging.taken.end() && taken->second == staging.sent;
}

}  // namespace tide::core
