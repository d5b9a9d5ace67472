// What the fuzzers of both cores share: time, timers, and promises about every action.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/flight_recorder.hpp"
#include "core/actions.hpp"
#include "core/describe.hpp"
#include "tests/fuzz/fuzz_input.hpp"

namespace tide::fuzz {

// Processes of a job that a fuzzer starts: more are slow, and no different.
inline constexpr std::uint32_t kMostProcesses = 24;

template <class Message>
void require_readable(const Message& message) {
  Message again;
  FUZZ_REQUIRE(again.ParseFromString(message.SerializeAsString()));
}

// What a core sends can be read by whoever gets it; what it does can be recorded.
inline void check_action(const core::Action& action) {
  FlightRecorder recorder(1);
  recorder.note(0, core::describe(action));
  wire::RecorderReply recorded;
  recorded.add_lines(recorder.lines().front().text);
  FUZZ_REQUIRE(recorded.lines(0).find('\n') == std::string::npos);
  require_readable(recorded);
  if (const auto* send = std::get_if<core::Send>(&action)) require_readable(send->message);
  if (const auto* reply = std::get_if<core::Reply>(&action)) require_readable(reply->reply);
  if (const auto* status = std::get_if<core::ReplyStatus>(&action)) require_readable(status->reply);
}

// The timers that are running, by number.
class RunningTimers {
 public:
  void take(const core::StartTimer& start) { generations_[start.timer] = start.generation; }
  [[nodiscard]] bool empty() const { return generations_.empty(); }
  // The one at a place, any number.
  core::TimerFired fire(std::size_t place) {
    auto chosen = generations_.begin();
    std::advance(chosen, static_cast<std::ptrdiff_t>(place % generations_.size()));
    const core::TimerFired fired{chosen->first, chosen->second};
    generations_.erase(chosen);
    return fired;
  }

 private:
  std::map<std::uint64_t, std::uint64_t> generations_;
};

}  // namespace tide::fuzz
