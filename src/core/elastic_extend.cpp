// Jobs that ask for nodes: --add-host, --add-hostfile, --activate. The DVM is extended for them
// whether it is elastic or not; where it is not, nobody else is held up meanwhile.
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

// Whoever asks next sees in the roster what those before have got.
void ElasticDesk::ask_for_jobs() {
  while (asks_.empty() && !extensions_.empty()) {
    const JobId job = extensions_.front();
    extensions_.pop_front();
    const wire::JobSpec* spec = jobs_.waiting_for_nodes(job);
    if (spec != nullptr) ask_for(job, *spec);
  }
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
  std::vector<std::string> names;
  for (const auto& host : *hosts) names.push_back(host.node());
  for (const auto& host : *listed) names.push_back(host.node());
  Ask pending;
  pending.asker = asker;
  pending.words = spec.activate().all() ? say::all_nodes_asked_for()
                                        : say::nodes_asked_for(spec.activate().count(), names);
  begin_ask(std::move(pending));
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
