#include "head/check_program.hpp"

#include <csignal>
#include <utility>
#include <variant>

#include "launch/daemon_blob.hpp"
#include "say/checking.hpp"
#include "say/starting.hpp"

namespace tide::head {
namespace {

constexpr std::uint32_t kCampaign = 1;

// With a session that stays, the end of the session tells that nothing is left on that machine.
HeadSetup with_sessions_that_stay(HeadSetup setup) {
  setup.options.stay_attached = true;
  return setup;
}

// Daemons of this machine have logs all the same: their last words are told from there.
launch::LocalLauncherConfig with_logs(launch::LocalLauncherConfig config) {
  config.attached = false;
  return config;
}

}  // namespace

CheckProgram::CheckProgram(HeadSetup setup, Settled settled)
    : setup_(with_sessions_that_stay(std::move(setup))),
      places_(setup_.options, launch::ThisMachine::look(), starts_in_step(setup_)),
      report_settled_(std::move(settled)),
      links_(io_, links_config(setup_), counters_,
             [this](const rim::LinkEvent& event) {
               std::visit([this](const auto& e) { on_link_event(e); }, event);
             }),
      launcher_(io_, with_logs(launcher_config(setup_)), ssh_config(setup_, places_), *this,
                step_config(setup_)),
      signals_(io_, SIGTERM, SIGINT, SIGHUP),
      at_once_(static_cast<std::size_t>(setup_.params.get_int("plm_ssh_num_concurrent"))) {
  for (const auto& place : places_.all()) hosts_.emplace_back(io_, place.name);
  if (places_.in_step()) at_once_ = hosts_.size();  // one command for all
}

Status CheckProgram::run() {
  auto endpoints = listen_for_daemons(setup_, places_, links_);
  if (!endpoints) return endpoints.error();
  endpoints_ = std::move(*endpoints);
  if (auto started = launcher_.start(); !started) return started;
  wait_for_signals();
  try_some();
  io_.run();
  return ok_status();
}

std::vector<CheckedHost> CheckProgram::results() const {
  std::vector<CheckedHost> out;
  std::map<std::string, std::string> first_name;  // of a machine
  for (const Host& host : hosts_) {
    out.push_back(host.result);
    if (host.machine.empty()) continue;
    const auto [first, is_new] = first_name.try_emplace(host.machine, host.result.name);
    if (!is_new) out.back().same_as = first->second;
  }
  return out;
}

std::string CheckProgram::untried() const {
  const auto radix = static_cast<std::uint32_t>(setup_.params.get_int("rml_radix"));
  const bool by_others = places_.has_other_machines() && !places_.in_step() &&
                         hosts_.size() > radix && !setup_.params.get_bool("plm_ssh_no_tree_spawn");
  return by_others ? say::logins_between_machines_untried(radix) : "";
}

// ---- one host after the other, many at once ----

void CheckProgram::try_some() {
  std::vector<launch::LaunchItem> items;
  while (!finishing_ && under_way_ < at_once_ && tried_ < hosts_.size()) {
    ++under_way_;
    items.push_back(begin_trying(Rank(static_cast<std::uint32_t>(++tried_))));
  }
  if (!items.empty()) launcher_.launch(std::move(items));
  if (under_way_ == 0) finish();
}

launch::LaunchItem CheckProgram::begin_trying(Rank rank) {
  Host& tried = host(rank);
  const NodePlace& place = places_.all().at(rank.value() - 1);
  tried.began = Clock::now();
  if (place.host.empty()) tried.result.version = TIDE_VERSION;
  wire::DaemonSeed seed =
      launch::seed_of(core::LaunchTarget{rank, place.name, tried.incarnation, kCampaign, {}});
  seed.set_host(place.host);
  seed.set_user(place.user);
  arm(rank, setup_.params.get_duration_ms("tide_start_timeout"));
  return launch_item(setup_, places_, seed, common_blob(setup_, places_, endpoints_));
}

void CheckProgram::arm(Rank rank, std::uint32_t after_ms) {
  host(rank).deadline.expires_after(std::chrono::milliseconds(after_ms));
  host(rank).deadline.async_wait([this, rank](const asio::error_code& error) {
    if (!error) overdue(rank);
  });
}

void CheckProgram::overdue(Rank rank) {
  if (!host(rank).settled) {
    settle(rank,
           say::daemons_did_not_report(false, setup_.params.get_duration_ms("tide_start_timeout"),
                                       host(rank).result.name));
  }
  launcher_.end(rank);
}

void CheckProgram::settle(Rank rank, std::string failure) {
  Host& known = host(rank);
  if (std::exchange(known.settled, true)) return;
  const auto took = Clock::now() - known.began;
  known.result.took_ms = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(took).count());
  known.result.failure = std::move(failure);
  report_settled_(known.result, ++settled_count_, hosts_.size());
}

