#include "say/reserving.hpp"

#include <fmt/format.h>

#include <vector>

#include "base/text.hpp"
#include "say/pool.hpp"

namespace tide::say {

namespace {

// `a`, `a and b`, `a, b and c`.
std::string listed(std::span<const std::string> words) {
  if (words.size() < 2) return words.empty() ? "" : words.front();
  return fmt::format("{} and {}", join(words.first(words.size() - 1), ", "), words.back());
}

std::string but_there_already(std::span<const std::string> already) {
  if (already.empty()) return {};
  return fmt::format("; the DVM has or gets {} already", name_list(already));
}

std::vector<std::string> together(std::span<const std::string> some,
                                  std::span<const std::string> others) {
  std::vector<std::string> out(some.begin(), some.end());
  out.insert(out.end(), others.begin(), others.end());
  return out;
}

}  // namespace

// ---- tide alloc: refused before anybody is asked ----

Error needs_alloc_word() {
  return invalid(
      "one of these is needed: tide alloc new --count N, tide alloc extend --alloc ID, tide alloc "
      "release --alloc ID, tide alloc list, tide alloc cancel NAME");
}

Error only_for_alloc(std::string_view option, std::string_view word,
                     std::span<const std::string> words) {
  return invalid(
      fmt::format("{} is not for tide alloc {}; it is for {}", option, word, listed(words)));
}

Error extension_of_what() {
  return invalid(fmt::format(
      "which allocation is to be extended is not said{}tide alloc extend --alloc a1, or "
      "--request-id NAME; tide alloc list shows both",
      kTry));
}

Error release_of_what() {
  return invalid(
      fmt::format("neither an allocation nor nodes to release{}tide alloc release --alloc a1, "
                  "--request-id NAME, --count 2 or --host NODE,NODE",
                  kTry));
}

Error extended_by_nothing() {
  return invalid(fmt::format(
      "neither more nodes nor more time nor other terms{}--count 2, --host NODE,NODE or "
      "--time 10m; or --inherit or --warn, which change its terms",
      kTry));
}

Error extended_by_nodes_and_time(std::string_view nodes, std::string_view time) {
  return invalid(
      fmt::format("{} asks for more nodes and {} for more time, and one request can't have both{}"
                  "one after the other",
                  nodes, time, kTry));
}

Error which_request() {
  return invalid(fmt::format(
      "one request is needed{}tide alloc cancel NAME, as it was named by --request-id", kTry));
}

// ---- tide alloc: what has begun ----

std::string nodes_being_reserved(std::span<const std::string> nodes,
                                 std::span<const std::string> already,
                                 std::string_view allocation) {
  const auto all = together(nodes, already);
  return fmt::format("reserving {}: {} (allocation {}){}", counted(all.size(), "node", "nodes"),
                     name_list(all), allocation, but_there_already(already));
}

std::string nodes_are_reserved(std::span<const std::string> nodes, std::string_view allocation) {
  return fmt::format("reserved {}: {} (allocation {})", counted(nodes.size(), "node", "nodes"),
                     name_list(nodes), allocation);
}

std::string nodes_are_shared(std::span<const std::string> nodes, std::string_view allocation) {
  if (nodes.empty()) return nothing_to_change(nodes);
  return fmt::format("{} (allocation {})", nothing_to_change(nodes), allocation);
}

std::string allocation_gets_nodes(std::string_view allocation, std::span<const std::string> nodes,
                                  std::span<const std::string> already) {
  const auto all = together(nodes, already);
  return fmt::format("extending allocation {} by {}: {}{}", allocation,
                     counted(all.size(), "node", "nodes"), name_list(all),
                     but_there_already(already));
}

std::string allocation_has_nodes(std::string_view allocation, std::span<const std::string> nodes) {
  return fmt::format("allocation {} is extended by {}: {}", allocation,
                     counted(nodes.size(), "node", "nodes"), name_list(nodes));
}

std::string nodes_are_everybodys(std::span<const std::string> nodes) {
  return fmt::format("{} {} in the default session again", listed(nodes),
                     nodes.size() == 1 ? "is" : "are");
}

std::string terms_are_changed(std::string_view allocation) {
  return fmt::format("the terms of allocation {0} are changed; tide explain {0} shows them",
                     allocation);
}

std::string request_is_taken_back(std::string_view request) {
  return fmt::format("request {} is taken back; nobody gets nodes for it", quoted(request));
}

// ---- what is seen of an allocation ----

std::string no_allocations() {
  return "there is no allocation";
}

std::string made_for(bool reserved, std::string_view owner, std::string_view request,
                     std::uint64_t age_ms) {
  const auto name = request.empty() ? "" : fmt::format(", request {}", quoted(request));
  return fmt::format("{} for {}, {} ago{}", reserved ? "reserved" : "everybody's; made", owner,
                     human_duration_ms(age_ms), name);
}

std::string may_be_used_by(std::span<const std::string> owners) {
  return fmt::format("used, extended and released by: {}", name_list(owners));
}

std::string comes_of_owner(std::span<const std::string> derived) {
  return fmt::format("comes of its owner and has not ended: {}", name_list(derived));
}

std::string what_becomes_of_it(std::string_view inheritance, bool reserved, bool owner_ended) {
  const bool waits = inheritance.starts_with("child");
  const std::string_view then =
      inheritance.ends_with("default")
          ? (reserved ? "its nodes become everybody's" : "its nodes stay everybody's")
      : waits ? "its nodes go back"
              : "its nodes go back, also under jobs that run there";
  const std::string_view when = !waits ? "when its owner ends"
                                : owner_ended
                                    ? "its owner has ended, and when all that comes of it has"
                                    : "when its owner and all that comes of it have ended";
  return fmt::format("{}, {} ({})", when, then, inheritance);
}

// ---- jobs that are aimed at reservations ----

std::string may_use_sessions(std::span<const std::string> allocations, bool default_session) {
  std::vector<std::string> all(allocations.begin(), allocations.end());
  if (default_session) all.emplace_back("the default session");
  return fmt::format("may use the nodes of {}", listed(all));
}

Error target_without_name(std::string_view option, std::string_view text) {
  return invalid(
      fmt::format("{0} {1} has an entry without a name{2}{0} a1,a2, as tide alloc list shows them; "
                  "default is the default session",
                  option, quoted(text), kTry));
}

Error no_reservation_of_request(std::string_view request) {
  return not_found(
      fmt::format("no reservation is there that was asked for as {}{}tide alloc list shows those "
                  "that are",
                  quoted(request), kTry));
}

Error request_is_shared(std::string_view request, std::string_view allocation) {
  return not_found(
      fmt::format("allocation {}, asked for as {}, is no reservation: its nodes are everybody's{}"
                  "--target default, or no target",
                  allocation, quoted(request), kTry));
}

Error several_reservations_of_request(std::string_view request, std::span<const std::string> ids) {
  return invalid(fmt::format("{} reservations were asked for as {}{}one of them: --alloc-id {}",
                             ids.size(), quoted(request), kTry, fmt::join(ids, ", --alloc-id ")));
}

}  // namespace tide::say
