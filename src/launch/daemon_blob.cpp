#include "launch/daemon_blob.hpp"

#include "base/ip_network.hpp"
#include "say/stepping.hpp"

namespace tide::launch {
namespace {

std::string short_name(const std::string& host) {
  return usual_host_spelling(host.substr(0, host.find('.')));
}

// All of them.
std::vector<const wire::DaemonSeed*> meant_by(const wire::StepBlob& step, const std::string& name,
                                              std::string (*spelling)(const std::string&)) {
  std::vector<const wire::DaemonSeed*> out;
  for (const auto& seed : step.daemons()) {
    if (spelling(seed.host()) == spelling(name)) out.push_back(&seed);
  }
  return out;
}

std::string full_name(const std::string& host) {
  return usual_host_spelling(host);
}

}  // namespace

wire::DaemonSeed seed_of(const core::LaunchTarget& target) {
  wire::DaemonSeed seed;
  seed.set_rank(target.rank.value());
  seed.set_incarnation(target.incarnation.value());
  seed.set_campaign(target.campaign);
  seed.set_node(target.node);
  return seed;
}

core::LaunchTarget target_of(const wire::DaemonSeed& seed) {
  core::LaunchTarget target{
      Rank(seed.rank()), seed.node(), Incarnation(seed.incarnation()), seed.campaign(), {}};
  for (const auto& below : seed.below()) target.below.push_back(target_of(below));
  return target;
}

wire::DaemonBlob blob_for(const wire::DaemonSeed& seed, const wire::DaemonBlob& common) {
  wire::DaemonBlob blob;
  blob.set_dvm_id(common.dvm_id());
  blob.set_key(common.key());
  *blob.mutable_head() = common.head();
  *blob.mutable_parameters() = common.parameters();
  blob.set_several_machines(common.several_machines());
  blob.set_remote_command(common.remote_command());
  blob.set_attached(common.attached());
  blob.set_in_step(common.in_step());

  blob.set_rank(seed.rank());
  blob.set_incarnation(seed.incarnation());
  blob.set_campaign(seed.campaign());
  blob.set_node(seed.node());
  *blob.mutable_below() = seed.below();
  return blob;
}

Result<wire::DaemonBlob> part_of(const wire::StepBlob& step,
                                 const std::vector<std::string>& names) {
  if (step.sole() && step.daemons_size() == 1) return blob_for(step.daemons(0), step.common());
  for (auto* const spelling : {&full_name, &short_name}) {
    for (const auto& name : names) {
      const auto meant = meant_by(step, name, spelling);
      if (meant.size() > 1) return say::two_of_the_step(name);
      if (!meant.empty()) return blob_for(*meant.front(), step.common());
    }
  }
  std::vector<std::string> hosts;
  for (const auto& seed : step.daemons()) hosts.push_back(seed.host());
  return say::not_one_of_the_step(names, hosts);
}

}  // namespace tide::launch
