// Runs one core in a real program: the Driver, with failpoints on both sides of it and the flight
// recorder looking on.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/counters.hpp"
#include "base/failpoints.hpp"
#include "base/flight_recorder.hpp"
#include "core/describe.hpp"
#include "core/driver.hpp"

namespace tide::rim {

// Milliseconds on a clock that never jumps.
inline std::uint64_t steady_ms() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(since).count());
}

// Effects that can also fail an action, as a failpoint asks.
class RimEffects : public core::Effects {
 public:
  // Behaves as if the action had failed: posts the event that says so, or drops it.
  virtual void fail(core::Action action) = 0;
};

// Events pass the failpoint "event.NAME", actions "action.NAME"; NAME as in describe.hpp.
template <class Core>
class CoreHost : private core::Effects, private core::StepObserver<typename Core::Event> {
 public:
  using Event = typename Core::Event;

  CoreHost(asio::io_context& io, Core& core, RimEffects& effects, Failpoints failpoints,
           std::size_t recorder_lines, Counters& counters)
      : io_(io),
        effects_(effects),
        failpoints_(std::move(failpoints)),
        armed_(!failpoints_.names().empty()),
        recorder_(recorder_lines),
        events_(counters.counter("core.events")),
        actions_(counters.counter("core.actions")),
        driver_(core, *this, steady_ms, this) {}

  void post(Event event) {
    const std::string name = gate_name("event.", event);
    if (const auto point = failpoints_.meet(name)) {
      meet(*point, name, [this, e = std::move(event)](bool fail) mutable {
        if (!fail) driver_.post(std::move(e));
      });
      return;
    }
    driver_.post(std::move(event));
  }
  // Actions that a core returned outside of an event.
  void perform_all(core::Actions actions) {
    for (auto& action : actions) perform(std::move(action));
  }
  // Lets go what is held at this failpoint, in order; false if there is no such hold.
  bool release(const std::string& name) {
    if (!failpoints_.release(name)) return false;
    for (auto& resume : std::exchange(held_[name], {})) resume(false);
    return true;
  }
  // The program ends: what is still delayed never happens.
  void stop() {
    for (const auto& timer : delays_) timer->cancel();
  }
  [[nodiscard]] const FlightRecorder& recorder() const { return recorder_; }

 private:
  using Resume = std::function<void(bool fail)>;

  template <class Variant>
  std::string gate_name(const char* prefix, const Variant& value) const {
    return armed_ ? prefix + name_of(value) : std::string();
  }
  void meet(const Failpoint& point, const std::string& name, Resume resume) {
    recorder_.note(steady_ms(), "failpoint " + name);
    switch (point.kind) {
      case Failpoint::Kind::kHold:
        held_[name].push_back(std::move(resume));
        return;
      case Failpoint::Kind::kFail:
        resume(true);
        return;
      case Failpoint::Kind::kDelay: {
        auto timer = std::make_shared<asio::steady_timer>(io_);
        timer->expires_after(std::chrono::milliseconds(point.delay_ms));
        timer->async_wait([this, timer, resume = std::move(resume)](std::error_code error) {
          std::erase(delays_, timer);
          if (!error) resume(false);
        });
        delays_.push_back(std::move(timer));
        return;
      }
    }
  }

  void perform(core::Action action) override {
    const std::string name = gate_name("action.", action);
    if (const auto point = failpoints_.meet(name)) {
      meet(*point, name, [this, a = std::move(action)](bool fail) mutable {
        fail ? effects_.fail(std::move(a)) : effects_.perform(std::move(a));
      });
      return;
    }
    effects_.perform(std::move(action));
  }
  void on_step(const Event& event, const core::Actions& actions, std::uint64_t now_ms) override {
    events_.add();
    actions_.add(actions.size());
    recorder_.note(now_ms, describe(event));
    for (const auto& action : actions) recorder_.note(now_ms, "  " + describe(action));
  }

  asio::io_context& io_;
  RimEffects& effects_;
  Failpoints failpoints_;
  bool armed_;  // in ordinary use no name is ever made for a lookup
  FlightRecorder recorder_;
  Counter events_;
  Counter actions_;
  std::map<std::string, std::vector<Resume>> held_;
  std::vector<std::shared_ptr<asio::steady_timer>> delays_;
  core::Driver<Core> driver_;
};

}  // namespace tide::rim
