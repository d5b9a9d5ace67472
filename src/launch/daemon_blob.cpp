#include "launch/daemon_blob.hpp"

namespace tide::launch {

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

  blob.set_rank(seed.rank());
  blob.set_incarnation(seed.incarnation());
  blob.set_campaign(seed.campaign());
  blob.set_node(seed.node());
  *blob.mutable_below() = seed.below();
  return blob;
}

}  // namespace tide::launch
