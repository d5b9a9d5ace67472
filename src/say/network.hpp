// Messages about networks: which interfaces are used, and who can't talk to whom.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/messages.hpp"

namespace tide::say {

// What prte_if_include or prte_if_exclude says, seen from one machine.
struct InterfaceChoiceFailure {
  std::string parameter;
  std::string value;
  std::string machine;
  std::vector<std::string> there;  // "eth0 10.77.0.3/16"
};
Error unknown_interface(const InterfaceChoiceFailure& failure, std::string_view name);
Error no_interface_left(const InterfaceChoiceFailure& failure);

struct FailedAttempt {
  std::string endpoint;  // "10.77.0.1:4711"
  std::string why;
};
// Both ends of connections that did not come about; goes on after words such as `cannot connect to
// the head: `.
std::string no_connection(std::string_view from, std::span<const std::string> own_addresses,
                          std::span<const FailedAttempt> attempts);
std::string no_answer_within(std::uint32_t waited_ms);

}  // namespace tide::say
