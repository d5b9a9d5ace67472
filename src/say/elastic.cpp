#include "say/elastic.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "say/starting.hpp"

namespace tide::say {

namespace {

std::string names(std::span<const std::string> nodes) {
  return name_list(nodes);
}

Error unavailable(std::string text) {
  return Error{ErrorCode::kUnavailable, std::move(text)};
}

}  // namespace

Error not_elastic() {
  return Error{ErrorCode::kNotSupported,
               fmt::format("this DVM keeps the nodes that it was started with: it is not "
                           "elastic{}tide up --elastic, or "
                           "prte --prtemca prte_elastic_mode 1, for one that grows and shrinks",
                           kTry)};
}

Error dvm_changes_no_more() {
  return unavailable("the DVM is ending and does not change its size any more");
}

Error dvm_not_ready_to_change() {
  return unavailable(
      fmt::format("the DVM is still starting{}again when tide status says that it is ready", kTry));
}

Error change_by_what(bool shrinks) {
  return invalid(fmt::format("neither how many nodes nor which ones, or more than one of these{}{}",
                             kTry,
                             shrinks ? "tide shrink --count 2, --host NODE,NODE or --alloc ID"
                                     : "tide grow --count 2, or --host NODE,NODE"));
}

Error node_is_leaving(std::string_view node) {
  return unavailable(fmt::format(
      "node {} is about to leave the DVM{}again when tide status does not show it any more", node,
      kTry));
}

Error no_such_node_to_release(std::string_view node, std::span<const std::string> there) {
  return Error{
      ErrorCode::kNotFound,
      fmt::format("the DVM has no node {}; nothing was released{}", quoted(node),
                  there.empty() ? "; it has no nodes at all"
                                : fmt::format("{}one of its nodes: {}", kTry, names(there)))};
}

Error no_such_allocation(std::string_view allocation) {
  return Error{ErrorCode::kNotFound,
               fmt::format("no node of the DVM belongs to an allocation {}; nothing was released{}"
                           "tide status shows which node came with which allocation",
                           quoted(allocation), kTry)};
}

Error too_few_nodes_to_release(std::uint32_t asked, std::size_t there) {
  const auto what =
      fmt::format("{} can't be released: the DVM has {}", counted(asked, "node", "nodes"),
                  there == 0 ? "none" : std::to_string(there));
  return invalid(there == 0 ? what : fmt::format("{}{}at most --count {}", what, kTry, there));
}

Error only_plain_host_names(std::string_view word) {
  return invalid(fmt::format(
      "{} does not name a host: relative and excluded ones mean nothing for hosts that are not in "
      "the DVM yet{}names, as in --host node7,node8:4",
      quoted(word), kTry));
}

Error bad_activation(std::string_view word) {
  return invalid(fmt::format(
      "{} does not say which nodes to activate{}+all, +n2 for two of them, file=NAME or "
      "names, as in --activate v3,v4",
      quoted(word), kTry));
}

Error not_to_be_activated(std::string_view host, std::span<const std::string> free) {
  return Error{
      ErrorCode::kNotFound,
      fmt::format("{} can't be activated: it is not in the pool of the DVM{}{}", quoted(host), kTry,
                  free.empty() ? "--add-host for other machines"
                               : fmt::format("one of these: {}", names(free)))};
}

Error order_too_large(std::size_t nodes) {
  return Error{
      ErrorCode::kOutOfResources,
      fmt::format("the order to leave for {} nodes does not fit into a message{}fewer at a "
                  "time, or a larger prte_max_msg_size",
                  nodes, kTry)};
}

Error no_resource_manager_answered(std::uint32_t waited_ms) {
  return Error{ErrorCode::kTimedOut,
               fmt::format("no resource manager answered within {}", human_duration_ms(waited_ms))};
}

std::string node_reported(std::string_view node, std::size_t done, std::size_t all) {
  return fmt::format("node {} has reported ({} of {})", node, done, all);
}

std::string node_has_left(std::string_view node, std::size_t left) {
  if (left == 0) return fmt::format("node {} has left", node);
  return fmt::format("node {} has left, {} to go", node, left);
}

std::string grown(std::span<const std::string> nodes, std::size_t now) {
  return fmt::format("grown by {}: {}; the DVM has {} now", counted(nodes.size(), "node", "nodes"),
                     names(nodes), now);
}

std::string others_have_come(std::span<const std::string> nodes, std::size_t now) {
  return fmt::format("{} {} come with another grow; the DVM has {} now", names(nodes),
                     nodes.size() == 1 ? "has" : "have", now);
}

std::string shrunk(const Departures& nodes, std::optional<std::size_t> now) {
  const auto one = [](const std::vector<std::string>& some) { return some.size() == 1; };
  std::string out;
  if (!nodes.left.empty()) {
    out += fmt::format("shrunk by {}: {}; ", counted(nodes.left.size(), "node", "nodes"),
                       names(nodes.left));
  }
  if (!nodes.left_already.empty()) {
    out += fmt::format("{} {} leaving already, and {} left; ", names(nodes.left_already),
                       one(nodes.left_already) ? "was" : "were",
                       one(nodes.left_already) ? "has" : "have");
  }
  if (!nodes.never_came.empty()) {
    out += fmt::format("{} never came, because the grow that was to bring {} failed; ",
                       names(nodes.never_came), one(nodes.never_came) ? "it" : "them");
  }
  if (!nodes.lost.empty()) {
    out += fmt::format("{} {} lost before; ", names(nodes.lost), one(nodes.lost) ? "was" : "were");
  }
  return now ? fmt::format("{}the DVM has {} now", out, *now) : out + "the DVM ends";
}

std::string grow_rolled_back() {
  return "the grow that it belongs to was rolled back";
}

std::string grow_failed(std::string_view why) {
  return fmt::format("the DVM has not grown, it is as it was before: {}", why);
}

std::string shrink_failed(std::string_view why) {
  return fmt::format("the DVM has not shrunk, all its nodes are there: {}", why);
}

std::string change_ended_with_dvm(std::string_view why) {
  return fmt::format("the DVM ends: {}", why);
}

std::string job_given_up_with_grow(std::string_view nspace, std::string_view why) {
  return fmt::format(
      "job {} was not launched: it waited for the DVM to grow, and that failed: {}{}it again: it "
      "runs on the nodes that are there",
      nspace, why, kTry);
}

std::string job_given_up_with_its_nodes(std::string_view nspace, std::string_view why) {
  return fmt::format(
      "job {} was not launched: the DVM could not be extended by the nodes that it asked for, and "
      "is "
      "as it was before: {}",
      nspace, why);
}

std::string job_gets_no_nodes(std::string_view nspace, std::string_view why) {
  return fmt::format("job {} was not launched: it does not get the nodes that it asked for: {}",
                     nspace, why);
}

std::string node_was_released() {
  return "it was released, and they did not end in time";
}

std::string node_released_under_job(std::string_view nspace, std::span<const std::string> nodes,
                                    std::string_view reason) {
  const bool one = nodes.size() == 1;
  const auto why = reason.empty()
                       ? std::string(one ? "this node is released" : "these nodes are released")
                       : fmt::format("a resource manager takes {} back: {}",
                                     one ? "this node" : "these nodes", reason);
  return fmt::format(
      "job {}: its processes on {} were ended because {}{}"
      "it again: it runs on the nodes that are left",
      nspace, names(nodes), why, kTry);
}

std::string waits_for_changes(std::size_t changes) {
  return fmt::format("it is held until the DVM has its new size ({} under way)",
                     counted(changes, "change", "changes"));
}

std::string waits_for_grant() {
  return "whether it gets the nodes that it asked for (--add-host, --add-hostfile, --activate) is "
         "not "
         "decided yet";
}

std::string waits_for_its_nodes() {
  return "the DVM is extended by the nodes that it asked for";
}

std::string grow_waits_for_reports(std::string_view what, std::span<const std::string> nodes) {
  return fmt::format("{}: no report yet from {}", what, names(nodes));
}

std::string grow_is_failing(std::string_view what, std::string_view why,
                            std::span<const std::string> nodes) {
  return fmt::format("{}: will fail, because {}; until then it is seen whether {} can come", what,
                     first_line(why), names(nodes));
}

std::string grow_waits_for_wiring(std::string_view what, std::span<const std::string> nodes,
                                  bool speak_for_others) {
  if (nodes.empty()) {
    return fmt::format("{}: not every daemon has acknowledged the new nodes", what);
  }
  return fmt::format("{}: {}", what, unacknowledged_by(nodes, speak_for_others));
}

std::string change_is_rolled_back(std::string_view what) {
  return fmt::format("{}: failed, and what was started is being ended", what);
}

std::string change_waits_for_grow(std::string_view what, std::span<const std::string> nodes) {
  return fmt::format("{}: waits until the grow has ended that brings {}", what, names(nodes));
}

std::string shrink_waits_for_processes(std::string_view what, std::span<const std::string> jobs) {
  return fmt::format("{}: processes there have to end, of {}", what, names(jobs));
}

std::string shrink_waits_for_departures(std::string_view what, std::span<const std::string> nodes) {
  return fmt::format("{}: not gone yet: {}", what, names(nodes));
}

std::string change_waits_for_managers(std::string_view what,
                                      std::span<const std::string> managers) {
  return fmt::format("{}: done; nodes go back, and this resource manager has not answered: {}",
                     what, names(managers));
}

std::string change_words(bool shrinks, std::uint32_t number, std::span<const std::string> nodes) {
  return fmt::format("{} {} ({})", shrinks ? "shrink" : "grow", number, names(nodes));
}

}  // namespace tide::say