// A failure counts only where nothing was known before: who was sent home ends in some way.
void CheckProgram::gone(Rank rank, std::string failure) {
  if (finishing_ || std::exchange(host(rank).gone, true)) return;
  settle(rank, std::move(failure));
  host(rank).deadline.cancel();
  --under_way_;
  try_some();
}

// ---- what is heard of daemons ----

void CheckProgram::on_daemon_greeted(Rank rank, const std::string& version) {
  host(rank).result.version = version;
}

void CheckProgram::on_daemon_launch_failed(Rank rank, std::string text) {
  gone(rank, std::move(text));
}

void CheckProgram::on_daemon_exited(Rank rank, std::string text) {
  gone(rank, say::checked_daemon_ended(text));
}

void CheckProgram::on_warden_lost(std::string text) {
  for (std::size_t i = 0; i < tried_; ++i) {
    if (places_.all().at(i).host.empty()) gone(Rank(static_cast<std::uint32_t>(i + 1)), text);
  }
}

void CheckProgram::on_link_event(const core::LinkUp& up) {
  const bool known = up.peer != kHeadRank && up.peer.value() <= tried_ &&
                     host(up.peer).incarnation == up.incarnation && !host(up.peer).linked;
  if (!known) {
    links_.perform(
        core::CloseLink{up.link, wire::GOODBYE_REFUSED, "the launch ticket is not valid"});
    return;
  }
  host(up.peer).linked = true;
  host(up.peer).result.address = links_.peer_address(up.link);
  linked_[up.link] = up.peer;
}

void CheckProgram::on_link_event(const core::MessageIn& message) {
  const auto found = linked_.find(message.link);
  if (found == linked_.end() || !message.message.has_report()) return;
  reported(found->second, message.message.report());
  links_.perform(core::CloseLink{message.link, wire::GOODBYE_MOVED, "this was a check"});
}

void CheckProgram::on_link_event(const core::LinkDown& down) {
  const auto found = linked_.find(down.link);
  if (found == linked_.end()) return;
  settle(found->second, say::checked_link_lost(down.text));
  launcher_.end(found->second);
}

void CheckProgram::reported(Rank rank, const wire::Report& report) {
  Host& here = host(rank);
  if (here.settled) return;
  here.machine = report.machine();
  here.result.cores = report.topology().cores();
  here.result.hwthreads = report.topology().hwthreads();
  for (const auto& endpoint : report.endpoints()) {
    here.result.addresses.push_back(endpoint.address());
  }
  settle(rank, "");
  arm(rank, setup_.params.get_duration_ms("tide_shutdown_timeout"));
}

// ---- the end ----

void CheckProgram::wait_for_signals() {
  signals_.async_wait([this](std::error_code error, int number) {
    if (error || finishing_) return;
    interrupted_by_ = number;
    finish();
  });
}

void CheckProgram::finish() {
  if (std::exchange(finishing_, true)) return;
  for (Host& each : hosts_) each.deadline.cancel();
  links_.shutdown();
  launcher_.shutdown();
}

void CheckProgram::on_shutdown_done() {
  signals_.cancel();
}

}  // namespace tide::head
