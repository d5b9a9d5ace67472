#include "core/describe.hpp"

#include <fmt/format.h>

#include <cctype>

namespace tide::core {

namespace {

std::string_view body_name(const wire::LinkMessage& message) {
  using M = wire::LinkMessage;
  switch (message.body_case()) {
    case M::kHello:
      return "hello";
    case M::kGoodbye:
      return "goodbye";
    case M::kReport:
      return "report";
    case M::kSnapshot:
      return "snapshot";
    case M::kAttach:
      return "attach";
    case M::kOperation:
      return "operation";
    case M::kOperationAck:
      return "operation_ack";
    case M::kResync:
      return "resync";
    case M::kWay:
      return "way";
    case M::kLetGo:
      return "let_go";
    case M::kUp:
      return "up";
    case M::kDown:
      return "down";
    case M::kReduction:
      return "reduction";
    case M::kHeartbeat:
      return "heartbeat";
    case M::kLaunchFailed:
      return "launch_failed";
    case M::BODY_NOT_SET:
      break;
  }
  return "empty";
}

// What tells one value of a type from another. Types without an overload are named only.
template <class T>
std::string details(const T& value) {
  if constexpr (requires { value.proc.job; }) {
    return fmt::format(" job {} process {}", value.proc.job.value(), value.proc.rank.value());
  } else if constexpr (requires { value.job.value(); }) {
    return fmt::format(" job {}", value.job.value());
  } else if constexpr (requires { value.rank.value(); }) {
    return fmt::format(" rank {}", value.rank.value());
  } else if constexpr (requires { value.client.value(); }) {
    return fmt::format(" client {}", value.client.value());
  } else if constexpr (requires { value.ask; }) {
    return fmt::format(" request {}", value.ask);
  } else if constexpr (requires { value.timer; }) {
    return fmt::format(" {}:{}", value.timer >> 32U, value.timer & UINT32_MAX);
  } else {
    return {};
  }
}
std::string details(const LinkUp& up) {
  return fmt::format(" {} to rank {}", up.link.value(), up.peer.value());
}
std::string details(const LinkDown& down) {
  return fmt::format(" {}: {}", down.link.value(), down.text);
}
std::string details(const ConnectFailed& failed) {
  return fmt::format(" rank {}: {}", failed.peer.value(), failed.text);
}
std::string details(const Connect& connect) {
  return fmt::format(" rank {}", connect.peer.value());
}
std::string details(const MessageIn& in) {
  return fmt::format(" {} {} +{}", in.link.value(), body_name(in.message), in.payload.size());
}
std::string details(const Send& out) {
  return fmt::format(" {} {} +{}", out.link.value(), body_name(out.message), out.payload.size());
}
std::string details(const CloseLink& close) {
  return fmt::format(" {}: {}", close.link.value(), close.text);
}
std::string details(const ClientMessage& message) {
  return fmt::format(" client {} kind {}", message.client.value(),
                     static_cast<int>(message.request.body_case()));
}
std::string details(const Note& note) {
  return " " + note.text;
}
std::string details(const Exit& exit) {
  return " " + exit.reason;
}

template <class Variant>
std::string describe_any(const Variant& value) {
  return std::visit(
      [](const auto& v) { return short_name<std::decay_t<decltype(v)>>() + details(v); }, value);
}

}  // namespace

std::string snake_case(std::string_view camel) {
  std::string out;
  for (const char c : camel) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isupper(byte) != 0 && !out.empty()) out += '_';
    out += static_cast<char>(std::tolower(byte));
  }
  return out;
}

std::string describe(const HeadEvent& event) {
  return describe_any(event);
}
std::string describe(const DaemonEvent& event) {
  return describe_any(event);
}
std::string describe(const Action& action) {
  return describe_any(action);
}

}  // namespace tide::core
