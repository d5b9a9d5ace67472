#include "say/hosts.hpp"

#include <fmt/format.h>

#include <cstring>

#include "base/text.hpp"

namespace tide::say {

namespace {

struct Words {
  std::string_view why;
  std::string_view next;
};

Words words_of(HostFault fault) {
  switch (fault) {
    case HostFault::kNoName:
      return {"names no host", "node1, or node1:4 for four slots"};
    case HostFault::kBadCharacter:
      return {"is nothing that a name of a host or user has", "letters, digits, '.', '-' and '_'"};
    case HostFault::kDashFirst:
      return {"begins with '-', as no host and no user does", "the name without it"};
    case HostFault::kTwoUsers:
      return {"has more than one '@'", "user@node"};
    case HostFault::kNoUser:
      return {"has no user before '@'", "user@node, or node alone for your own name"};
    case HostFault::kTooLong:
      return {"is longer than a name of a host can be", "a shorter name, or an address"};
    case HostFault::kBadAddress:
      return {"is no address", "10.0.0.7, or [fe80::7] and [fe80::7]:4 with slots"};
    case HostFault::kOpenBracket:
      return {"has a '[' without its ']'", "node[01-16,20], without blanks"};
    case HostFault::kStrayBracket:
      return {"has a ']' without its '['", "node[01-16,20]"};
    case HostFault::kBadRange:
      return {"is no range of numbers, low to high", "node[01-16,20]"};
    case HostFault::kTooMany:
      return {"makes more than 100000 hosts", "a smaller range"};
    case HostFault::kBadSlots:
      return {"is no number of slots from 1 to 65536", "node1:4, or node1 slots=4 in a file"};
    case HostFault::kBadRelative:
      return {"is no relative name", "+n0 for the first node, +e for all empty ones, +e:2 for two"};
    case HostFault::kRelativeUser:
      return {"has a user, and the node it stands for has one already", "the name without user"};
    case HostFault::kNoEmptyNodes:
      return {"is no number of empty nodes from 1 to 100000", "+e:2, or +e for all of them"};
    case HostFault::kExcludedEmpty:
      return {"can't be excluded: +e is whatever is empty then", "^node1 or ^+n0"};
    case HostFault::kExcludedWithSlots:
      return {"is excluded and has slots or a user", "^node1 to leave it out"};
    case HostFault::kNoValue:
      return {"has no value", "slots=4 or max-slots=8"};
    case HostFault::kGivenTwice:
      return {"is said twice of the same host", "one of them"};
    case HostFault::kWordTooMany:
      return {"is one word too many: a line has one host and its settings",
              "node1 slots=4, and the next host on the next line"};
    case HostFault::kOtherUser:
      return {"names another user than a line before for the same host", "one user for each host"};
  }
  return {};
}

// `nodes.txt:3:7`; `--host, column 7`.
std::string place_words(const HostPlace& place) {
  const std::string source = one_line(place.source);
  if (place.line == 0) return fmt::format("{}, column {}", source, place.column);
  return fmt::format("{}:{}:{}", source, place.line, place.column);
}

}  // namespace

std::string what_is_wrong(const HostPlace& place, HostFault fault) {
  return fmt::format("{}: {} {}", place_words(place), quoted(place.text), words_of(fault).why);
}

Error bad_host(const HostPlace& place, HostFault fault) {
  return invalid(fmt::format("{}{}{}", what_is_wrong(place, fault), kTry, words_of(fault).next));
}

Error unknown_host_setting(const HostPlace& place, const std::optional<std::string>& near) {
  return invalid(fmt::format("{}: {} is no setting of a host{}{}slots=4 or max-slots=8",
                             place_words(place), quoted(place.text), did_you_mean(near), kTry));
}

Error more_slots_than_max(const HostPlace& place, std::uint32_t slots, std::uint32_t max_slots) {
  return invalid(fmt::format("{}: {} has {}, and may have {} at most{}max-slots={} or more",
                             place_words(place), quoted(place.text),
                             counted(slots, "slot", "slots"), max_slots, kTry, slots));
}

// ---- words that choose within a list ----

Error host_not_there(const HostPlace& place, std::string_view list,
                     std::span<const std::string> names) {
  const auto near = nearest_name(place.text, names);
  const std::string text =
      fmt::format("{}: {} is not in {}", place_words(place), quoted(place.text), list);
  if (near) return not_found(text + did_you_mean(near));
  if (names.empty()) return not_found(text + ", which has none");
  return not_found(fmt::format("{}, which has {}{}one of these", text, name_list(names), kTry));
}

Error host_left_out(const HostPlace& place, std::string_view node) {
  return invalid(
      fmt::format("{}: {} stands for {}, which the hostfile leaves out{}a host of the hostfile: "
                  "--host chooses among those",
                  place_words(place), quoted(place.text), node, kTry));
}

Error ambiguous_host(const HostPlace& place, std::span<const std::string> candidates) {
  return invalid(fmt::format("{}: {} could be {}{}the whole name", place_words(place),
                             quoted(place.text), name_list(candidates), kTry));
}

Error index_past_the_end(const HostPlace& place, std::string_view list, std::size_t nodes) {
  const std::string there = nodes == 0 ? "no node" : counted(nodes, "node", "nodes");
  const std::string next =
      nodes == 0 ? "a list that has nodes" : fmt::format("+n0 to +n{}", nodes - 1);
  return invalid(fmt::format("{}: there is no {} in {}, which has {}{}{}", place_words(place),
                             quoted(place.text), list, there, kTry, next));
}

Error too_few_empty_nodes(const HostPlace& place, std::string_view list, std::size_t there) {
  const std::string next = there == 0 ? "a node by its name, or later"
                                      : fmt::format("+e:{}, or +e for all there are", there);
  return {ErrorCode::kOutOfResources,
          fmt::format("{}: {} asks for more empty nodes than {} has: {}{}{}", place_words(place),
                      quoted(place.text), list, there == 0 ? "none" : fmt::format("{}", there),
                      kTry, next)};
}

Error no_list_to_count_in(const HostPlace& place) {
  return invalid(
      fmt::format("{}: {} is a place in a list of hosts, and there is no list{}"
                  "--hostfile or --default-hostfile besides, or the name of the host",
                  place_words(place), quoted(place.text), kTry));
}

Error no_hosts_left(std::string_view source) {
  return invalid(
      fmt::format("no host is left: {} excludes all there are{}one host without ^", source, kTry));
}

// ---- files and options ----

Error hostfile_not_readable(std::string_view file, int errnum) {
  return not_found(
      fmt::format("the hostfile {} can't be read: {}{}--hostfile FILE, with one host "
                  "on each line",
                  quoted(file), std::strerror(errnum), kTry));
}

Error hostfile_too_large(std::string_view file, std::size_t limit_bytes) {
  return invalid(fmt::format("the hostfile {} has more than {} bytes{}ranges: node[001-999]",
                             quoted(file), limit_bytes, kTry));
}

Error hostfile_without_hosts(std::string_view file) {
  return invalid(fmt::format("the hostfile {} names no host{}one host on each line: node1 slots=4",
                             quoted(file), kTry));
}

Error nodes_and_hosts(std::string_view host_option) {
  return invalid(
      fmt::format("--nodes makes nodes of this machine, and {} names machines; they do "
                  "not go together{}one of them",
                  host_option, kTry));
}

}  // namespace tide::say
