#include "exec/stack_tracer.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <csignal>
#include <cstdint>
#include <deque>
#include <limits>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "exec/orphans.hpp"
#include "exec/output_pipe.hpp"
#include "exec/process_group.hpp"
#include "exec/thread_stacks.hpp"
#include "exec/warden_protocol.hpp"
#include "say/debugging.hpp"
#include "wire/limits.hpp"

namespace tide::exec {

namespace {

constexpr std::size_t kMostWords = 512;  // of gdb's complaints: they are for people
constexpr std::uint32_t kAll = std::numeric_limits<std::uint32_t>::max();  // what may be read

void set(EnvironmentBlock& environment, std::string_view name, const std::string& value) {
  wire::EnvDirective directive;
  directive.set_name(std::string(name));
  directive.set_value(value);
  environment.apply(directive);
}

std::string joined_lines(std::string_view text) {
  std::string out;
  for (const auto& line : split(text, '\n')) {
    if (trim(line).empty()) continue;
    out += (out.empty() ? "" : "; ") + std::string(trim(line));
  }
  return out;
}

}  // namespace

struct StackTracer::Order {
  explicit Order(asio::io_context& io) : end(io) {}

  std::deque<ProcRank> waiting;
  std::size_t unanswered = 0;
  asio::steady_timer end;
};

struct StackTracer::Debugger {
  Debugger(asio::io_context& io, core::ProcKey which, pid_t process)
      : proc(which), pid(process), deadline(io) {}

