// Stacks of processes of jobs, by gdb: a few at a time, each for a bounded time.
#pragma once

#include <sys/types.h>

#include <asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/actions.hpp"
#include "exec/environment.hpp"
#include "exec/process_spawner.hpp"

namespace tide::exec {

struct StackTracerConfig {
  std::string dvm_id;                               // marks what is started, see orphans.hpp
  Environment environment = current_environment();  // its PATH is searched for gdb
  std::size_t side_by_side = 4;
  std::chrono::milliseconds for_process = std::chrono::seconds(10);
  std::chrono::milliseconds for_job = std::chrono::seconds(25);  // all its processes together
};

struct StackTracerCallbacks {
  std::function<pid_t(core::ProcKey)> pid_of;    // of a process that has not been reaped; 0: it has
  std::function<void(core::ProcTraced)> traced;  // sometimes from inside a call
  // A child of ours: who reaps all children tells its wait status.
  std::function<void(pid_t, std::function<void(int)>)> watch_child;
};

class StackTracer {
 public:
  StackTracer(asio::io_context& io, StackTracerConfig config, StackTracerCallbacks callbacks);
  ~StackTracer();
  StackTracer(const StackTracer&) = delete;
  StackTracer& operator=(const StackTracer&) = delete;

  // Each process is answered once, unless it is stopped before.
  void trace(const core::TraceProcs& order);
  // Kills what looks at processes of the job.
  void stop(JobId job);
  void stop_all();

 private:
  struct Order;     // of one job
  struct Debugger;  // a gdb at one process
  using DebuggerPtr = std::shared_ptr<Debugger>;

  void start_some();
  void start(core::ProcKey proc, pid_t pid);
  Status launch(const DebuggerPtr& gdb);
  static void take_stacks(const DebuggerPtr& gdb, std::string_view piece);
  static void reaped(const DebuggerPtr& gdb, int wait_status);
  void gdb_ended(const DebuggerPtr& gdb);
  void conclude(const DebuggerPtr& gdb);
  void answer(core::ProcTraced answer);
  void end_order(JobId job);
  static void give_up(const DebuggerPtr& gdb);
  static void drop(const DebuggerPtr& gdb);

  asio::io_context& io_;
  StackTracerConfig config_;
  StackTracerCallbacks callbacks_;
  ProcessSpawner spawner_{"", std::nullopt};
  std::map<JobId, Order> orders_;
  std::map<core::ProcKey, DebuggerPtr> running_;
};

}  // namespace tide::exec
