#include "launch/ssh_launcher.hpp"

#include <asio/post.hpp>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "exec/warden_protocol.hpp"
#include "say/launching.hpp"

namespace tide::launch {
namespace {

// For agents that do not even end by SIGKILL.
constexpr auto kLastWait = std::chrono::seconds(5);

std::string shown_host(const LaunchItem& item) {
  return item.user.empty() ? item.host : item.user + "@" + item.host;
}

}  // namespace

SshLauncherConfig ssh_launcher_config(const Params& params) {
  SshLauncherConfig config;
  config.agent.agents = params.get_string("plm_ssh_agent");
  config.agent.args = params.get_string("plm_ssh_args");
  config.agent.timeout_ms = params.get_duration_ms("plm_ssh_timeout");
  config.concurrent = static_cast<std::size_t>(params.get_int("plm_ssh_num_concurrent"));
  return config;
}

SshLauncher::SshLauncher(asio::io_context& io, SshLauncherConfig config, LaunchHandler& handler)
    : io_(io),
      config_(std::move(config)),
      handler_(handler),
      spawner_("", config_.descriptor_limit),
      shutdown_timer_(io) {}

SshLauncher::~SshLauncher() {
  for (auto& item : queue_) exec::wipe(item.blob);
}

Status SshLauncher::start() {
  const char* const path = ::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): one thread
  auto agent = SshAgent::choose(
      config_.agent, path == nullptr ? std::nullopt : std::optional<std::string_view>(path));
  if (!agent && config_.may_lack_agent) {
    no_agent_ = agent.error().message;
    return ok_status();
  }
  if (!agent) return agent.error();
  agent_ = std::move(*agent);
  return ok_status();
}

void SshLauncher::launch(std::vector<LaunchItem> items) {
  for (LaunchItem& item : items) {
    if (shutting_down_ || over_.contains(item.rank)) {
      fail_later(item.rank, "it was ended before its start");
    } else if (!agent_) {
      fail_later(item.rank, no_agent_);
    } else if (item.host.empty() || item.host.front() == '-') {  // an agent would take an option
      fail_later(item.rank, say::not_a_host_name(item.host));
    } else if (item.blob.size() > exec::kMaxBlobBytes) {
      fail_later(item.rank, "what the daemon has to be told is too long");
    } else {
      queue_.push_back(std::move(item));
      continue;
    }
    exec::wipe(item.blob);
  }
  start_some();
}

void SshLauncher::start_some() {
  while (!queue_.empty() && under_way_ < config_.concurrent && !shutting_down_) {
    LaunchItem item = std::move(queue_.front());
    queue_.pop_front();
    start_one(std::move(item));
  }
}

void SshLauncher::start_one(LaunchItem item) {
  TIDE_CHECK(agent_.has_value());
  const Rank rank = item.rank;
  const std::vector<std::string> argv = agent_->argv(item.host, item.user, config_.command);
  auto session = std::make_shared<SshSession>(
      io_,
      SshSession::Settings{.timeout_ms = config_.agent.timeout_ms,
                           .attached = config_.attached,
                           .watch_child = config_.watch_child},
      SshSession::Callbacks{.greeted =
                                [this, rank](const std::string& version) {
                                  if (!shutting_down_) handler_.on_daemon_greeted(rank, version);
                                },
                            .joined = [this, rank](pid_t pid) { joined(rank, pid); },
                            .output =
                                [this, rank](std::string_view text) {
                                  if (!shutting_down_) handler_.on_daemon_output(rank, text);
                                },
                            .ended = [this, rank](const SessionEnd& end) { ended(rank, end); }});
  const Status started = session->start(spawner_, argv, framed_blob(item.blob));
  exec::wipe(item.blob);
  if (!started) return fail_later(rank, started.error().message);
  ++under_way_;
  running_[rank] = Running{std::move(session), shown_host(item)};
}

void SshLauncher::joined(Rank rank, pid_t pid) {
  auto& running = running_.at(rank);
  if (config_.attached) not_under_way(running);
  if (!shutting_down_) handler_.on_daemon_started(rank, pid);
  start_some();
}

void SshLauncher::not_under_way(Running& running) {
  if (std::exchange(running.under_way, false)) --under_way_;
}

void SshLauncher::ended(Rank rank, const SessionEnd& end) {
  auto entry = running_.extract(rank);
  TIDE_CHECK(!entry.empty());
  not_under_way(entry.mapped());
  if (shutting_down_) {
    if (running_.empty()) finish_shutdown();
    return;
  }
  report(rank, entry.mapped(), end);
  start_some();
}

void SshLauncher::report(Rank rank, const Running& running, const SessionEnd& end) {
  if (running.session->joined() && !config_.attached) return;  // it goes on alone
  over_.insert(rank);
  if (running.session->joined() || running.ended_by_us) {
    handler_.on_daemon_exited(rank, exec::describe_wait_status(end.wait_status));
  } else {
    handler_.on_daemon_launch_failed(rank, describe(running, end));
  }
}

std::string SshLauncher::describe(const Running& running, const SessionEnd& end) const {
  return say::launch_failed({.trouble = trouble_of(end),
                             .host = running.host,
                             .agent = agent_->name(),
                             .call = agent_->call(),
                             .by_hand = agent_->by_hand(running.host, config_.command),
                             .command = config_.command,
                             .how = exec::describe_wait_status(end.wait_status),
                             .words = last_words(end.error_output),
                             .waited_ms = end.waited_ms,
                             .timeout_ms = config_.agent.timeout_ms,
                             .tried_from = config_.node,
                             .our_version = config_.version,
                             .their_version = running.session->their_version()});
}

void SshLauncher::fail_later(Rank rank, std::string text) {
  over_.insert(rank);
  asio::post(io_, [this, alive = std::weak_ptr(lifetime_), rank, text = std::move(text)] {
    if (!alive.expired() && !shutting_down_) handler_.on_daemon_launch_failed(rank, text);
  });
}

void SshLauncher::exited_later(Rank rank, std::string text) {
  asio::post(io_, [this, alive = std::weak_ptr(lifetime_), rank, text = std::move(text)] {
    if (!alive.expired() && !shutting_down_) handler_.on_daemon_exited(rank, text);
  });
}

void SshLauncher::end(Rank rank) {
  const auto running = running_.find(rank);
  if (running != running_.end() && (!running->second.session->joined() || config_.attached)) {
    running->second.ended_by_us = true;
    return running->second.session->end();
  }
  if (!over_.insert(rank).second) return;
  std::erase_if(queue_, [rank](LaunchItem& item) {
    if (item.rank == rank) exec::wipe(item.blob);
    return item.rank == rank;
  });
  exited_later(rank, "nothing is left of it here");
}

void SshLauncher::shutdown() {
  if (shutting_down_) return;
  shutting_down_ = true;
  for (auto& item : queue_) exec::wipe(item.blob);
  queue_.clear();
  for (auto& [rank, running] : running_) running.session->end();
  shutdown_timer_.expires_after(running_.empty() ? std::chrono::seconds(0) : kLastWait);
  shutdown_timer_.async_wait(
      [this, alive = std::weak_ptr(lifetime_)](const asio::error_code& error) {
        if (!error && !alive.expired()) finish_shutdown();
      });
}

void SshLauncher::finish_shutdown() {
  if (std::exchange(down_, true)) return;
  shutdown_timer_.cancel();
  handler_.on_shutdown_done();
}

}  // namespace tide::launch