  core::ProcKey proc;
  pid_t pid;  // of the process
  ProcessGroup group;
  std::shared_ptr<OutputPipe> output;
  std::shared_ptr<OutputPipe> complaints;
  ThreadStacks stacks{kMaxStackTraceBytes};
  std::string words;
  asio::steady_timer deadline;
  bool late = false;
  int open_pipes = 2;
  bool ended = false;
  bool dropped = false;  // nobody wants to know what it shows
  int wait_status = 0;
};

StackTracer::StackTracer(asio::io_context& io, StackTracerConfig config,
                         StackTracerCallbacks callbacks)
    : io_(io), config_(std::move(config)), callbacks_(std::move(callbacks)) {}

StackTracer::~StackTracer() {
  stop_all();
}

void StackTracer::trace(const core::TraceProcs& order) {
  if (order.ranks.empty() || orders_.contains(order.job)) return;
  Order& entry = orders_.try_emplace(order.job, io_).first->second;
  entry.waiting.assign(order.ranks.begin(), order.ranks.end());
  entry.unanswered = order.ranks.size();
  entry.end.expires_after(config_.for_job);
  entry.end.async_wait([this, job = order.job](std::error_code error) {
    if (!error) end_order(job);
  });
  start_some();
}

// An answer may stop its job, so nothing is kept over it.
void StackTracer::start_some() {
  while (running_.size() < config_.side_by_side) {
    auto next = orders_.begin();
    while (next != orders_.end() && next->second.waiting.empty()) ++next;
    if (next == orders_.end()) return;
    const core::ProcKey proc{next->first, next->second.waiting.front()};
    next->second.waiting.pop_front();
    // Asked for now, because the number may be somebody else's once the process is reaped.
    const pid_t pid = callbacks_.pid_of(proc);
    if (pid == 0) {
      answer({.proc = proc});
    } else {
      start(proc, pid);
    }
  }
}

void StackTracer::start(core::ProcKey proc, pid_t pid) {
  const auto gdb = std::make_shared<Debugger>(io_, proc, pid);
  if (const Status started = launch(gdb); !started) {
    return answer(
        {.proc = proc, .pid = static_cast<std::uint32_t>(pid), .status = started.error()});
  }
  running_.emplace(proc, gdb);
  gdb->output->start();
  gdb->complaints->start();
  gdb->deadline.expires_after(config_.for_process);
  gdb->deadline.async_wait([weak = std::weak_ptr(gdb)](std::error_code error) {
    const auto self = weak.lock();
    if (!error && self) give_up(self);
  });
}

// The main thread comes first, because what is too much is cut at the end.
Status StackTracer::launch(const DebuggerPtr& gdb) {
  const std::weak_ptr weak = gdb;
  const auto closed = [this, weak] {
    const auto self = weak.lock();
    if (!self) return;
    --self->open_pipes;
    conclude(self);
  };
  gdb->output =
      std::make_shared<OutputPipe>(io_, kAll,
                                   OutputPipe::Callbacks{[weak](const Bytes& data) {
                                                           if (const auto self = weak.lock())
                                                             take_stacks(self, data.view());
                                                         },
                                                         closed});
  gdb->complaints = std::make_shared<OutputPipe>(
      io_, kAll,
      OutputPipe::Callbacks{[weak](const Bytes& data) {
                              const auto self = weak.lock();
                              if (self)
                                self->words +=
                                    data.view().substr(0, kMostWords - self->words.size());
                            },
                            closed});
  auto output = gdb->output->open();
  if (!output) return output.error();
  auto complaints = gdb->complaints->open();
  if (!complaints) return complaints.error();
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::array<std::string, 7> argv = {"gdb",
                                           "-nx",
                                           "-batch",
                                           "-p",
                                           std::to_string(gdb->pid),
                                           "-ex",
                                           "thread apply all -ascending bt"};
  EnvironmentBlock environment(config_.environment);
  set(environment, "DEBUGINFOD_URLS", "");  // symbols are not fetched from anywhere
  set(environment, "LC_ALL", "C.UTF-8");    // what it says is read here, too
  set(environment, kNamespaceVariable,
      config_.dvm_id + "@" + std::to_string(gdb->proc.job.value()));
  auto started =
      spawner_.spawn(SpawnRequest{.argv = argv,
                                  .environment = environment,
                                  .working_directory = {},
                                  .stdio = {null.get(), output->get(), complaints->get()},
                                  .parent_death_signal = SIGKILL});
  if (!started) return started.error();
  gdb->group = ProcessGroup(started->pid, std::move(started->pidfd));
  callbacks_.watch_child(started->pid, [this, gdb](int status) {
    reaped(gdb, status);
    if (!gdb->dropped) gdb_ended(gdb);  // else nobody may be there any more
  });
  return ok_status();
}

// A stack without end is not worth the time: gdb shows frame by frame.
void StackTracer::take_stacks(const DebuggerPtr& gdb, std::string_view piece) {
  gdb->stacks.take(piece);
  if (gdb->stacks.cut()) gdb->group.signal(SIGKILL);
}

void StackTracer::reaped(const DebuggerPtr& gdb, int wait_status) {
  gdb->group.leader_reaped();
  gdb->group.signal(SIGKILL);  // what it started
  gdb->ended = true;
  gdb->wait_status = wait_status;
}

// Concluded behind the reports about all who ended at the same time: why gdb saw nothing may be
// that the process has ended, too.
void StackTracer::gdb_ended(const DebuggerPtr& gdb) {
  gdb->output->finish();
  gdb->complaints->finish();
  asio::post(io_, [this, weak = std::weak_ptr(gdb)] {
    if (const auto self = weak.lock()) conclude(self);
  });
}

void StackTracer::conclude(const DebuggerPtr& gdb) {
  if (!gdb->ended || gdb->open_pipes > 0) return;
  const auto running = running_.find(gdb->proc);
  if (running == running_.end() || running->second != gdb) return;
  running_.erase(running);
  gdb->deadline.cancel();
  core::ProcTraced traced{.proc = gdb->proc, .pid = static_cast<std::uint32_t>(gdb->pid)};
  if (!gdb->stacks.empty()) {
    traced.text = gdb->stacks.text();
    traced.cut = gdb->stacks.cut() || gdb->late;
  } else if (gdb->late) {
    const auto limit = std::min(config_.for_process, config_.for_job);
    traced.status = say::gdb_takes_too_long(static_cast<std::uint64_t>(limit.count()));
  } else {
    const auto words = joined_lines(gdb->words);
    traced.status =
        say::gdb_shows_no_stack(words.empty() ? describe_wait_status(gdb->wait_status) : words);
  }
  answer(std::move(traced));
  start_some();
}

void StackTracer::answer(core::ProcTraced answer) {
  const auto order = orders_.find(answer.proc.job);
  if (order == orders_.end()) return;
  if (--order->second.unanswered == 0) orders_.erase(order);
  callbacks_.traced(std::move(answer));
}

void StackTracer::end_order(JobId job) {
  const auto order = orders_.find(job);
  if (order == orders_.end()) return;
  const auto waiting = std::exchange(order->second.waiting, {});
  for (const auto& [proc, gdb] : running_) {
    if (proc.job == job) give_up(gdb);
  }
  const auto waited = static_cast<std::uint64_t>(config_.for_job.count());
  for (const ProcRank rank : waiting) {
    const core::ProcKey proc{job, rank};
    answer({.proc = proc,
            .pid = static_cast<std::uint32_t>(callbacks_.pid_of(proc)),
            .status = say::gdb_takes_too_long(waited)});
  }
}

void StackTracer::give_up(const DebuggerPtr& gdb) {
  gdb->late = true;
  gdb->group.signal(SIGKILL);
}

// Its end is noticed all the same, and means nothing any more.
void StackTracer::drop(const DebuggerPtr& gdb) {
  gdb->dropped = true;
  gdb->group.signal(SIGKILL);
  gdb->output->close();
  gdb->complaints->close();
  gdb->deadline.cancel();
}

void StackTracer::stop(JobId job) {
  orders_.erase(job);
  std::erase_if(running_, [job](const auto& entry) {
    if (entry.first.job != job) return false;
    drop(entry.second);
    return true;
  });
  start_some();
}

void StackTracer::stop_all() {
  orders_.clear();
  for (const auto& [proc, gdb] : running_) drop(gdb);
  running_.clear();
}

}  // namespace tide::exec
