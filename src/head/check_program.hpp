// Tries whether a DVM could be started on the hosts of a command line. On each a daemon is started
// as a head does it, finds its way here, reports, and is sent home.
#pragma once

#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/counters.hpp"
#include "head/check_report.hpp"
#include "head/head_setup.hpp"
#include "head/node_places.hpp"
#include "launch/mixed_launcher.hpp"
#include "rim/link_port.hpp"

namespace tide::head {

class CheckProgram : private launch::LaunchHandler {
 public:
  // `settled` is called when it is known of a host whether it can be used, with how many are known.
  using Settled = std::function<void(const CheckedHost&, std::size_t done, std::size_t all)>;
  CheckProgram(HeadSetup setup, Settled settled);

  // Returns when all hosts were tried, or a signal came, and nothing is left on any of them that
  // can still be reached. An error: none could be tried.
  Status run();

  // In the order of the command line.
  [[nodiscard]] std::vector<CheckedHost> results() const;
  [[nodiscard]] std::size_t settled() const { return settled_count_; }
  [[nodiscard]] std::optional<int> interrupted_by() const { return interrupted_by_; }
  // Words on what a start on these hosts does beyond what is tried here.
  [[nodiscard]] std::string untried() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Host {
    Host(asio::io_context& io, std::string name) : deadline(io) { result.name = std::move(name); }
    Incarnation incarnation = fresh_incarnation();
    Clock::time_point began{};
    asio::steady_timer deadline;
    bool linked = false;  // its ticket is good for one link
    std::string machine{};
    bool settled = false;
    bool gone = false;  // nothing runs there any more
    CheckedHost result{};
  };

  void on_daemon_started(Rank /*rank*/, pid_t /*pid*/) override {}
  void on_daemon_greeted(Rank rank, const std::string& version) override;
  void on_daemon_leaves(Rank /*rank*/) override {}
  void on_step_lost(const std::string& /*text*/) override {}  // as it is told of each daemon
  void on_daemon_output(Rank /*rank*/, std::string_view /*text*/) override {}
  void on_daemon_launch_failed(Rank rank, std::string text) override;
  void on_daemon_exited(Rank rank, std::string text) override;
  void on_warden_lost(std::string text) override;
  void on_shutdown_done() override;

  void on_link_event(const core::LinkUp& up);
  void on_link_event(const core::LinkDown& down);
  void on_link_event(const core::MessageIn& message);
  void on_link_event(const core::ConnectFailed& /*failed*/) {}

  void wait_for_signals();
  void try_some();
  launch::LaunchItem begin_trying(Rank rank);
  void reported(Rank rank, const wire::Report& report);
  void settle(Rank rank, std::string failure);
  void gone(Rank rank, std::string failure);
  void arm(Rank rank, std::uint32_t after_ms);
  void overdue(Rank rank);
  void finish();
  Host& host(Rank rank) { return hosts_.at(rank.value() - 1); }

  HeadSetup setup_;
  NodePlaces places_;
  Settled report_settled_;
  asio::io_context io_;
  Counters counters_;
  rim::LinkPort links_;
  launch::MixedLauncher launcher_;
  asio::signal_set signals_;
  std::vector<wire::Endpoint> endpoints_;
  std::deque<Host> hosts_;  // that of rank r is at r - 1
  std::map<LinkId, Rank> linked_;
  std::size_t at_once_;
  std::size_t under_way_ = 0;
  std::size_t tried_ = 0;
  std::size_t settled_count_ = 0;
  std::optional<int> interrupted_by_;
  bool finishing_ = false;
};

}  // namespace tide::head
