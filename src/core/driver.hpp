// Feeds one core: events are queued, taken one at a time, and the actions that follow are carried
// out before the next. Effects may post events while they act; nothing is ever re-entered.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <utility>

#include "core/actions.hpp"

namespace tide::core {

// What stands behind the driver: sockets and processes, or the simulator's world.
class Effects {
 public:
  virtual ~Effects() = default;
  virtual void perform(Action action) = 0;
};

// Sees every step; the flight recorder and the simulator's checkers are such.
template <class Event>
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  virtual void on_step(const Event& event, const Actions& actions, std::uint64_t now_ms) = 0;
};

template <class Core>
class Driver {
 public:
  using Event = typename Core::Event;

  Driver(Core& core, Effects& effects, std::function<std::uint64_t()> now_ms,
         StepObserver<Event>* observer = nullptr)
      : core_(core), effects_(effects), now_ms_(std::move(now_ms)), observer_(observer) {}

  // Queues the event and, unless a step is under way, works the queue off.
  void post(Event event) {
    queue_.push_back(std::move(event));
    if (busy_) return;
    busy_ = true;
    while (!queue_.empty()) {
      const Event next = std::move(queue_.front());
      queue_.pop_front();
      step(next);
    }
    busy_ = false;
  }

 private:
  void step(const Event& event) {
    const auto now = now_ms_();
    Actions actions = core_.on(event, now);
    if (observer_ != nullptr) observer_->on_step(event, actions, now);
    for (auto& action : actions) effects_.perform(std::move(action));
  }

  Core& core_;
  Effects& effects_;
  std::function<std::uint64_t()> now_ms_;
  StepObserver<Event>* observer_;
  std::deque<Event> queue_;
  bool busy_ = false;
};

}  // namespace tide::core
