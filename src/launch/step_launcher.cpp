#include "launch/step_launcher.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <asio/post.hpp>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "base/check.hpp"
#include "base/text.hpp"
#include "exec/slurm_environment.hpp"
#include "exec/warden_protocol.hpp"
#include "launch/daemon_blob.hpp"
#include "launch/ssh_failure.hpp"
#include "launch/step_words.hpp"
#include "say/stepping.hpp"

namespace tide::launch {
namespace {

// For commands that do not even end by SIGKILL.
constexpr auto kLastWait = std::chrono::seconds(15);

exec::Environment environment_for(const StepLauncherConfig& config) {
  exec::Environment out = exec::current_environment();
  if (!config.names_its_job) return out;
  const auto steering = exec::slurm_variables_that_steer(out);
  std::erase_if(out, [&steering](const std::string& entry) {
    const auto name = entry.substr(0, entry.find('='));
    return std::ranges::find(steering, name) != steering.end();
  });
  return out;
}

void wipe_key(wire::DaemonBlob& blob) {
  exec::wipe(*blob.mutable_key());
}

// What is the same for all is taken from the first.
exec::Secret step_blob(std::vector<LaunchItem>& items, bool sole) {
  wire::StepBlob step;
  step.set_sole(sole);
  for (LaunchItem& item : items) {
    wire::DaemonBlob blob;
    TIDE_CHECK(blob.ParseFromString(item.blob) && blob.below_size() == 0);
    auto& seed = *step.add_daemons();
    seed.set_rank(blob.rank());
    seed.set_incarnation(blob.incarnation());
    seed.set_campaign(blob.campaign());
    seed.set_node(blob.node());
    seed.set_host(item.host);
    if (step.daemons_size() == 1) {
      *step.mutable_common() = blob_for({}, blob);
      step.mutable_common()->set_in_step(true);
      step.mutable_common()->set_attached(false);  // each has its log
    }
    wipe_key(blob);
    exec::wipe(item.blob);
  }
  std::string text = step.SerializeAsString();
  wipe_key(*step.mutable_common());
  exec::Secret framed = framed_blob(text);
  exec::wipe(text);
  return framed;
}

}  // namespace

StepLauncherConfig step_launcher_config(const Params& params, const LauncherChoice& choice,
                                        const std::string& prted) {
  StepLauncherConfig config;
  config.command = {.pattern = choice.pattern,
                    .args = choice.is_slurms ? params.get_string("plm_slurm_args") : "",
                    .program = {prted, "--step"}};
  config.names_its_job = choice.is_slurms;
  config.concurrent = static_cast<std::size_t>(params.get_int("plm_ssh_num_concurrent"));
  config.timeout_ms = params.get_duration_ms("plm_step_timeout");
  return config;
}

StepLauncher::StepLauncher(asio::io_context& io, StepLauncherConfig config, LaunchHandler& handler)
    : io_(io),
      config_(std::move(config)),
      handler_(handler),
      environment_(environment_for(config_)),
      spawner_("", config_.descriptor_limit),
      shutdown_timer_(io) {}

StepLauncher::~StepLauncher() {
  wipe_queue();
}

Status StepLauncher::start() {
  const char* const path = ::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): one thread
  auto command = StepCommand::choose(
      config_.command, path == nullptr ? std::nullopt : std::optional<std::string_view>(path));
  if (!command && config_.may_lack_command) {
    no_command_ = command.error().message;
    return ok_status();
  }
  if (!command) return command.error();
  command_ = std::move(*command);
  return ok_status();
}

void StepLauncher::launch(std::vector<LaunchItem> items) {
  std::map<std::string, Group> by_job;
  for (LaunchItem& item : items) {
    if (shutting_down_ || over_.contains(item.rank)) {
      fail_later(item.rank, "it was ended before its start");
    } else if (!command_) {
      fail_later(item.rank, no_command_);
    } else if (!is_scheduler_name(item.host)) {
      fail_later(item.rank, say::not_a_host_name(item.host));
    } else if (config_.names_its_job && item.job.empty()) {
      fail_later(item.rank, say::node_without_job(item.host));  // srun would ask for one
    } else if (config_.command.pattern.each) {
      queue_.emplace_back().push_back(std::move(item));
      continue;
    } else {
      by_job[item.job].push_back(std::move(item));
      continue;
    }
    exec::wipe(item.blob);
  }
  for (auto& [job, group] : by_job) queue_.push_back(std::move(group));
  start_some();
}

