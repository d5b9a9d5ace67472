// Errors as values: a code for programs, a message for people.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "base/check.hpp"

namespace tide {

// The numbers go over the wire and into JSON; append only.
enum class ErrorCode : std::uint16_t {
  kOk = 0,
  kInvalidArgument = 1,  // what the user gave makes no sense
  kNotFound = 2,         // a named thing does not exist
  kAlreadyExists = 3,
  kPermissionDenied = 4,
  kUnavailable = 5,     // not now: shutting down, not yet ready
  kOutOfResources = 6,  // slots, descriptors, memory
  kTimedOut = 7,
  kConnectionLost = 8,
  kConnectionRefused = 9,
  kProtocol = 10,  // the peer broke the protocol or speaks another version
  kSystem = 11,    // a system call failed
  kInternal = 12,
  kNotSupported = 13,  // this DVM, or this build, does not do that
};

// "not-found", "timed-out" …: the stable names used in JSON error objects.
const char* error_code_name(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;

  bool operator==(const Error&) const = default;
};

// `what` followed by the text of errno value `errnum`.
Error system_error(std::string what, int errnum);

// Either a value or an Error. value() on an error is a programming mistake and ends the program.
template <class T>
class [[nodiscard]] Result {
 public:
  // Implicit, so that functions return a value or an Error as it is.
  // NOLINTBEGIN(google-explicit-constructor)
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
  // NOLINTEND(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & {
    TIDE_CHECK(ok());
    return std::get<0>(state_);
  }
  const T& value() const& {
    TIDE_CHECK(ok());
    return std::get<0>(state_);
  }
  T&& value() && {
    TIDE_CHECK(ok());
    return std::get<0>(std::move(state_));
  }
  const Error& error() const {
    TIDE_CHECK(!ok());
    return std::get<1>(state_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Error> state_;
};

struct Unit {
  bool operator==(const Unit&) const = default;
};
using Status = Result<Unit>;
inline Status ok_status() {
  return Unit{};
}

}  // namespace tide
