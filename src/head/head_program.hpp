// The head as a program: its core wired to links, clients, launcher and run directory.
#pragma once

#include <array>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/counters.hpp"
#include "base/dvm_directory.hpp"
#include "base/params.hpp"
#include "core/head_core.hpp"
#include "head/head_setup.hpp"
#include "head/node_places.hpp"
#include "head/supply.hpp"
#include "launch/mixed_launcher.hpp"
#include "net/client_hub.hpp"
#include "rim/core_host.hpp"
#include "rim/link_port.hpp"
#include "rim/service_port.hpp"
#include "rim/timer_wheel.hpp"

namespace tide::head {

class HeadProgram : private rim::RimEffects,
                    private net::ClientHandler,
                    private launch::LaunchHandler {
 public:
  // `ready` is called once, when the DVM can be used; `progress` with lines for people before.
  struct Reports {
    std::function<void(const DvmInfo&)> ready;
    std::function<void(const core::Progress&)> progress;
  };
  HeadProgram(HeadSetup setup, Reports reports);

  // Starts the DVM and serves it until its end. Returns the exit status for main().
  int run();

 private:
  void perform(core::Action action) override;
  void fail(core::Action action) override;

  void on_client_connected(ClientId client, std::uint32_t pid) override;
  void on_client_message(ClientId client, wire::ClientRequest request, Bytes payload) override;
  void on_client_gone(ClientId client) override;
  void on_client_refused(const std::string& text) override;

  void on_daemon_started(Rank rank, pid_t pid) override;
  void on_daemon_launch_failed(Rank rank, std::string text) override;
  void on_daemon_exited(Rank rank, std::string text) override;
  void on_daemon_leaves(Rank rank) override;
  void on_step_lost(const std::string& text) override;
  void on_daemon_output(Rank rank, std::string_view text) override;
  void on_warden_lost(std::string text) override;
  void on_shutdown_done() override;

  Status open_doors();
  void start_dvm();
  void tell_where_nodes_come_from();
  void start_services();
  wire::DaemonSeed seed_with_all_below(const core::LaunchTarget& target,
                                       std::vector<wire::DaemonSeed>& ours) const;
  void launch_daemons(const core::LaunchDaemons& action);
  std::unique_ptr<Supply> make_supply();
  launch::LocalLauncherConfig local_config();
  [[nodiscard]] Supply::View view_of_nodes() const;
  void post_end_of(Rank rank, core::HeadEvent event);
  void return_nodes(const core::ReturnNodes& action);
  Result<wire::PoolAnswer> carry_out(const wire::PoolOrder& order);
  void announce_ready(const core::AnnounceReady& action);
  void describe_dvm(std::uint32_t nodes, std::uint32_t slots);
  void reply_from_rim(const core::ReplyFromRim& action);
  void reply_status(core::ReplyStatus action);
  void begin_exit(const core::Exit& action);
  void wait_for_signals();
  void watch_keepalive();
  void watch_starter();
  void watch_directory();

  HeadSetup setup_;
  NodePlaces places_;
  Reports reports_;
  asio::io_context io_;
  std::unique_ptr<Supply> supply_;
  Counters counters_;
  core::HeadCore core_;
  rim::CoreHost<core::HeadCore> host_;
  rim::TimerWheel timers_;
  rim::LinkPort links_;
  net::ClientHub clients_;
  launch::MixedLauncher launcher_;
  rim::ServicePort services_;
  asio::signal_set signals_;
  std::unique_ptr<asio::posix::stream_descriptor> keepalive_;
  std::array<char, 16> keepalive_byte_{};
  std::unique_ptr<asio::posix::stream_descriptor> starter_;
  asio::steady_timer directory_timer_;
  std::vector<wire::Endpoint> endpoints_;
  Counter client_connections_;
  bool exiting_ = false;
  int exit_status_ = 0;
};

}  // namespace tide::head
