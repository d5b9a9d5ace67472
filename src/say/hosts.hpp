// Messages about hostfiles and lists of hosts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/messages.hpp"

namespace tide::say {

// A word and where it stands: in a file, or in the value of an option, which has no lines.
struct HostPlace {
  std::string source;      // the file, or the option
  std::uint32_t line = 0;  // 0: the value of an option
  std::uint32_t column = 0;
  std::string text;

  bool operator==(const HostPlace&) const = default;
};

// What is wrong with a word by itself.
enum class HostFault : std::uint8_t {
  kNoName,
  kBadCharacter,
  kDashFirst,
  kTwoUsers,
  kNoUser,
  kTooLong,
  kBadAddress,
  kOpenBracket,
  kStrayBracket,
  kBadRange,
  kTooMany,
  kBadSlots,
  kBadRelative,
  kRelativeUser,
  kNoEmptyNodes,
  kExcludedEmpty,
  kExcludedWithSlots,
  kNoValue,
  kGivenTwice,
  kWordTooMany,
  kOtherUser,
};
inline constexpr auto kLastHostFault = HostFault::kOtherUser;

// Without what to do.
std::string what_is_wrong(const HostPlace& place, HostFault fault);
Error bad_host(const HostPlace& place, HostFault fault);
Error unknown_host_setting(const HostPlace& place, const std::optional<std::string>& near);
Error more_slots_than_max(const HostPlace& place, std::uint32_t slots, std::uint32_t max_slots);

// ---- words that choose within a list; `list` names it: "this DVM", "the hostfile" ----
Error host_not_there(const HostPlace& place, std::string_view list,
                     std::span<const std::string> names);
Error host_left_out(const HostPlace& place, std::string_view node);
Error ambiguous_host(const HostPlace& place, std::span<const std::string> candidates);
Error index_past_the_end(const HostPlace& place, std::string_view list, std::size_t nodes);
Error too_few_empty_nodes(const HostPlace& place, std::string_view list, std::size_t there);
Error no_list_to_count_in(const HostPlace& place);
Error no_hosts_left(std::string_view source);

// ---- files and options ----
Error hostfile_not_readable(std::string_view file, int errnum);
Error hostfile_too_large(std::string_view file, std::size_t limit_bytes);
Error hostfile_without_hosts(std::string_view file);
Error nodes_and_hosts(std::string_view host_option);

}  // namespace tide::say
