// From parameters to the configuration values of cores and links.
#pragma once

#include "base/params.hpp"
#include "core/daemon_core.hpp"
#include "core/head_core.hpp"
#include "net/link_config.hpp"

namespace tide::rim {

core::OverlayConfig overlay_config(const Params& params, Rank self);
core::LocalJobsConfig local_jobs_config(const Params& params, Rank self, std::string node);
core::HeadConfig head_config(const Params& params);
net::LinkConfig link_config(const Params& params);
// Where to listen: as the parameter says, else on loopback, since all nodes are on this machine.
std::string listen_address(const Params& params);

// The name of a subsystem as in its *_base_verbose parameter.
const char* subsystem_name(core::Subsystem subsystem);

}  // namespace tide::rim
