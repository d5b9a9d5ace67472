// Grid Engine: PE_HOSTFILE is a file of hosts with their slots, queue and processors:
// `node1 4 all.q@node1 UNDEFINED`. A host stands there once for each queue.
#include <algorithm>

#include "rm/grant_readers.hpp"
#include "rm/granted_hosts.hpp"

namespace tide::rm {

namespace {

Status add_hosts(std::string_view text, GrantedHosts& hosts) {
  for (std::uint32_t number = 1; !text.empty(); ++number) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const auto words = granted_words(line);
    if (words.empty()) continue;
    const GrantedWord end{{}, static_cast<std::uint32_t>(line.size() + 1)};
    const auto slots = hosts.slots(words.size() > 1 ? words[1] : end, number);
    if (!slots) return slots.error();
    if (auto added = hosts.add(words[0], *slots, number); !added) return added;
  }
  return ok_status();
}

}  // namespace

Result<GrantedNodes> read_gridengine(const Surroundings& surroundings) {
  const auto file = file_in(surroundings, "PE_HOSTFILE");
  if (!file) return file.error();
  GrantedHosts hosts(file->source);
  if (auto added = add_hosts(file->text, hosts); !added) return added.error();
  auto found = hosts.take();
  if (!found) return found.error();
  return GrantedNodes{std::move(*found), "PE_HOSTFILE"};
}

}  // namespace tide::rm
