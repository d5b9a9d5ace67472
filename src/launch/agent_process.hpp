// A program that starts daemons elsewhere, run with pipes for its three streams: ssh for one
// machine, srun for many.
#pragma once

#include <sys/types.h>

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "exec/environment.hpp"
#include "exec/process_spawner.hpp"
#include "exec/secret.hpp"
#include "exec/unique_fd.hpp"

namespace tide::launch {

// Tells the end of a child to the function, with its wait status. For programs that reap all of
// their children in one place.
using ChildWatch = std::function<void(pid_t, std::function<void(int)>)>;

// Held by a shared pointer. Its destructor kills the program. Whoever uses it ignores SIGPIPE.
class AgentProcess : public std::enable_shared_from_this<AgentProcess> {
 public:
  // All come from the io_context.
  struct Callbacks {
    std::function<void(std::string_view)> heard;       // of standard output, as it came
    std::function<void(std::string_view)> complained;  // of standard error
    // Once and last: it is gone and was reaped, and all that it wrote was told before.
    std::function<void(int wait_status)> ended;
  };
  enum class Helpers {
    kEndWithIt,      // what is left of its process group is killed
    kTidyUpAfterIt,  // and must be let do so; signals are for the program alone
  };
  // Without a watch it is reaped here.
  AgentProcess(asio::io_context& io, Helpers helpers, ChildWatch watch_child, Callbacks callbacks);
  AgentProcess(const AgentProcess&) = delete;
  AgentProcess& operator=(const AgentProcess&) = delete;
  ~AgentProcess();

  // Once. After an error nothing was started and no callback comes.
  Status start(exec::ProcessSpawner& spawner, std::span<const std::string> argv,
               const exec::Environment& environment);
  // For its standard input, in the order of the calls. What nobody takes is wiped in the end.
  void write(exec::Secret text);
  // What was not written yet never will be.
  void close_input();
  void signal(int number) const;
  // Its process group, also when it is gone; 0: it never was.
  [[nodiscard]] pid_t group() const { return group_; }

 private:
  using Descriptor = asio::posix::stream_descriptor;
  using Taker = std::function<void(std::string_view)> Callbacks::*;
  enum class Was { kRead, kEmpty, kOver };

  Status take_pipes(exec::UniqueFd input, exec::UniqueFd output, exec::UniqueFd errors,
                    exec::UniqueFd pidfd);
  void watch();
  [[nodiscard]] bool has_ended() const;
  void listen(Descriptor& to, Taker take);
  Was read_once(Descriptor& from, Taker take);
  void read_what_is_left(Descriptor& in, Taker take);
  void write_next();
  void ended(int wait_status);
  void close_all();

  Helpers helpers_;
  ChildWatch watch_child_;
  Callbacks callbacks_;
  Descriptor input_;
  Descriptor output_;
  Descriptor errors_;
  Descriptor pidfd_;
  std::deque<exec::Secret> unsent_;  // the first is being written
  pid_t pid_ = 0;                    // while it is ours to signal
  pid_t group_ = 0;
};

}  // namespace tide::launch
