#include "launch/mixed_launcher.hpp"

#include <utility>

#include "base/check.hpp"

namespace tide::launch {

MixedLauncher::MixedLauncher(asio::io_context& io, LocalLauncherConfig local,
                             std::optional<SshLauncherConfig> ssh, LaunchHandler& handler,
                             std::optional<StepLauncherConfig> step)
    : local_(io, std::move(local), handler), outpost_(handler, *this) {
  if (ssh) ssh_.emplace(io, std::move(*ssh), outpost_);
  if (step) step_.emplace(io, std::move(*step), outpost_);
  up_ = (ssh_ ? 1 : 0) + (step_ ? 1 : 0);
}

Status MixedLauncher::start() {
  if (ssh_) {
    if (auto started = ssh_->start(); !started) return started;
  }
  if (step_) {
    if (auto started = step_->start(); !started) return started;
  }
  return local_.start();
}

Launcher& MixedLauncher::launcher_of(const LaunchItem& item) {
  if (item.in_step) {
    TIDE_CHECK(step_.has_value());
    return *step_;
  }
  if (item.host.empty()) return local_;
  TIDE_CHECK(ssh_.has_value());
  return *ssh_;
}

void MixedLauncher::launch(std::vector<LaunchItem> items) {
  std::map<Launcher*, std::vector<LaunchItem>> parts;
  for (LaunchItem& item : items) {
    Launcher& launcher = launcher_of(item);
    if (&launcher != &local_) elsewhere_[item.rank] = &launcher;
    parts[&launcher].push_back(std::move(item));
  }
  for (auto& [launcher, part] : parts) launcher->launch(std::move(part));
}

void MixedLauncher::end(Rank rank) {
  const auto found = elsewhere_.find(rank);
  if (found != elsewhere_.end()) return found->second->end(rank);
  local_.end(rank);
}

void MixedLauncher::give_up(Rank rank) {
  const auto found = elsewhere_.find(rank);
  if (found != elsewhere_.end()) return found->second->give_up(rank);
  local_.give_up(rank);
}

void MixedLauncher::shutdown() {
  if (up_ == 0) return local_.shutdown();
  if (ssh_) ssh_->shutdown();
  if (step_) step_->shutdown();
}

void MixedLauncher::one_is_down() {
  if (--up_ == 0) local_.shutdown();
}

}  // namespace tide::launch
