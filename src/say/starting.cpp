#include "say/starting.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace tide::say {

namespace {

std::string indented(std::string_view text) {
  std::string out;
  for (const char each : text) out += each == '\n' ? "\n  " : std::string(1, each);
  return out;
}

}  // namespace

std::string dvm_not_started(std::string_view why) {
  return fmt::format("the DVM could not be started: {}", why);
}

std::string node_not_started(std::string_view node, std::string_view why) {
  return fmt::format("node {} could not be started: {}", node, why);
}

std::string daemon_lost_at_start(bool grows, std::string_view node, std::string_view why) {
  return fmt::format("the daemon on node {} was lost while the DVM {}: {}", node,
                     grows ? "grew" : "started", why);
}

std::string daemon_ended_at_start(std::string_view node, std::string_view why) {
  return fmt::format("the daemon on node {} ended: {}", node, why);
}

std::string nodes_not_started(const std::vector<std::string>& reasons, std::size_t nodes,
                              const std::vector<std::string>& silent) {
  constexpr std::size_t kShown = 20;
  if (reasons.size() == 1 && silent.empty()) return reasons.front();
  std::string out = fmt::format("{} of {} nodes failed", reasons.size(), nodes);
  for (std::size_t i = 0; i < std::min(reasons.size(), kShown); ++i) {
    out += "\n  " + indented(reasons[i]);
  }
  if (reasons.size() > kShown) out += fmt::format("\n  and {} more", reasons.size() - kShown);
  if (!silent.empty()) out += "\n  not heard of by then: " + name_list(silent);
  return out;
}

std::string same_machine(std::string_view node, std::string_view other) {
  return fmt::format("node {} is the machine of node {}: they are one node with both names", node,
                     other);
}

std::string not_needed(std::string_view node) {
  return fmt::format("this machine is in the DVM as node {}", node);
}

namespace {

std::string more_time(bool grows, std::uint32_t waited_ms) {
  return fmt::format("{}fewer nodes, or more time: --prtemca {} {}s{}", kTry,
                     grows ? "tide_grow_timeout" : "tide_start_timeout", waited_ms / 1000 * 2 + 1,
                     grows ? " when the DVM is started" : "");
}

}  // namespace

std::string daemons_did_not_report(bool grows, std::uint32_t waited_ms, std::string_view nodes) {
  return fmt::format("no report within {} from: {}{}", human_duration_ms(waited_ms), nodes,
                     more_time(grows, waited_ms));
}

std::string unacknowledged_by(std::span<const std::string> nodes, bool speak_for_others) {
  if (!speak_for_others) return fmt::format("no acknowledgement from {}", name_list(nodes));
  return fmt::format("no acknowledgement from {}, or from a daemon below {}", name_list(nodes),
                     nodes.size() == 1 ? "it" : "them");
}

std::string daemons_not_wired_up(bool grows, std::uint32_t waited_ms,
                                 std::span<const std::string> missing, bool speak_for_others) {
  const auto waited = human_duration_ms(waited_ms);
  if (missing.empty()) {
    return fmt::format("the daemons could not be wired up within {}{}", waited,
                       more_time(grows, waited_ms));
  }
  // Fewer nodes would not help: whoever is slow, or stopped, may have been there before.
  const std::string look =
      grows ? fmt::format(
                  "see whether the daemon there runs (tide status shows its process, tide "
                  "logs {} what it says), and again when it does",
                  missing.front())
            : fmt::format(
                  "see whether {} is overloaded, or more time: --prtemca "
                  "tide_start_timeout {}s",
                  missing.front(), waited_ms / 1000 * 2 + 1);
  return fmt::format("the daemons could not be wired up within {}: {}{}{}", waited,
                     unacknowledged_by(missing, speak_for_others), kTry, look);
}

Error too_few_descriptors(std::uint32_t nodes, std::uint64_t needed, std::uint64_t limit) {
  return Error{ErrorCode::kOutOfResources,
               fmt::format("{0} nodes need {1} open files and the limit is {2}{3}ulimit -n {1}, or "
                           "fewer nodes",
                           nodes, needed, limit, kTry)};
}

std::string leftover_not_removed(std::string_view why) {
  return fmt::format("left by an earlier DVM and not removed: {}", why);
}

std::string private_dvm_interrupted(int signal) {
  return fmt::format("{}: interrupted before the DVM for this job was ready; nothing was run",
                     signal_name(signal));
}

std::string private_dvm_not_started() {
  return "the DVM for this job did not start; the reason is above";
}

std::string private_dvm_late(std::uint32_t waited_ms) {
  return fmt::format(
      "the DVM for this job was not ready within {} and is given up{}fewer nodes, or "
      "more time: --prtemca tide_start_timeout {}s",
      human_duration_ms(waited_ms), kTry, waited_ms / 1000 * 2);
}

std::string private_dvm_killed(std::uint32_t waited_ms) {
  return fmt::format("the DVM for this job did not end within {} and was killed",
                     human_duration_ms(waited_ms));
}

}  // namespace tide::say
