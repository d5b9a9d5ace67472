// The timers of one core on the event loop. A newer one of the same number replaces the older.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>

#include "core/actions.hpp"

namespace tide::rim {

class TimerWheel {
 public:
  TimerWheel(asio::io_context& io, std::function<void(core::TimerFired)> fired)
      : io_(io), fired_(std::move(fired)) {}

  void start(const core::StartTimer& request) {
    auto& timer = timers_[request.timer];
    timer = std::make_unique<asio::steady_timer>(io_);
    timer->expires_after(std::chrono::milliseconds(request.after_ms));
    timer->async_wait([this, request](std::error_code error) {
      if (error) return;
      timers_.erase(request.timer);
      fired_(core::TimerFired{request.timer, request.generation});
    });
  }
  void cancel_all() { timers_.clear(); }

 private:
  asio::io_context& io_;
  std::function<void(core::TimerFired)> fired_;
  std::map<std::uint64_t, std::unique_ptr<asio::steady_timer>> timers_;
};

}  // namespace tide::rim
