// How results of services travel: every message has a code, 0 for success, and a text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace tide::core {

template <class Message>
Status status_of(const Message& message) {
  if (message.error_code() == 0) return ok_status();
  return Error{static_cast<ErrorCode>(message.error_code()), message.error_message()};
}

template <class Message>
void set_status(Message& message, const Status& status) {
  if (status) return;
  message.set_error_code(static_cast<std::uint32_t>(status.error().code));
  message.set_error_message(status.error().message);
}

inline Error timed_out(std::string_view what) {
  return Error{ErrorCode::kTimedOut, std::string(what) + " took longer than its time-out allows"};
}

}  // namespace tide::core
