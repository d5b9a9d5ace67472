// LSF: LSB_MCPU_HOSTS has hosts with their slots, `a 4 b 2`; else LSB_DJOB_HOSTFILE is a file with
// a line for each slot, or LSB_HOSTS has a word for each.
#include "rm/grant_readers.hpp"
#include "rm/granted_hosts.hpp"
#include "say/granting.hpp"

namespace tide::rm {

namespace {

Status add_pairs(std::string_view text, GrantedHosts& hosts) {
  const auto words = granted_words(text);
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const GrantedWord end{{}, static_cast<std::uint32_t>(text.size() + 1)};
    const auto slots = hosts.slots(i + 1 < words.size() ? words[i + 1] : end);
    if (!slots) return slots.error();
    if (auto added = hosts.add(words[i], *slots); !added) return added;
  }
  return ok_status();
}

Status add_words(std::string_view text, GrantedHosts& hosts) {
  for (const auto& word : granted_words(text)) {
    if (auto added = hosts.add(word, 1); !added) return added;
  }
  return ok_status();
}

Result<GrantedNodes> nodes_of(const Status& added, GrantedHosts& hosts, std::string source) {
  if (!added) return added.error();
  auto found = hosts.take();
  if (!found) return found.error();
  return GrantedNodes{std::move(*found), std::move(source)};
}

}  // namespace

Result<GrantedNodes> read_lsf(const Surroundings& surroundings) {
  const std::string pairs = "LSB_MCPU_HOSTS";
  const std::string words = "LSB_HOSTS";
  const std::string lines = "LSB_DJOB_HOSTFILE";
  if (const auto text = variable(surroundings, pairs)) {
    GrantedHosts hosts(pairs);
    return nodes_of(add_pairs(*text, hosts), hosts, pairs);
  }
  if (variable(surroundings, lines)) {
    const auto file = file_in(surroundings, lines);
    if (!file) return file.error();
    GrantedHosts hosts(file->source);
    return nodes_of(hosts.add_lines(file->text), hosts, lines);
  }
  if (const auto text = variable(surroundings, words)) {
    GrantedHosts hosts(words);
    return nodes_of(add_words(*text, hosts), hosts, words);
  }
  return say::grant_variable_missing(pairs);
}

}  // namespace tide::rm
