#include "sim/staged_files.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/world.hpp"

namespace tide::sim {

namespace {

constexpr std::uint64_t kPurpose = 0x66696C65;
constexpr std::uint64_t kWriteUs = 400;
constexpr std::uint64_t kRemoveUs = 2'000;

enum Act : std::uint64_t { kWrite, kRemove };

What what_of(HostId host, JobId job, Act act) {
  return What{What::Kind::kProcess, host, std::uint64_t{job.value()} << 32U | 0xF0U | act};
}

}  // namespace

bool StagedFiles::perform(HostId host, const core::Action& action) {
  if (const auto* order = std::get_if<core::StageFile>(&action)) {
    stage(host, *order);
  } else if (const auto* removal = std::get_if<core::RemoveJobFiles>(&action)) {
    remove(host, removal->job);
  } else {
    return std::holds_alternative<core::StopStaging>(action);
  }
  return true;
}

void StagedFiles::stage(HostId host, const core::StageFile& order) {
  const std::pair key{host, order.job};
  const auto number = order.chunk.number();
  Chance chance = world_.chance(kPurpose).of(order.job.value()).of(host);
  const bool bad = chance.below(100) < world_.plan_of(order.job).bad_disks;
  const auto fails_at = chance.between(1, kPiecesPerFile);
  const auto now = world_.schedule().now_us();
  auto& busy = busy_until_us_[key];
  busy = std::max(busy, now) + chance.of(number).between(1, kWriteUs);
  world_.schedule().after(busy - now, what_of(host, order.job, kWrite), [=, this] {
    world_.wake(host, [=, this] {
      core::FileStaged done{key.second, number, ok_status(), "a"};
      if (bad && number >= fails_at) {
        done.status = Error{ErrorCode::kSystem, "No space left on device"};
      } else {
        const auto had = pieces_[key]++;
        if (had + 1 != number) throw BrokenPromise("files come in order", "a piece is missing");
      }
      world_.post_to_daemon(host, done);
    });
  });
}

void StagedFiles::remove(HostId host, JobId job) {
  Chance chance = world_.chance(kPurpose + 1).of(job.value()).of(host);
  world_.schedule().after(chance.between(1, kRemoveUs), what_of(host, job, kRemove), [=, this] {
    world_.wake(host, [=, this] {
      pieces_.erase({host, job});
      busy_until_us_.erase({host, job});
      world_.post_to_daemon(host, core::FilesRemoved{job});
    });
  });
}

void StagedFiles::host_gone(HostId host) {
  std::erase_if(pieces_, [host](const auto& entry) { return entry.first.first == host; });
  std::erase_if(busy_until_us_, [host](const auto& entry) { return entry.first.first == host; });
}

// row:L3 a job is mapped when its files are there
void StagedFiles::require_all(HostId host, JobId job) const {
  const auto wanted = world_.plan_of(job).files * kPiecesPerFile;
  const auto found = pieces_.find({host, job});
  const auto there = found == pieces_.end() ? 0 : found->second;
  if (there == wanted) return;
  throw BrokenPromise(
      "processes find the files of their job",
      fmt::format("job {} has {} of {} pieces on host {}", job.value(), there, wanted, host));
}

bool StagedFiles::any_on(HostId host) const {
  const auto first = pieces_.lower_bound({host, JobId{}});
  return first != pieces_.end() && first->first.first == host;
}

void StagedFiles::add_to(Hash& hash) const {
  for (const auto& [key, pieces] : pieces_) {
    hash.add(key.first);
    hash.add(std::uint64_t{key.second.value()} << 32U | pieces);
  }
}

}  // namespace tide::sim
