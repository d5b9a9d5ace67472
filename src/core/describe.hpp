// Short names and one-line texts of events and actions: for the flight recorder and failpoints.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "core/actions.hpp"

namespace tide::core {

// "LinkUp" → "link_up": the name of the alternative that the variant holds.
template <class T>
constexpr std::string_view type_name() {
  constexpr std::string_view kBefore = "T = ";
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find(kBefore) + kBefore.size());
  text = text.substr(0, text.find_first_of(";]"));
  return text.substr(text.rfind(':') + 1);  // npos + 1 is 0: no namespace is shown
}
std::string snake_case(std::string_view camel);

template <class T>
const std::string& short_name() {
  static const std::string name = snake_case(type_name<T>());
  return name;
}

template <class Variant>
const std::string& name_of(const Variant& value) {
  return std::visit(
      [](const auto& v) -> const std::string& { return short_name<std::decay_t<decltype(v)>>(); },
      value);
}

// The name and what identifies it (rank, link, job …); never payload, never key material.
std::string describe(const HeadEvent& event);
std::string describe(const DaemonEvent& event);
std::string describe(const Action& action);

}  // namespace tide::core
