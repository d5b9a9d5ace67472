// Jobs that ask for nodes: --add-host, --add-hostfile, --activate. The DVM is extended for them
// whether it is elastic or not; where it is not, nobody else is held up meanwhile.
#include <algorithm>
#include <utility>

#include "core/elastic_desk.hpp"
#include "say/campaigns.hpp"
#include "say/elastic.hpp"

namespace tide::core {

namespace {

using Hosts = google::protobuf::RepeatedPtrField<wire::HostRequest>;

}  // namespace

void ElasticDesk::extend_for(JobId job) {
  extensions_.push_back(job);
}

// Whoever asks next sees in the roster what those before have got. What a scheduler lets wait
// keeps only those waiting that name one of the same nodes.
bool ElasticDesk::ask_for_jobs() {
  bool asked = false;
  for (const JobId job : std::exchange(extensions_, {})) {
    const wire::JobSpec* spec = jobs_.waiting_for_nodes(job);
    if (spec == nullptr) continue;
    const bool waits = std::ranges::any_of(asks_, [&](const auto& entry) {
      return entry.second.queued.empty() || overlap(entry.second, *spec);
    });
    if (waits) {
      extensions_.push_back(job);
    } else {
      ask_for(job, *spec);
      asked = true;
    }
  }
  return asked;
}

bool ElasticDesk::overlap(const Ask& ask, const wire::JobSpec& spec) {
  const auto named = [&ask](const wire::HostRequest& host) {
    return std::ranges::find(ask.names, host.node()) != ask.names.end();
  };
  return std::ranges::any_of(spec.add_hosts(), named) ||
         std::ranges::any_of(spec.activate().hosts(), named);
}

// Those that the DVM neither has nor gets; an error if one of them can't be had.
Result<std::vector<wire::HostRequest>> ElasticDesk::not_there(const Hosts& hosts) const {
  std::vector<wire::HostRequest> out;
  for (const auto& host : hosts) {
    if (host.kind() != wire::HostRequest::NAME || host.excluded()) {
      return say::only_plain_host_names(host.text());
    }
    const Node* node = roster_.find(host.node());
    if (node == nullptr) {
      out.push_back(host);
    } else if (node->state >= NodeState::kLeaving) {
      return say::node_is_leaving(node->name);
    }
  }
  return out;
}

void ElasticDesk::ask_for(JobId job, const wire::JobSpec& spec) {
  const ChangeAsker asker{.job = job};
  if (ending_) return refuse(asker, say::dvm_changes_no_more());
  auto hosts = not_there(spec.add_hosts());
  if (!hosts) return refuse(asker, hosts.error());
  auto listed = not_there(spec.activate().hosts());
  if (!listed) return refuse(asker, listed.error());
  // row:L5
  const bool needs_none = hosts->empty() && listed->empty();
  if (needs_none && spec.activate().count() == 0 && !spec.activate().all()) {
    return answer_job(job, std::nullopt);
  }
  Ask pending;
  pending.asker = asker;
  for (const auto& host : *hosts) pending.names.push_back(host.node());
  for (const auto& host : *listed) pending.names.push_back(host.node());
  pending.words = spec.activate().all()
                      ? say::all_nodes_asked_for()
                      : say::nodes_asked_for(spec.activate().count(), pending.names);
  if (!begin_ask(std::move(pending))) return;
  out_.emplace_back(AskForNodes{.ask = last_ask_,
                                .count = spec.activate().count(),
                                .hosts = std::move(*hosts),
                                .listed = std::move(*listed),
                                .all = spec.activate().all()});
}

// It depends on every grow that brings a node which it named, also on one that others asked for.
void ElasticDesk::answer_job(JobId job, std::optional<CampaignId> own) {
  const wire::JobSpec* spec = jobs_.waiting_for_nodes(job);
  if (spec == nullptr) return;
  std::set<CampaignId> grows;
  if (own) grows.insert(*own);
  for (const Hosts* hosts : {&spec->add_hosts(), &spec->activate().hosts()}) {
    for (const auto& host : *hosts) {
      const Node* node = roster_.find(host.node());
      if (node != nullptr && node->state < NodeState::kUp) grows.insert(node->campaign);
    }
  }
  jobs_.on_extended(job, std::move(grows));
}

}  // namespace tide::core