void StepLauncher::start_some() {
  while (!queue_.empty() && under_way_ < config_.concurrent && !shutting_down_) {
    Group group = std::move(queue_.front());
    queue_.pop_front();
    start_step(std::move(group));
  }
}

void StepLauncher::start_step(Group items) {
  reap_helpers();
  auto step = std::make_shared<Step>();
  step->job = items.front().job;
  std::vector<StepMember> members;
  std::vector<std::string> hosts;
  for (const auto& item : items) {
    members.push_back({item.rank, item.host});
    hosts.push_back(item.host);
    step->hosts[item.rank] = item.host;
    step->starting.insert(item.rank);
  }
  exec::Secret blob = step_blob(items, config_.command.pattern.each);
  step->session =
      std::make_shared<StepSession>(io_,
                                    StepSession::Settings{.timeout_ms = config_.timeout_ms,
                                                          .orderly_end_ms = config_.orderly_end_ms,
                                                          .watch_child = config_.watch_child},
                                    members, callbacks_of(step));
  const auto argv = command_->argv(step->job, hosts);
  Status started = argv ? ok_status() : Status(argv.error());
  if (started && blob.text().size() > kMaxStepBlobBytes) {
    started = Error{ErrorCode::kInvalidArgument, "what the daemons have to be told is too long"};
  }
  if (started) started = step->session->start(spawner_, *argv, environment_, std::move(blob));
  if (!started) {
    for (const auto& member : members) fail_later(member.rank, started.error().message);
    return;
  }
  ++under_way_;
  steps_.insert(step);
  for (const auto& member : members) running_[member.rank] = step;
}

StepSession::Callbacks StepLauncher::callbacks_of(const std::shared_ptr<Step>& step) {
  const std::weak_ptr<Step> weak = step;
  return {.greeted =
              [this](Rank rank, const std::string& version) {
                if (!shutting_down_) handler_.on_daemon_greeted(rank, version);
              },
          .joined =
              [this, weak](Rank rank, pid_t pid) {
                if (!shutting_down_) handler_.on_daemon_started(rank, pid);
                if (const auto known = weak.lock()) not_starting(*known, rank);
              },
          .leaves =
              [this, weak](Rank rank) {
                if (!weak.expired() && !shutting_down_) handler_.on_daemon_leaves(rank);
              },
          .ended =
              [this, weak](Rank rank, const StepEnd& end) {
                if (const auto known = weak.lock()) ended(*known, rank, end);
              },
          .over =
              [this, weak] {
                if (const auto known = weak.lock()) over(known);
              }};
}

void StepLauncher::not_starting(Step& step, Rank rank) {
  if (step.starting.erase(rank) == 0 || !step.starting.empty()) return;
  --under_way_;
  start_some();
}

void StepLauncher::ended(Step& step, Rank rank, const StepEnd& end) {
  running_.erase(rank);
  over_.insert(rank);
  not_starting(step, rank);
  if (shutting_down_) return;
  if (end.joined || ended_by_us_.contains(rank)) {
    auto text = say::step_daemon_ended(end.with_step ? command_->name() : "",
                                       exec::describe_wait_status(end.wait_status), end.words);
    const bool is_loss = end.with_step && !ended_by_us_.contains(rank);
    if (is_loss && !std::exchange(step.is_lost, true)) handler_.on_step_lost(text);
    handler_.on_daemon_exited(rank, std::move(text));
  } else {
    handler_.on_daemon_launch_failed(rank, describe(step, rank, end));
  }
}

