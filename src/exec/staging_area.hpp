// The files of jobs on the disk of this node: below one directory, each job's in one of its own.
#pragma once

#include <sys/types.h>

#include <asio/io_context.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/actions.hpp"
#include "exec/below.hpp"
#include "exec/process_spawner.hpp"
#include "exec/tree_remover.hpp"

namespace tide::exec {

// What it reports, sometimes from inside a call.
struct StagingCallbacks {
  std::function<void(core::FileStaged)> staged;
  std::function<void(JobId)> removed;
  // A child of ours: who reaps all children tells its wait status.
  std::function<void(pid_t, std::function<void(int)>)> watch_child;
};

class StagingArea {
 public:
  // `unpacker` is the program that unpacks archives.
  StagingArea(asio::io_context& io, std::string root, std::string unpacker,
              StagingCallbacks callbacks);
  StagingArea(const StagingArea&) = delete;
  StagingArea& operator=(const StagingArea&) = delete;

  void take(core::StageFile order);
  void stop(JobId job);
  void remove(JobId job);
  // At the end of the program, at once.
  void remove_all();

 private:
  struct Job {
    UniqueFd directory;
    wire::StagedFile file;  // whose pieces come
    std::unique_ptr<WrittenFile> open;
    std::deque<core::StageFile> queue;
    bool stopped = false;
    // While an archive is unpacked:
    pid_t unpacker = 0;
    std::uint32_t number = 0;
    UniqueFd complaints;
  };

  void run(JobId id);
  Status take(JobId id, Job& job, const core::StageFile& order);
  Status open_directory(JobId id, Job& job);
  Status unpack(JobId id, Job& job, std::uint32_t number);
  void unpacked(JobId id, int wait_status);
  void remove_some(JobId id, const std::shared_ptr<TreeRemover>& remover);

  asio::io_context& io_;
  std::string root_;
  std::string unpacker_;
  StagingCallbacks callbacks_;
  ProcessSpawner spawner_{"", std::nullopt};
  std::map<JobId, Job> jobs_;
};

}  // namespace tide::exec
