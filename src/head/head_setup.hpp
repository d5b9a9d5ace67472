// What a head has to know before it starts, and what follows from it for links, launchers and
// daemons.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/dvm_directory.hpp"
#include "base/failpoints.hpp"
#include "base/params.hpp"
#include "head/node_places.hpp"
#include "head/options.hpp"
#include "launch/local_launcher.hpp"
#include "launch/ssh_launcher.hpp"
#include "launch/step_launcher.hpp"
#include "net/link_config.hpp"
#include "rim/link_port.hpp"
#include "wire/link.pb.h"

namespace tide::head {

struct HeadSetup {
  HeadOptions options;
  Params params;
  Failpoints failpoints;
  DvmInfo info;
  DvmDirectory& directory;  // of this DVM; exists and is held by us
  std::string key;          // fresh for this DVM
  std::string prted_path;
  std::uint64_t descriptor_limit = 0;  // the soft limit that the head was started with
  launch::LauncherChoice launcher{};   // for daemons on other machines
  std::string scheduler_key{};         // what a scheduler proves itself by; empty: nobody is one
  int starter_fd = -1;  // a pipe whose reader waits for the DVM to be ready; -1: nobody waits
};

net::LinkConfig links_config(const HeadSetup& setup);
launch::LocalLauncherConfig launcher_config(const HeadSetup& setup);
// Nothing where all nodes are on this machine.
std::optional<launch::SshLauncherConfig> ssh_config(const HeadSetup& setup,
                                                    const NodePlaces& places);

// Whether daemons are started by a command of the scheduler whose job we are in.
bool starts_in_step(const HeadSetup& setup);
// Nothing where that is not so.
std::optional<launch::StepLauncherConfig> step_config(const HeadSetup& setup);

// Opens the door for daemons; where it is.
Result<std::vector<wire::Endpoint>> listen_for_daemons(const HeadSetup& setup,
                                                       const NodePlaces& places,
                                                       rim::LinkPort& links);

// One life of a rank, told from every other.
Incarnation fresh_incarnation();

// What is the same for all daemons; `endpoints` are the head's.
wire::DaemonBlob common_blob(const HeadSetup& setup, const NodePlaces& places,
                             const std::vector<wire::Endpoint>& endpoints);
launch::LaunchItem launch_item(const HeadSetup& setup, const NodePlaces& places,
                               const wire::DaemonSeed& seed, const wire::DaemonBlob& common);

}  // namespace tide::head