// srun leaves a helper that ends a little later: it comes to us, because we are a subreaper.
void StepLauncher::reap_helpers() {
  std::erase_if(left_groups_, [](pid_t group) {
    pid_t reaped = 0;
    do {
      reaped = ::waitpid(-group, nullptr, WNOHANG);
    } while (reaped > 0);
    return reaped < 0;  // none of it is ours any more
  });
}

void StepLauncher::over(const std::shared_ptr<Step>& step) {
  if (const auto group = step->session->group(); group > 0) left_groups_.insert(group);
  reap_helpers();
  steps_.erase(step);
  if (shutting_down_ && steps_.empty()) finish_shutdown();
}

std::string StepLauncher::describe(const Step& step, Rank rank, const StepEnd& end) const {
  SessionEnd session{.timed_out = end.timed_out,
                     .greeted = end.greeted,
                     .other_protocol = end.other_protocol,
                     .wait_status = end.wait_status,
                     .waited_ms = end.waited_ms,
                     .error_output = join(end.words, "\n")};
  const std::string& host = step.hosts.at(rank);
  return say::step_failed({.trouble = trouble_of(session),
                           .host = host,
                           .command = command_->name(),
                           .job = step.job,
                           .by_hand = command_->by_hand(step.job, host),
                           .program = config_.command.program.front(),
                           .how = exec::describe_wait_status(end.wait_status),
                           .command_ended = end.with_step,
                           .words = end.words,
                           .waited_ms = end.waited_ms,
                           .timeout_ms = config_.timeout_ms,
                           .our_version = config_.version,
                           .their_version = end.their_version});
}

void StepLauncher::fail_later(Rank rank, std::string text) {
  over_.insert(rank);
  asio::post(io_, [this, alive = std::weak_ptr(lifetime_), rank, text = std::move(text)] {
    if (!alive.expired() && !shutting_down_) handler_.on_daemon_launch_failed(rank, text);
  });
}

void StepLauncher::exited_later(Rank rank, std::string text) {
  asio::post(io_, [this, alive = std::weak_ptr(lifetime_), rank, text = std::move(text)] {
    if (!alive.expired() && !shutting_down_) handler_.on_daemon_exited(rank, text);
  });
}

void StepLauncher::end(Rank rank) {
  const auto running = running_.find(rank);
  if (running == running_.end()) return end_unstarted(rank);
  ended_by_us_.insert(rank);
  running->second->session->end(rank);
}

void StepLauncher::give_up(Rank rank) {
  const auto running = running_.find(rank);
  if (running == running_.end()) return end_unstarted(rank);
  ended_by_us_.insert(rank);
  running->second->session->give_up(rank);
}

void StepLauncher::end_unstarted(Rank rank) {
  if (!over_.insert(rank).second) return;
  leave_queue(rank);
  exited_later(rank, "nothing is left of it here");
}

void StepLauncher::wipe_queue() {
  for (auto& group : queue_) {
    for (auto& item : group) exec::wipe(item.blob);
  }
  queue_.clear();
}

void StepLauncher::leave_queue(Rank rank) {
  for (auto& group : queue_) {
    std::erase_if(group, [rank](LaunchItem& item) {
      if (item.rank == rank) exec::wipe(item.blob);
      return item.rank == rank;
    });
  }
  std::erase_if(queue_, [](const Group& group) { return group.empty(); });
}

void StepLauncher::shutdown() {
  if (shutting_down_) return;
  shutting_down_ = true;
  wipe_queue();
  for (const auto& step : steps_) step->session->end();
  shutdown_timer_.expires_after(steps_.empty() ? std::chrono::seconds(0) : kLastWait);
  shutdown_timer_.async_wait(
      [this, alive = std::weak_ptr(lifetime_)](const asio::error_code& error) {
        if (!error && !alive.expired()) finish_shutdown();
      });
}

void StepLauncher::finish_shutdown() {
  if (std::exchange(down_, true)) return;
  shutdown_timer_.cancel();
  handler_.on_shutdown_done();
}

}  // namespace tide::launch
