#include "launch/local_launcher.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <asio/buffer.hpp>
#include <asio/post.hpp>
#include <asio/write.hpp>
#include <cerrno>
#include <chrono>
#include <utility>

#include "exec/unique_fd.hpp"
#include "launch/log_tail.hpp"

namespace tide::launch {
namespace {

constexpr std::size_t kLastWordsLines = 8;
constexpr const char* kLastWordsPrefix = "\n    ";
constexpr mode_t kLogMode = 0600;
// After the last SIGKILL we wait so long for the killed to go: one may hang in the kernel.
constexpr auto kLastWait = std::chrono::milliseconds(5000);

std::string with_last_words(std::string text, const std::string& log_path,
                            std::uint64_t log_begin) {
  const std::string words = log_tail(log_path, log_begin, kLastWordsLines, kLastWordsPrefix);
  if (!words.empty()) text += ", its last words:" + words;
  return text;
}

bool runs(pid_t pid, const std::string& program) {
  struct stat running{};
  struct stat wanted{};
  const std::string path = "/proc/" + std::to_string(pid) + "/exe";
  return ::stat(path.c_str(), &running) == 0 && ::stat(program.c_str(), &wanted) == 0 &&
         running.st_dev == wanted.st_dev && running.st_ino == wanted.st_ino;
}

}  // namespace

LocalLauncher::LocalLauncher(asio::io_context& io, LocalLauncherConfig config,
                             LaunchHandler& handler)
    : io_(io),
      config_(std::move(config)),
      handler_(handler),
      control_(io),
      warden_pidfd_(io),
      clear_timer_(io) {}

LocalLauncher::~LocalLauncher() = default;

Status LocalLauncher::start() {
  TIDE_CHECK(warden_pid_ == 0);
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return system_error("no subreaper", errno);
  const std::string log_path = config_.log_directory + "/warden.log";
  warden_log_begin_ = log_size(log_path);
  const exec::UniqueFd log(
      config_.attached
          ? ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)
          : ::open(log_path.c_str(),
                   O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, kLogMode));
  if (!log.is_open()) return system_error("cannot open " + log_path, errno);
  const exec::UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null.is_open()) return system_error("cannot open /dev/null", errno);
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return system_error("no socket for the warden", errno);
  }
  exec::UniqueFd ours(ends[0]);
  const exec::UniqueFd theirs(ends[1]);

  exec::ProcessSpawner spawner("", config_.descriptor_limit);
  const exec::Environment environment = exec::current_environment();
  const exec::EnvironmentBlock block(environment);
  const std::vector<std::string> argv = {config_.prted_path, "--warden",
                                         std::to_string(theirs.get()), config_.run_directory};
  auto warden = spawner.spawn(exec::SpawnRequest{.argv = argv,
                                                 .environment = block,
                                                 .working_directory = "",
                                                 .stdio = {null.get(), log.get(), log.get()},
                                                 .inherited_fd = theirs.get(),
                                                 .parent_death_signal = 0});
  if (!warden) return warden.error();
  warden_pid_ = warden->pid;
  asio::error_code error;
  control_.assign(asio::local::stream_protocol(), ours.get(), error);
  if (error) return system_error("cannot watch the warden's socket", error.value());
  (void)ours.release();  // belongs to control_ now
  warden_pidfd_.assign(warden->pidfd.get(), error);
  if (error) return system_error("cannot watch the warden", error.value());
  (void)warden->pidfd.release();
  read_next();
  wait_for_warden();
  return ok_status();
}

void LocalLauncher::launch(std::vector<LaunchItem> items) {
  for (LaunchItem& item : items) launch_one(std::move(item));
}

void LocalLauncher::launch_one(LaunchItem item) {
  exec::Secret blob(std::move(item.blob));
  if (!control_.is_open() || shutting_down_) return fail_later(item.rank, "the warden is gone");
  if (over_.contains(item.rank)) return fail_later(item.rank, "it was ended before its start");
  if (item.node.empty() || item.node.front() == '.' || item.node.find('/') != std::string::npos) {
    return fail_later(item.rank, "'" + item.node + "' cannot be the name of a node");
  }
  if (blob.text().size() > exec::kMaxBlobBytes) {
    return fail_later(item.rank, "what the daemon has to be told is too long");
  }
  exec::StartDaemon command;
  command.id = item.rank.value();
  command.argv = {config_.prted_path, "--node", item.node};
  command.argv.insert(command.argv.end(), config_.extra_args.begin(), config_.extra_args.end());
  if (!config_.attached) command.log_path = config_.log_directory + "/" + item.node + ".log";
  command.blob = std::move(blob);
  daemons_[item.rank] = Daemon{command.log_path, log_size(command.log_path)};
  send(std::move(command));
}

void LocalLauncher::fail_later(Rank rank, std::string text) {
  asio::post(io_, [this, alive = std::weak_ptr(lifetime_), rank, text = std::move(text)] {
    if (!alive.expired() && !shutting_down_) handler_.on_daemon_launch_failed(rank, text);
  });
}

void LocalLauncher::end(Rank rank) {
  if (daemons_.contains(rank)) return send(exec::StopDaemon{rank.value(), config_.end_grace_ms});
  if (!over_.insert(rank).second) return;
  asio::post(io_, [this, alive = std::weak_ptr(lifetime_), rank] {
    if (!alive.expired() && !shutting_down_) handler_.on_daemon_exited(rank, "it does not run");
  });
}

