// From parameters to the configuration values of cores and links.
#pragma once

#include <string>
#include <vector>

#include "base/params.hpp"
#include "core/daemon_core.hpp"
#include "core/head_core.hpp"
#include "net/link_config.hpp"

namespace tide::rim {

core::OverlayConfig overlay_config(const Params& params, Rank self);
core::LocalJobsConfig local_jobs_config(const Params& params, Rank self, std::string node);
core::HeadConfig head_config(const Params& params);
net::LinkConfig link_config(const Params& params);
// Where to listen on this machine, which people know by the name `machine`: as the parameters say,
// else on all interfaces. Where all nodes are on it, loopback, whichever interfaces are chosen
// between machines; but those that are named must be there.
Result<std::vector<std::string>> listen_addresses(const Params& params, bool several_machines,
                                                  std::string machine);

// The name of a subsystem as in its *_base_verbose parameter.
const char* subsystem_name(core::Subsystem subsystem);

}  // namespace tide::rim
