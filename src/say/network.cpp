#include "say/network.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace tide::say {
namespace {

// Machines have dozens of addresses at times, and this is for one line.
constexpr std::size_t kShown = 4;

std::string how_many_more(std::size_t all) {
  return all > kShown ? fmt::format(" and {} more", all - kShown) : "";
}

std::string there_are(const InterfaceChoiceFailure& failure) {
  return failure.there.empty() ? "it has none" : "it has " + name_list(failure.there);
}

}  // namespace

Error unknown_interface(const InterfaceChoiceFailure& failure, std::string_view name) {
  return not_found(
      fmt::format("{} names the interface {}, which {} does not have; {}{}"
                  "one of these, or, where names differ from machine to machine, a network such as "
                  "10.78.0.0/16",
                  failure.parameter, quoted(name), failure.machine, there_are(failure), kTry));
}

Error no_interface_left(const InterfaceChoiceFailure& failure) {
  return invalid(fmt::format(
      "{} {} leaves {} no address to listen on; {}{}names or networks that are there",
      failure.parameter, quoted(failure.value), failure.machine, there_are(failure), kTry));
}

std::string no_connection(std::string_view from, std::span<const std::string> own_addresses,
                          std::span<const FailedAttempt> attempts) {
  std::string text = fmt::format("from {}", from);
  if (!own_addresses.empty()) {
    text += fmt::format(
        " ({}{})", fmt::join(own_addresses.first(std::min(kShown, own_addresses.size())), ", "),
        how_many_more(own_addresses.size()));
  }
  std::string_view between = " ";
  for (const auto& attempt : attempts.first(std::min(kShown, attempts.size()))) {
    text += fmt::format("{}to {}: {}", between, attempt.endpoint, attempt.why);
    between = "; ";
  }
  return text + how_many_more(attempts.size());
}

std::string no_answer_within(std::uint32_t waited_ms) {
  return fmt::format("no answer within {}", human_duration_ms(waited_ms));
}

}  // namespace tide::say
