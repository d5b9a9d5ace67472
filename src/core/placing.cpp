#include "core/placing.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "core/slot_advice.hpp"
#include "hosts/selection.hpp"
#include "hosts/wire_words.hpp"

namespace tide::core {

namespace {

using hosts::HostWord;
using HostRequests = google::protobuf::RepeatedPtrField<wire::HostRequest>;

std::vector<HostWord> words_of(const HostRequests& requests, std::string_view option) {
  std::vector<HostWord> words;
  for (const auto& request : requests) words.push_back(hosts::from_wire(request, option));
  return words;
}

bool chooses(const wire::AppSpec& app) {
  return !app.hosts().empty() || !app.hostfile().empty();
}

// The nodes as the programs of one job choose among them.
class NodeChooser {
 public:
  NodeChooser(const std::vector<MapNode>& nodes, Suspects suspects) : nodes_(nodes) {
    for (const auto& node : nodes) {
      const bool unasked = !node.suspected || suspects == Suspects::kAlways;
      candidates_.push_back({.name = node.name,
                             .aliases = node.aliases,
                             .usable = true,
                             .empty = node.used == 0,
                             .unasked = unasked});
    }
  }

  Status choose(wire::AppSpec& app) {
    std::vector<Limit> limits(nodes_.size());
    for (auto& candidate : candidates_) candidate.usable = true;
    auto by_file = narrow(words_of(app.hostfile(), "--hostfile"), limits);
    if (!by_file) return by_file;
    auto by_list = narrow(words_of(app.hosts(), "--host"), limits);
    if (!by_list) return by_list;
    app.clear_hosts();
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!candidates_[i].usable) continue;
      candidates_[i].empty = false;
      auto* host = app.add_hosts();
      host->set_node(nodes_[i].name);
      host->set_slots(limits[i].slots);
      host->set_max_slots(limits[i].max_slots);
    }
    return ok_status();
  }

 private:
  struct Limit {
    std::uint32_t slots = 0;
    std::uint32_t max_slots = 0;
  };

  static std::uint32_t smaller(std::uint32_t a, std::uint32_t b) {
    return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
  }

  Status narrow(const std::vector<HostWord>& words, std::vector<Limit>& limits) {
    if (words.empty()) return ok_status();
    const auto chosen = hosts::select(words, candidates_, "this DVM");
    if (!chosen) return chosen.error();
    for (auto& candidate : candidates_) candidate.usable = false;
    for (const auto& choice : *chosen) {
      candidates_[choice.candidate].usable = true;
      auto& limit = limits[choice.candidate];
      limit.slots = smaller(limit.slots, choice.slots);
      limit.max_slots = smaller(limit.max_slots, choice.max_slots);
    }
    return ok_status();
  }

  const std::vector<MapNode>& nodes_;
  std::vector<hosts::Candidate> candidates_;
};

std::set<std::string_view> names_in(const wire::JobSpec& job) {
  std::set<std::string_view> names;
  for (const auto& app : job.apps()) {
    for (const auto& host : app.hosts()) names.insert(host.node());
  }
  return names;
}

}  // namespace

bool names_hosts(const wire::JobSpec& job) {
  return std::ranges::any_of(job.apps(), chooses);
}

Status choose_nodes(wire::JobSpec& job, const std::vector<MapNode>& nodes, Suspects suspects) {
  NodeChooser chooser(nodes, suspects);
  for (auto& app : *job.mutable_apps()) {
    if (!chooses(app)) continue;
    if (auto chosen = chooser.choose(app); !chosen) return chosen;
  }
  return ok_status();
}

Placing place_job(const wire::JobSpec& job, const std::vector<MapNode>& nodes, Suspects suspects) {
  Placing placing;
  if (names_hosts(job)) {
    placing.chosen = job;
    if (auto chosen = choose_nodes(*placing.chosen, nodes, suspects); !chosen) {
      placing.bad_hosts = chosen.error();
    }
  }
  const auto& spec = placing.chosen ? *placing.chosen : job;
  const auto named = names_in(spec);
  for (const auto& node : nodes) {
    // A suspected node gets nothing that could go elsewhere, and stays a node for whoever names it.
    if (!node.suspected || suspects == Suspects::kAlways || named.contains(node.name)) {
      placing.candidates.push_back(node);
    } else {
      placing.unheard.push_back(node.name);
    }
  }
  if (!placing.bad_hosts) placing.result = map_job(spec, placing.candidates);
  return placing;
}

std::string explain_failure(const wire::JobSpec& job, Placing placing) {
  if (placing.bad_hosts) return placing.bad_hosts->message;
  return explain_map_failure(placing.chosen ? *placing.chosen : job, placing.candidates,
                             *placing.result.failure, std::move(placing.unheard));
}

}  // namespace tide::core
