// The processes of jobs on this node: started, fed, read, signalled and reaped.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "core/actions.hpp"
#include "exec/environment.hpp"
#include "exec/job_sweeper.hpp"
#include "exec/process_spawner.hpp"
#include "exec/unique_fd.hpp"

namespace tide::exec {

// What the table reports, always from the io_context and never from inside a call of the table.
// Calls of the table are allowed in here. The exit of a process and the ends of its two streams
// come independently, in any order.
class ProcessHandler {
 public:
  virtual ~ProcessHandler() = default;
  virtual void on_spawned(core::ProcKey proc, pid_t pid) = 0;
  virtual void on_spawn_failed(core::ProcKey proc, Error error) = 0;
  virtual void on_exited(core::ProcKey proc, int exit_code, int signal) = 0;
  virtual void on_output(core::ProcKey proc, wire::Stream stream, Bytes data) = 0;
  virtual void on_output_closed(core::ProcKey proc, wire::Stream stream) = 0;
  virtual void on_input_taken(core::ProcKey proc, std::uint32_t bytes) = 0;
  virtual void on_swept(JobId job, std::uint32_t left_over) = 0;
};

struct ProcessTableConfig {
  std::string node;         // for messages
  std::string dvm_id = {};  // marks the processes of this DVM, see orphans.hpp
  std::optional<rlim_t> descriptor_limit =
      std::nullopt;  // from raise_descriptor_limit(); none: processes get ours
  Environment environment = current_environment();  // what directives are applied to
};

// One per program, used from the one thread that runs the io_context, which has to be the main
// thread: processes end with it. It makes the program a subreaper, reaps all its children, and
// ignores SIGPIPE. Calls about a process that is not in the table have no effect.
class ProcessTable {
 public:
  ProcessTable(asio::io_context& io, ProcessHandler& handler, ProcessTableConfig config);
  ~ProcessTable();  // ends all processes, without reports
  ProcessTable(const ProcessTable&) = delete;
  ProcessTable& operator=(const ProcessTable&) = delete;

  // Queues it; many are started in slices so that the thread stays responsive. Answered by
  // on_spawned or on_spawn_failed; after the latter the process is not in the table any more.
  // The process must not be in the table yet.
  void spawn(const core::SpawnProc& request);

  // To its process group; where it is still queued, as soon as it is started, except that SIGKILL
  // cancels the start.
  void signal(core::ProcKey proc, int number);

  void grant_output(core::ProcKey proc, wire::Stream stream, std::uint32_t bytes);
  void write_input(core::ProcKey proc, Bytes data);
  void close_input(core::ProcKey proc);  // after what was written before

  // Kills what is left of its process group and drops its pipes. Nothing is reported any more.
  void forget(core::ProcKey proc);

  // Ends what processes of the job, which must all have been forgotten, left behind outside of
  // their groups. Answered by on_swept, within a bound.
  void sweep(JobId job) { sweeper_.sweep(job); }

  // Of a process that is running, or has ended and was not reaped; else 0.
  [[nodiscard]] pid_t pid_of(core::ProcKey proc) const;

  // SIGKILL to all groups. Those still queued are reported as not started.
  void kill_all();

  // A child of this program that is no process of a job: it is left alone, and its end, which is
  // noticed here as that of all children, is told with its wait status.
  void watch_child(pid_t pid, std::function<void(int)> ended);
  // SIGKILL to whatever came to us as an orphan, of any job; how many there were.
  std::size_t kill_orphans();

  // Processes queued or started and not yet reaped, forgotten ones included.
  [[nodiscard]] std::size_t live() const { return queue_.size() + leaders_.size(); }

 private:
  struct Process;
  using ProcessPtr = std::shared_ptr<Process>;

  [[nodiscard]] ProcessPtr find(core::ProcKey proc) const;
  [[nodiscard]] bool is_known(pid_t pid) const;
  JobSweeper::Callbacks sweeper_callbacks();
  void schedule_starts();
  void start_some();
  void start(const ProcessPtr& process);
  Result<SpawnedProcess> launch(Process& process);
  void signal_group(Process& process, int number);
  static void drop(Process& process);
  static void finish_streams_if_dead(Process& process);
  void wait_for_children();
  void reap();
  void ended(pid_t pid, int status);

  asio::io_context& io_;
  ProcessHandler& handler_;
  ProcessSpawner spawner_;
  EnvironmentCache environments_;
  std::string node_;
  UniqueFd null_input_;
  asio::signal_set child_signals_;
  std::map<pid_t, std::function<void(int)>> watched_;  // children of no job
  JobSweeper sweeper_;
  std::map<core::ProcKey, ProcessPtr> processes_;
  std::deque<ProcessPtr> queue_;                   // not started yet, in order
  std::unordered_map<pid_t, ProcessPtr> leaders_;  // not reaped yet; null: forgotten
  bool starts_scheduled_ = false;
  // Handlers that outlive the table see that this is gone.
  std::shared_ptr<const bool> lifetime_ = std::make_shared<const bool>(true);
};

}  // namespace tide::exec
