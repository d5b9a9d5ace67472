#include "rim/settings.hpp"

#include <utility>

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

}  // namespace

core::OverlayConfig overlay_config(const Params& params, Rank self) {
  core::OverlayConfig out;
  out.self = self;
  out.radix = static_cast<std::uint32_t>(params.get_int("rml_radix"));
  out.reattach_timeout_ms = params.get_duration_ms("tide_reattach_timeout");
  out.missing_child_ms = params.get_duration_ms("tide_heartbeat_timeout") / 2;
  out.reduction_patience_ms = params.get_duration_ms("tide_reduction_patience");
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
  out.roster.default_slots = params.get_string("prte_set_default_slots");
  out.jobs.stream_window_bytes = static_cast<std::uint32_t>(params.get_size("tide_stream_window"));
  out.jobs.history_jobs = static_cast<std::uint32_t>(params.get_int("tide_history_jobs"));
  out.roster.verbosity = out.jobs.verbosity = verbosity(params);
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

std::string listen_address(const Params& params) {
  const auto& wanted = params.get_string("tide_listen_address");
  return wanted.empty() ? "127.0.0.1" : wanted;
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
