#include "rm/dvm_hosts.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include "hosts/hostfile.hpp"
#include "hosts/selection.hpp"
#include "say/granting.hpp"

namespace tide::rm {

namespace {

using hosts::HostWord;

// The words as a list of hosts, each name once, in the order of first mention.
Result<std::vector<Host>> defined_by(const std::vector<HostWord>& words) {
  std::vector<std::string> order;
  std::map<std::string, hosts::Tally> tallies;
  for (const auto& word : words) {
    if (word.kind != HostWord::Kind::kName) return say::no_list_to_count_in(word.place);
    if (word.excluded) continue;
    auto [entry, is_new] = tallies.try_emplace(word.name);
    auto& tally = entry->second;
    if (!word.user.empty() && !tally.user.empty() && word.user != tally.user) {
      return say::bad_host(word.place, say::HostFault::kOtherUser);
    }
    tally.add(word);
    if (is_new) order.push_back(word.name);
  }
  for (const auto& word : words) {
    if (word.excluded) tallies.erase(word.name);
  }
  std::vector<Host> out;
  for (auto& name : order) {
    const auto found = tallies.find(name);
    if (found == tallies.end()) continue;
    const auto& tally = found->second;
    out.push_back({std::move(name), tally.user, tally.slots(), tally.max_slots});
  }
  if (out.empty()) return say::no_hosts_left(words[0].place.source);
  return out;
}

// Hosts that `words` do not choose are left out; `usable` says who is still in.
Status narrow(const std::vector<HostWord>& words, std::string_view list, std::vector<Host>& all,
              std::vector<bool>& usable) {
  std::vector<hosts::Candidate> candidates;
  for (std::size_t i = 0; i < all.size(); ++i) {
    candidates.push_back({.name = all[i].name, .usable = usable[i]});
  }
  auto chosen = hosts::select(words, candidates, list);
  if (!chosen) return chosen.error();
  usable.assign(all.size(), false);
  for (auto& choice : *chosen) {
    auto& host = all[choice.candidate];
    usable[choice.candidate] = true;
    if (host.user.empty()) host.user = std::move(choice.user);
    host.slots = smaller_limit(host.slots, choice.slots);
    host.max_slots = smaller_limit(host.max_slots, choice.max_slots);
  }
  return ok_status();
}

Result<std::vector<HostWord>> parse_lists(const std::vector<std::string>& lists) {
  std::vector<HostWord> all;
  for (const auto& list : lists) {
    auto words = hosts::parse_host_list(list, "--host");
    if (!words) return words.error();
    std::ranges::move(*words, std::back_inserter(all));
  }
  return all;
}

}  // namespace

std::string_view HostArguments::first_option() const {
  if (!default_hostfiles.empty()) return "--default-hostfile";
  return hostfiles.empty() ? "--host" : "--hostfile";
}

Result<std::vector<Host>> choose_hosts(const HostSources& sources) {
  struct Layer {
    const std::vector<HostWord>* words;
    std::string_view list;  // what it is called where it is chosen from
  };
  std::vector<Layer> layers;
  for (const Layer layer :
       {Layer{&sources.default_hostfile, "the default hostfile"},
        Layer{&sources.hostfile, "the hostfile"}, Layer{&sources.host_list, "--host"}}) {
    if (!layer.words->empty()) layers.push_back(layer);
  }
  const bool is_granted = !sources.granted.empty();
  if (layers.empty()) return sources.granted;
  auto all = is_granted ? sources.granted : defined_by(*layers[0].words);
  if (!all) return all;
  const std::string_view list = is_granted ? sources.granted_by : layers[0].list;
  std::vector<bool> usable(all->size(), true);
  for (std::size_t i = is_granted ? 0 : 1; i < layers.size(); ++i) {
    auto narrowed = narrow(*layers[i].words, list, *all, usable);
    if (!narrowed) return narrowed.error();
  }
  std::vector<Host> out;
  for (std::size_t i = 0; i < all->size(); ++i) {
    if (usable[i]) out.push_back(std::move((*all)[i]));
  }
  return out;
}

Result<std::vector<Host>> find_hosts(const HostArguments& arguments,
                                     const std::optional<Grant>& grant) {
  auto default_hostfile = hosts::read_hostfiles(arguments.default_hostfiles);
  if (!default_hostfile) return default_hostfile.error();
  auto hostfile = hosts::read_hostfiles(arguments.hostfiles);
  if (!hostfile) return hostfile.error();
  auto host_list = parse_lists(arguments.host_lists);
  if (!host_list) return host_list.error();
  HostSources sources{std::move(*default_hostfile), std::move(*hostfile), std::move(*host_list)};
  if (grant) {
    sources.granted = grant->hosts;
    sources.granted_by = say::scheduler_job(grant->manager, grant->job);
  }
  return choose_hosts(sources);
}

}  // namespace tide::rm
