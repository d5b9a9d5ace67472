#include "head/head_setup.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include "launch/daemon_blob.hpp"
#include "rim/settings.hpp"

namespace tide::head {

net::LinkConfig links_config(const HeadSetup& setup) {
  auto config = rim::link_config(setup.params);
  config.dvm_id = setup.info.dvm_id;
  config.key = setup.key;
  config.node = "the head";
  config.rank = kHeadRank;
  return config;
}

launch::LocalLauncherConfig launcher_config(const HeadSetup& setup) {
  launch::LocalLauncherConfig config;
  config.prted_path = setup.prted_path;
  config.log_directory = setup.info.directory + "/logs";
  config.run_directory = setup.info.directory;
  config.descriptor_limit = setup.descriptor_limit;
  config.attached = setup.options.stay_attached && !setup.options.daemonize;
  return config;
}

namespace {

// What a shell on another machine is to run.
std::string command_elsewhere(const HeadSetup& setup) {
  const auto& options = setup.options;
  if (!options.launch_agent.empty()) return fmt::format("exec {} --remote", options.launch_agent);
  if (options.no_prefix) return launch::remote_command("prted");
  if (!options.prefix.empty()) return launch::remote_command(options.prefix + "/bin/prted");
  return launch::remote_command(setup.prted_path);
}

}  // namespace

std::optional<launch::SshLauncherConfig> ssh_config(const HeadSetup& setup,
                                                    const NodePlaces& places) {
  if (!places.has_other_machines() || places.in_step()) return std::nullopt;
  auto config = launch::ssh_launcher_config(setup.params);
  config.command = command_elsewhere(setup);
  config.may_lack_agent = places.on_other_machines() == 0;
  config.attached = setup.options.stay_attached;
  config.version = TIDE_VERSION;
  config.descriptor_limit = setup.descriptor_limit;
  return config;
}

bool starts_in_step(const HeadSetup& setup) {
  return setup.launcher.kind == launch::LauncherKind::kStep;
}

std::optional<launch::StepLauncherConfig> step_config(const HeadSetup& setup) {
  if (!starts_in_step(setup)) return std::nullopt;
  auto config = launch::step_launcher_config(setup.params, setup.launcher, setup.prted_path);
  config.version = TIDE_VERSION;
  config.descriptor_limit = setup.descriptor_limit;
  return config;
}

Result<std::vector<wire::Endpoint>> listen_for_daemons(const HeadSetup& setup,
                                                       const NodePlaces& places,
                                                       rim::LinkPort& links) {
  const auto addresses =
      rim::listen_addresses(setup.params, places.has_other_machines(), short_host_name());
  if (!addresses) return addresses.error();
  return links.listen(*addresses);
}

Incarnation fresh_incarnation() {
  std::uint64_t value = 0;
  TIDE_CHECK(getrandom(&value, sizeof value, 0) == static_cast<ssize_t>(sizeof value));
  return Incarnation(value);
}

wire::DaemonBlob common_blob(const HeadSetup& setup, const NodePlaces& places,
                             const std::vector<wire::Endpoint>& endpoints) {
  wire::DaemonBlob blob;
  blob.set_dvm_id(setup.info.dvm_id);
  blob.set_key(setup.key);
  for (const auto& endpoint : endpoints) *blob.add_head() = endpoint;
  for (const auto& [name, value] : setup.params.explicitly_set()) {
    (*blob.mutable_parameters())[name] = value;
  }
  blob.set_several_machines(places.has_other_machines());
  blob.set_remote_command(command_elsewhere(setup));
  blob.set_attached(setup.options.stay_attached);
  return blob;
}

launch::LaunchItem launch_item(const HeadSetup& setup, const NodePlaces& places,
                               const wire::DaemonSeed& seed, const wire::DaemonBlob& common) {
  wire::DaemonBlob blob = launch::blob_for(seed, common);
  if (seed.host().empty()) {
    blob.set_run_directory(setup.info.directory);
    blob.set_shared_host(places.are_virtual());
  }
  const NodePlace& place = places.of(seed.node());
  return {.rank = Rank(seed.rank()),
          .node = seed.node(),
          .blob = blob.SerializeAsString(),
          .host = seed.host(),
          .user = seed.user(),
          .in_step = place.in_step,
          .job = place.job};
}

}  // namespace tide::head
