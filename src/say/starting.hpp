// Messages about a DVM that does not start.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/messages.hpp"

namespace tide::say {

// What the others of this file are reasons for.
std::string dvm_not_started(std::string_view why);
std::string node_not_started(std::string_view node, std::string_view why);
std::string daemon_lost_at_start(bool grows, std::string_view node, std::string_view why);
std::string daemon_ended_at_start(std::string_view node, std::string_view why);
// One reason as it is; several, or with others that were not heard of by then, one below the other.
std::string nodes_not_started(const std::vector<std::string>& reasons, std::size_t nodes,
                              const std::vector<std::string>& silent = {});
std::string same_machine(std::string_view node, std::string_view other);
std::string not_needed(std::string_view node);
std::string daemons_did_not_report(bool grows, std::uint32_t waited_ms, std::string_view nodes);
// Each may be late itself, or speak for others below it that are.
std::string unacknowledged_by(std::span<const std::string> nodes, bool speak_for_others);
std::string daemons_not_wired_up(bool grows, std::uint32_t waited_ms,
                                 std::span<const std::string> missing, bool speak_for_others);
Error too_few_descriptors(std::uint32_t nodes, std::uint64_t needed, std::uint64_t limit);
std::string leftover_not_removed(std::string_view why);

// ---- prterun's own DVM ----
std::string private_dvm_interrupted(int signal);
std::string private_dvm_not_started();
std::string private_dvm_late(std::uint32_t waited_ms);
std::string private_dvm_killed(std::uint32_t waited_ms);

}  // namespace tide::say
