// A program that is run for what it says: its output is kept, its input may be held open, and it
// does not run longer than it may. It is executed as it is, by no shell.
#pragma once

#include <sys/types.h>

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "exec/environment.hpp"
#include "exec/unique_fd.hpp"

namespace tide::exec {

struct CommandRequest {
  std::vector<std::string> argv{};
  Environment environment{};       // its PATH is searched
  std::uint32_t timeout_ms = 0;    // then it is ended; 0: it may last
  std::uint32_t grace_ms = 2'000;  // between SIGTERM and SIGKILL
  // Its input stays open until close_input(), or until we are no more; else it is empty. One that
  // is held so goes on alone when it is dropped: the end of its input is what tells it to end.
  bool holds_input = false;
  // Sent to it when the thread that started it ends; 0: none.
  int parent_death_signal = 0;
};

struct CommandEnd {
  int wait_status = 0;
  bool timed_out = false;
  std::string output{};  // the last of each, as much as is kept
  std::string errors{};
  [[nodiscard]] bool succeeded() const { return wait_status == 0 && !timed_out; }
};

// Held by a shared pointer; until it has ended it holds itself. To be used from one thread.
class Command : public std::enable_shared_from_this<Command> {
 public:
  // All come from the io_context. What is heard is all of it, as far as it is kept.
  struct Callbacks {
    std::function<void(const std::string&)> output = {};
    std::function<void(const std::string&)> errors = {};
    std::function<void(const CommandEnd&)> ended = {};  // once, the last
  };
  explicit Command(asio::io_context& io);
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  Command(Command&&) = delete;
  Command& operator=(Command&&) = delete;
  ~Command();

  // Once. After an error nothing was started and no callback comes.
  Status start(const CommandRequest& request, Callbacks callbacks);
  [[nodiscard]] pid_t pid() const { return pid_; }  // 0: it does not run
  void close_input();
  // SIGTERM, and SIGKILL if that does not help; `ended` follows.
  void terminate();
  // The same, unless it ends by itself before; 0: it has all time.
  void terminate_after(std::uint32_t after_ms) {
    if (after_ms > 0) arm(after_ms);
  }
  // From now on nothing is told but the end, and that to this one, if there is one.
  void forget(std::function<void(const CommandEnd&)> ended = {}) {
    callbacks_ = {.ended = std::move(ended)};
  }

 private:
  using Descriptor = asio::posix::stream_descriptor;
  using Heard = std::function<void(const std::string&)> Callbacks::*;

  Status take_streams(UniqueFd input, UniqueFd output, UniqueFd errors, UniqueFd pidfd);
  void listen(Descriptor& from, std::string& into, Heard heard);
  static std::optional<std::size_t> read_once(Descriptor& from, std::string& into);
  static void read_the_rest(Descriptor& from, std::string& into);
  void watch();
  void arm(std::uint32_t after_ms);
  void overdue();
  void signal(int number) const;
  void has_ended();

  Descriptor input_;
  Descriptor output_;
  Descriptor errors_;
  Descriptor pidfd_;
  asio::steady_timer timer_;
  Callbacks callbacks_;
  CommandEnd end_;
  std::uint32_t grace_ms_ = 0;
  pid_t pid_ = 0;  // while it is ours to signal
  bool holds_input_ = false;
  bool terminated_ = false;
};

}  // namespace tide::exec
