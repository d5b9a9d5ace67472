// The files that jobs brought to one daemon: taken piece by piece, acknowledged, removed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/actions.hpp"
#include "core/hosted_jobs.hpp"

namespace tide::core {

class LocalFiles {
 public:
  LocalFiles(Rank self, HeadPath& head, Actions& out) : self_(self), head_(head), out_(out) {}

  void take(const wire::FileChunk& chunk, const Bytes& data);
  void remove(const wire::RemoveFiles& order);
  // A new path to the head: what it may not have heard goes again.
  void contribute_again();

  void handle(const FileStaged& event);
  void handle(const FilesRemoved& event);

  [[nodiscard]] std::size_t size() const { return jobs_.size(); }

 private:
  enum class Removal : std::uint8_t { kNone, kWaits, kOrdered, kDone };
  struct Job {
    std::string participants;
    std::uint32_t under_way = 0;  // pieces that are being written
    std::uint32_t last = 0;       // the number of the last one; 0: not known yet
    bool failed = false;
    Removal removal = Removal::kNone;
    bool forgotten = false;               // the head waits no longer
    std::optional<wire::Reduction> said;  // the latest; it holds for those before
  };

  void contribute(JobId id, Job& job, wire::ReductionId::Kind kind, std::uint32_t number);
  void order_removal(JobId id, Job& job);

  Rank self_;
  HeadPath& head_;
  Actions& out_;
  std::map<JobId, Job> jobs_;
};

}  // namespace tide::core
