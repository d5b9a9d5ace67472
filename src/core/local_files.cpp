#include "core/local_files.hpp"

#include <utility>

#include "core/file_desk.hpp"

namespace tide::core {

void LocalFiles::take(const wire::FileChunk& chunk, const Bytes& data) {
  const JobId id{chunk.job()};
  if (chunk.number() == 1 && !jobs_.contains(id)) jobs_[id].participants = chunk.participants();
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return;
  Job& job = found->second;
  if (job.failed || job.removal != Removal::kNone) return;
  if (chunk.complete()) job.last = chunk.number();
  ++job.under_way;
  out_.emplace_back(StageFile{id, chunk, data});
}

void LocalFiles::handle(const FileStaged& event) {
  const auto found = jobs_.find(event.job);
  if (found == jobs_.end() || found->second.under_way == 0) return;
  Job& job = found->second;
  --job.under_way;
  if (job.removal == Removal::kWaits) return order_removal(event.job, job);
  if (job.failed) return;
  if (!event.status) {
    job.failed = true;
    wire::UpBody body;
    body.mutable_files_failed()->set_job(event.job.value());
    body.mutable_files_failed()->set_file(event.file);
    body.mutable_files_failed()->set_reason(event.status.error().message);
    head_.send_to_head(std::move(body), {});
  } else if (event.number % kFilesAckEvery == 0 || event.number == job.last) {
    contribute(event.job, job, wire::ReductionId::FILES_TAKEN, event.number);
  }
}

void LocalFiles::remove(const wire::RemoveFiles& order) {
  const JobId id{order.job()};
  if (order.forget()) {
    const auto found = jobs_.find(id);
    if (found == jobs_.end()) return;
    found->second.forgotten = true;
    if (found->second.removal == Removal::kDone) jobs_.erase(found);
    return;
  }
  Job& job = jobs_[id];
  if (job.removal != Removal::kNone) return;
  job.participants = order.participants();
  job.removal = Removal::kWaits;
  if (job.under_way > 0) out_.emplace_back(StopStaging{id});
  order_removal(id, job);
}

// A piece that is being written would come back after the rest is gone.
void LocalFiles::order_removal(JobId id, Job& job) {
  if (job.under_way > 0) return;
  job.removal = Removal::kOrdered;
  out_.emplace_back(RemoveJobFiles{id});
}

void LocalFiles::handle(const FilesRemoved& event) {
  const auto found = jobs_.find(event.job);
  if (found == jobs_.end() || found->second.removal != Removal::kOrdered) return;
  Job& job = found->second;
  job.removal = Removal::kDone;
  if (job.forgotten) {
    jobs_.erase(found);
  } else {
    contribute(event.job, job, wire::ReductionId::FILES_REMOVED, 0);
  }
}

void LocalFiles::contribute(JobId id, Job& job, wire::ReductionId::Kind kind,
                            std::uint32_t number) {
  wire::Reduction reduction;
  reduction.mutable_id()->set_kind(kind);
  reduction.mutable_id()->set_job(id.value());
  reduction.mutable_id()->set_attempt(number);
  wire::RankSet participants;
  if (participants.ParseFromString(job.participants)) {
    *reduction.mutable_participants() = std::move(participants);
  }
  reduction.add_contributions()->set_rank(self_.value());
  job.said = std::move(reduction);
  head_.contribute(*job.said);
}

void LocalFiles::contribute_again() {
  for (const auto& [id, job] : jobs_) {
    if (job.said) head_.contribute(*job.said);
  }
}

}  // namespace tide::core
