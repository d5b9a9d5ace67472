#include "rim/settings.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "net/interfaces.hpp"

namespace tide::rim {

namespace {

core::Verbosity verbosity(const Params& params) {
  core::Verbosity out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::string name = subsystem_name(static_cast<core::Subsystem>(i));
    out.at(i) = static_cast<std::uint8_t>(params.get_int(name + "_base_verbose"));
  }
  return out;
}

bool has_ipv6() {
  const int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  const bool bound = bind(fd, reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0;
  close(fd);
  return bound;
}

std::optional<net::InterfaceChoice> interface_choice(const Params& params, std::string machine) {
  for (const auto& [parameter, excludes] :
       {std::pair{"prte_if_include", false}, {"prte_if_exclude", true}}) {
    const auto& value = params.get_string(parameter);
    if (!value.empty()) return net::InterfaceChoice{parameter, value, std::move(machine), excludes};
  }
  return std::nullopt;
}

}  // namespace

core::OverlayConfig overlay_config(const Params& params, Rank self) {
  core::OverlayConfig out;
  out.self = self;
  out.radix = static_cast<std::uint32_t>(params.get_int("rml_radix"));
  out.reattach_timeout_ms = params.get_duration_ms("tide_reattach_timeout");
  out.missing_child_ms = params.get_duration_ms("tide_heartbeat_timeout") / 2;
  out.reduction_patience_ms = params.get_duration_ms("tide_reduction_patience");
  // So that those at the top, who wait for the ones below them, still end by themselves.
  out.leave_timeout_ms = params.get_duration_ms("tide_leave_timeout") / 2;
  out.message_limit = params.get_size("prte_max_msg_size") / 2;
  out.verbosity = verbosity(params);
  return out;
}

core::LocalJobsConfig local_jobs_config(const Params& params, Rank self, std::string node) {
  core::LocalJobsConfig out;
  out.self = self;
  out.node = std::move(node);
  out.kill_grace_ms = params.get_duration_ms("tide_kill_grace");
  out.drain_grace_ms = params.get_duration_ms("tide_drain_grace");
  out.verbosity = verbosity(params);
  return out;
}

core::HeadConfig head_config(const Params& params) {
  core::HeadConfig out;
  out.overlay = overlay_config(params, kHeadRank);
  out.roster.start_timeout_ms = params.get_duration_ms("tide_start_timeout");
  out.roster.suspect_grace_ms = params.get_duration_ms("tide_suspect_grace");
  out.roster.silence_ms = params.get_duration_ms("tide_heartbeat_timeout");
  out.roster.rollback_ms = params.get_duration_ms("tide_leave_timeout");
  out.roster.default_slots = params.get_string("prte_set_default_slots");
  out.jobs.stream_window_bytes = static_cast<std::uint32_t>(params.get_size("tide_stream_window"));
  out.history_events = static_cast<std::uint32_t>(params.get_int("tide_history_events"));
  out.jobs.history_jobs = static_cast<std::uint32_t>(params.get_int("tide_history_jobs"));
  out.jobs.files.timeout_ms = params.get_duration_ms("tide_stage_timeout");
  out.elastic.enabled = params.get_bool("prte_elastic_mode");
  out.elastic.grow_timeout_ms = params.get_duration_ms("tide_grow_timeout");
  out.elastic.process_grace_ms = std::max(1U, params.get_duration_ms("tide_release_grace"));
  out.elastic.process_settle_ms = params.get_duration_ms("tide_kill_grace");
  out.elastic.departure_timeout_ms = params.get_duration_ms("tide_leave_timeout");
  out.roster.verbosity = out.jobs.verbosity = out.elastic.verbosity = verbosity(params);
  out.shutdown_timeout_ms = params.get_duration_ms("tide_shutdown_timeout");
  return out;
}

net::LinkConfig link_config(const Params& params) {
  net::LinkConfig out;
  out.heartbeat_interval_ms = params.get_duration_ms("tide_heartbeat_interval");
  out.heartbeat_timeout_ms = params.get_duration_ms("tide_heartbeat_timeout");
  out.max_message_bytes = params.get_size("prte_max_msg_size");
  return out;
}

Result<std::vector<std::string>> listen_addresses(const Params& params, bool several_machines,
                                                  std::string machine) {
  using Addresses = std::vector<std::string>;
  const auto& wanted = params.get_string("tide_listen_address");
  if (!wanted.empty()) return Addresses{wanted};
  const Addresses loopback = {"127.0.0.1"};
  const auto choice = interface_choice(params, std::move(machine));
  if (!choice) {
    if (!several_machines) return loopback;
    return Addresses{has_ipv6() ? "::" : "0.0.0.0"};
  }
  const auto interfaces = net::interfaces_of_this_machine();
  if (!interfaces) return interfaces.error();
  if (several_machines) return net::chosen_addresses(*interfaces, *choice);
  if (auto known = net::check_interface_names(*interfaces, *choice); !known) return known.error();
  return loopback;
}

const char* subsystem_name(core::Subsystem subsystem) {
  switch (subsystem) {
    case core::Subsystem::kState:
      return "state";
    case core::Subsystem::kPlm:
      return "plm";
    case core::Subsystem::kRmaps:
      return "rmaps";
    case core::Subsystem::kRas:
      return "ras";
    case core::Subsystem::kErrmgr:
      return "errmgr";
    case core::Subsystem::kRouted:
      return "routed";
    case core::Subsystem::kOdls:
      return "odls";
    case core::Subsystem::kIof:
      return "iof";
    case core::Subsystem::kNet:
      return "rml";
  }
  return "state";
}

}  // namespace tide::rim