// The warden takes the end of its control socket as the order to end everything.
void LocalLauncher::shutdown() {
  if (shutting_down_) return;
  shutting_down_ = true;
  if (clearing_) return;
  if (warden_pid_ == 0) {
    asio::post(io_, [this, alive = std::weak_ptr(lifetime_)] {
      if (!alive.expired()) handler_.on_shutdown_done();
    });
  } else if (unsent_.empty()) {
    close_control();
  }
}

void LocalLauncher::close_control() {
  asio::error_code ignored;
  control_.close(ignored);
}

void LocalLauncher::send(const exec::WardenCommand& command) {
  if (!control_.is_open() || shutting_down_) return;
  unsent_.push_back(exec::encode(command));
  if (unsent_.size() == 1) write_next();
}

void LocalLauncher::write_next() {
  asio::async_write(
      control_, asio::buffer(unsent_.front().text()),
      [this, alive = std::weak_ptr(lifetime_)](const asio::error_code& error, std::size_t) {
        if (alive.expired()) return;
        if (error) return unsent_.clear();  // the warden is gone: its pidfd will tell
        unsent_.pop_front();
        if (!unsent_.empty()) {
          write_next();
        } else if (shutting_down_) {
          close_control();
        }
      });
}

void LocalLauncher::read_next() {
  const auto space = reader_.free_space();
  control_.async_read_some(
      asio::buffer(space.data(), space.size()),
      [this, alive = std::weak_ptr(lifetime_)](const asio::error_code& error, std::size_t bytes) {
        if (alive.expired() || shutting_down_) return;
        if (error || !reader_.filled(bytes)) return close_control();  // makes the warden end
        if (const auto frame = reader_.take_frame()) {
          const auto report = exec::decode_report(frame->text());
          if (!report) return close_control();
          std::visit([this](const auto& message) { handle(message); }, *report);
          if (alive.expired()) return;
        }
        if (control_.is_open()) read_next();
      });
}

void LocalLauncher::handle(const exec::Started& started) {
  daemons_[Rank(started.id)].pid = static_cast<pid_t>(started.pid);
  handler_.on_daemon_started(Rank(started.id), static_cast<pid_t>(started.pid));
}

void LocalLauncher::handle(const exec::StartFailed& failed) {
  daemons_.erase(Rank(failed.id));
  over_.insert(Rank(failed.id));
  handler_.on_daemon_launch_failed(Rank(failed.id), failed.text);
}

void LocalLauncher::handle(const exec::DaemonEnded& ended) {
  auto daemon = daemons_.extract(Rank(ended.id));
  if (daemon.empty()) return;
  over_.insert(Rank(ended.id));
  handler_.on_daemon_exited(Rank(ended.id), with_last_words(ended.text, daemon.mapped().log_path,
                                                            daemon.mapped().log_begin));
}

void LocalLauncher::wait_for_warden() {
  warden_pidfd_.async_wait(asio::posix::descriptor_base::wait_read,
                           [this, alive = std::weak_ptr(lifetime_)](const asio::error_code& error) {
                             if (!error && !alive.expired()) warden_ended();
                           });
}

void LocalLauncher::warden_ended() {
  int status = 0;
  const bool known = ::waitpid(warden_pid_, &status, WNOHANG) == warden_pid_;
  asio::error_code ignored;
  warden_pidfd_.close(ignored);
  warden_pid_ = 0;
  close_control();
  begin_clearing();
  if (shutting_down_) return;
  const std::string how = known ? exec::describe_wait_status(status) : "an unknown status";
  handler_.on_warden_lost(with_last_words(
      "the warden ended with " + how, config_.log_directory + "/warden.log", warden_log_begin_));
}

// Orphans of jobs are ended at once. Daemons got SIGTERM by losing the warden and have the grace
// period, unless they are stopped: then the end of it is what ends them. So have those that came to
// us from an agent that ran on this machine: they end by themselves, and remove their directories.
void LocalLauncher::begin_clearing() {
  clearing_ = true;
  const auto now = Clock::now();
  kill_daemons_at_ = now + std::chrono::milliseconds(config_.end_grace_ms);
  pace_.start(now);
  asio::post(io_, [this, alive = std::weak_ptr(lifetime_)] {
    if (!alive.expired()) clear();
  });
}

void LocalLauncher::clear() {
  const auto now = Clock::now();
  const bool patient = now < kill_daemons_at_;
  std::set<pid_t> living;
  for (const auto& [rank, daemon] : daemons_) {
    if (daemon.pid != 0 && ::waitpid(daemon.pid, nullptr, WNOHANG) == 0) living.insert(daemon.pid);
  }
  const auto spared = [this](pid_t pid) { return config_.spared && config_.spared(pid); };
  exec::end_children_unless([&](pid_t pid) {
    return spared(pid) || (patient && (living.contains(pid) || runs(pid, config_.prted_path)));
  });
  const bool only_spared = std::ranges::all_of(exec::child_pids(), spared);
  if (only_spared || now >= kill_daemons_at_ + kLastWait) return cleared();
  pace_.looked(now, true);
  clear_timer_.expires_at(pace_.next());
  if (patient && pace_.next() > kill_daemons_at_) {
    clear_timer_.expires_at(kill_daemons_at_);
    pace_.start(kill_daemons_at_);  // who is killed then is gone soon
  }
  clear_timer_.async_wait([this, alive = std::weak_ptr(lifetime_)](const asio::error_code& error) {
    if (!error && !alive.expired()) clear();
  });
}

void LocalLauncher::cleared() {
  clearing_ = false;
  if (shutting_down_) handler_.on_shutdown_done();
}

}  // namespace tide::launch
