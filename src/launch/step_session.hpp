// One run of a scheduler's command: reaches `prted --step` on all machines of a group, gives them
// what they have to know and stays as long as their daemons live.
#pragma once

#include <sys/types.h>

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "exec/environment.hpp"
#include "exec/process_spawner.hpp"
#include "exec/secret.hpp"
#include "launch/agent_process.hpp"
#include "launch/step_book.hpp"

namespace tide::launch {

// How one of a step came to its end.
struct StepEnd {
  bool joined = false;  // it was up before
  bool greeted = false;
  bool other_protocol = false;
  bool timed_out = false;
  bool has_ended = false;       // it said so itself
  bool with_step = false;       // it is the command that ended, and it with it
  int wait_status = 0;          // of the daemon or of the command
  std::uint32_t waited_ms = 0;  // in vain
  std::string their_version;
  std::vector<std::string> words;
};

// Held by a shared pointer. Its destructor kills the command.
class StepSession : public std::enable_shared_from_this<StepSession> {
 public:
  // All come from the io_context. For each member `ended` comes once; `over` is the last.
  struct Callbacks {
    std::function<void(Rank, const std::string& version)> greeted;
    std::function<void(Rank, pid_t)> joined;
    std::function<void(Rank)> leaves;
    std::function<void(Rank, const StepEnd&)> ended;
    std::function<void()> over;  // the command is gone
  };
  struct Settings {
    std::uint32_t timeout_ms = 30'000;   // to be heard of, and again to have joined
    std::uint32_t orderly_end_ms = 500;  // for one that has joined to end as its links tell it
    ChildWatch watch_child = {};         // none: we reap it ourselves
  };
  StepSession(asio::io_context& io, Settings settings, const std::vector<StepMember>& members,
              Callbacks callbacks);
  StepSession(const StepSession&) = delete;
  StepSession& operator=(const StepSession&) = delete;
  ~StepSession();

  // Once. After an error nothing was started and no callback comes.
  Status start(exec::ProcessSpawner& spawner, std::span<const std::string> argv,
               const exec::Environment& environment, exec::Secret framed_blob);
  // Ends one of them: at once if it has not joined, else after a time in which it may end as its
  // links tell it. `ended` follows when it says so, or when the command is gone.
  void end(Rank rank);
  // The same for one that does not answer: it is taken for ended if it had joined. As long as it is
  // not known to have ended no order is sent to anybody.
  void give_up(Rank rank);
  // Ends all: cuts the life line, after the same time; what is left then is the scheduler's to
  // kill.
  void end();

  // The process group of the command; 0: it was not started.
  [[nodiscard]] pid_t group() const { return agent_ ? agent_->group() : 0; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Cut {
    Rank rank;
    Clock::time_point at;
  };

  void heard(std::string_view line);
  void greeted(const StepWord& word);
  void joined(const StepWord& word);
  void complained(std::string_view line);
  void tell_suspects();
  void member_ended(Rank rank, StepEnd end);
  void cut(Rank rank);
  void leave_out(Rank rank);
  [[nodiscard]] bool may_order() const;
  void cut_those_due();
  void arm(std::uint32_t after_ms);
  void overdue();
  void time_out(StepBook::State state, std::uint32_t waited_ms);
  void terminate();
  [[nodiscard]] std::uint32_t patience_ms() const;
  void command_ended(int wait_status);

  asio::io_context& io_;
  Settings settings_;
  Callbacks callbacks_;
  StepBook book_;
  LineReader output_;
  LineReader errors_;
  std::shared_ptr<AgentProcess> agent_;
  std::map<Rank, Clock::time_point> cut_;  // told to end, given up, or over
  std::deque<Cut> to_cut_;                 // in the order of their times
  std::set<Rank> given_up_;
  asio::steady_timer limit_;
  asio::steady_timer gather_;
  asio::steady_timer cuts_;
  std::uint32_t limit_ms_ = 0;  // of the wait that is under way
  bool all_greeted_ = false;
  bool ending_ = false;
  int signal_ = 0;  // the last that was sent
};

}  // namespace tide::launch
