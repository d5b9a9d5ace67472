// Ends processes one after the other.
//
// When two clients of a PMIx server end at the same moment while others of their job wait in a
// collective, libpmix 4.2.2 can use memory that it has freed, and its thread stands still for ever.
// So clients that we end get their signal when the one before is gone and libpmix has seen that.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "core/events.hpp"

namespace tide::rim {

class SignalQueue {
 public:
  using Deliver = std::function<void(core::ProcKey, int)>;
  // Calls its argument when libpmix has dealt with all that has happened so far.
  using Settle = std::function<void(std::function<void()>)>;

  SignalQueue(asio::io_context& io, Deliver deliver, Settle settle)
      : deliver_(std::move(deliver)), settle_(std::move(settle)), patience_(io) {}

  // Delivered in turn. A later signal takes the place of one that waits.
  void push(core::ProcKey proc, int signal);
  void ended(core::ProcKey proc);
  // What waits is dropped.
  void stop();

 private:
  void next();
  // Also where the signal does not end it, or libpmix does not answer.
  void go_on_at_last();

  Deliver deliver_;
  Settle settle_;
  std::deque<std::pair<core::ProcKey, int>> waiting_;
  std::optional<core::ProcKey> current_;
  std::uint64_t turn_ = 0;  // what comes for an earlier one is late
  asio::steady_timer patience_;
  // What libpmix calls late sees that this is gone.
  std::shared_ptr<const bool> lifetime_ = std::make_shared<const bool>(true);
};

}  // namespace tide::rim
