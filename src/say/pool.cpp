#include "say/pool.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace tide::say {

Error pool_without_elastic(std::string_view option) {
  return invalid(
      fmt::format("{} is for a DVM that grows, and this one would keep its nodes{}"
                  "--elastic with it",
                  option, kTry));
}

Error pool_of_virtual_nodes_and_hosts() {
  return invalid(
      fmt::format("--pool makes nodes of this machine, and the DVM is to have machines "
                  "that are named{}--pool-hostfile FILE",
                  kTry));
}

Error pool_hostfile_without_hosts() {
  return invalid(
      fmt::format("--pool-hostfile names machines, and the DVM is to start with nodes "
                  "made of this one{}--host or --hostfile with it, or --pool N",
                  kTry));
}

Error no_pool() {
  return Error{
      ErrorCode::kOutOfResources,
      fmt::format("the DVM has no pool that it could get more nodes from{}tide up "
                  "--elastic --pool N, or --pool-hostfile FILE, at its start; in a job of a "
                  "scheduler: tide up --elastic, without --nodes",
                  kTry)};
}

Error pool_has_too_few(std::uint32_t asked, std::size_t free) {
  const auto wanted = counted(asked, "node", "nodes");
  if (free == 0) {
    return Error{ErrorCode::kOutOfResources,
                 fmt::format("{} wanted, and the pool has none left{}tide shrink, which gives "
                             "nodes back to it",
                             wanted, kTry)};
  }
  return Error{ErrorCode::kOutOfResources,
               fmt::format("{} wanted, and the pool has {}{}--count {}", wanted, free, kTry, free)};
}

Error pool_node_taken(std::string_view node) {
  return Error{ErrorCode::kUnavailable,
               fmt::format("node {} is taken: the DVM has it, gets it or gives it back{}again when "
                           "tide status does not show it any more",
                           node, kTry)};
}

Error only_virtual_nodes(std::string_view host, std::span<const std::string> pool) {
  return not_found(fmt::format(
      "{} can't join: the DVM has nodes made of this machine only, {}{}{}", quoted(host),
      pool.empty() ? "and none is left in its pool"
                   : fmt::format("and in its pool {}", name_list(pool)),
      kTry, pool.empty() ? "tide up --elastic --host … for a DVM of machines" : "one of these"));
}

Error pool_node_not_in_dvm(std::string_view node, std::span<const std::string> there) {
  const auto text = fmt::format("the DVM has no node {} of the pool", quoted(node));
  if (there.empty()) return not_found(fmt::format("{}, nor any other", text));
  return not_found(fmt::format("{}{}one of these: {}", text, kTry, name_list(there)));
}

Error too_few_nodes_to_reclaim(std::uint32_t asked, std::size_t there) {
  const auto what =
      fmt::format("{} can't be taken back: the DVM has {} of the pool",
                  counted(asked, "node", "nodes"), there == 0 ? "none" : std::to_string(there));
  return invalid(there == 0 ? what : fmt::format("{}{}at most --count {}", what, kTry, there));
}

Error resource_manager_failed(std::string_view why) {
  return Error{ErrorCode::kUnavailable, fmt::format("the pool can't give nodes: {}", why)};
}

std::string reclaimed_by_pool() {
  return "the pool takes them back (tide pool reclaim)";
}

Error needs_pool_word() {
  return invalid(
      "one of these is needed: tide pool push --count N, tide pool reclaim --count N; --host LIST "
      "in place of --count N says which");
}

Error change_of_nothing(std::string_view program, bool shrinks) {
  return invalid(
      fmt::format("neither how many nodes nor which ones{}{} --count 2, or --host "
                  "NODE,NODE{}",
                  kTry, program, shrinks ? ", or --alloc ID" : ""));
}

Error change_by_two(std::string_view one, std::string_view other) {
  return invalid(fmt::format("{} and {} both say which nodes{}one of them", one, other, kTry));
}

Error names_of_nodes_only(std::string_view word, std::string_view option) {
  return invalid(fmt::format("{}: {} is no name of a node{}names only, as in {} v3,v4", option,
                             quoted(word), kTry, option));
}

std::string change_begun(bool shrinks, std::span<const std::string> nodes,
                         std::string_view allocation, std::span<const std::string> already) {
  std::string out;
  if (!nodes.empty()) {
    out = fmt::format("{} by {}: {} (allocation {})", shrinks ? "shrinking" : "growing",
                      counted(nodes.size(), "node", "nodes"), name_list(nodes), allocation);
  }
  if (already.empty()) return out;
  if (!out.empty()) out += "; ";
  if (!shrinks) return fmt::format("{}the DVM has or gets {} already", out, name_list(already));
  return fmt::format("{}{} {} leaving already", out, name_list(already),
                     already.size() == 1 ? "is" : "are");
}

std::string nothing_to_change(std::span<const std::string> nodes) {
  if (nodes.empty()) return "nothing to do: no node is left to take";
  return fmt::format("nothing to do: the DVM has {} already", name_list(nodes));
}

std::string allocation_is_over(std::string_view allocation) {
  return fmt::format("allocation {} is over; no node leaves with it", allocation);
}

std::string change_goes_on(bool shrinks, std::uint32_t number) {
  const std::string_view what = shrinks ? "shrink" : "grow";
  if (number == 0 && !shrinks) {
    return "interrupted; what was not granted yet is not asked for any more: tide status shows "
           "what was";
  }
  if (number == 0) return "interrupted; the shrink may still begin: tide status shows it";
  return fmt::format(
      "interrupted; the {} goes on: tide explain change:{} shows how far it is, tide status the "
      "nodes",
      what, number);
}

std::string pool_gives(std::span<const std::string> nodes, std::uint64_t lease_ms) {
  return fmt::format(
      "the pool gives the DVM {}: {}{}; tide status and tide events show how it goes",
      counted(nodes.size(), "node", "nodes"), name_list(nodes),
      lease_ms == 0 ? "" : fmt::format(" (for {})", human_duration_ms(lease_ms)));
}

std::string pool_takes_back(std::span<const std::string> nodes) {
  return fmt::format("the pool takes back {}: {}; tide status and tide events show how it goes",
                     counted(nodes.size(), "node", "nodes"), name_list(nodes));
}

std::string change_outcome_unknown(std::string_view why) {
  return fmt::format("whether it was done is not known: {}{}tide status shows the nodes there are",
                     first_line(why), kTry);
}

}  // namespace tide::say
