#include "launch/mixed_launcher.hpp"

#include <utility>

namespace tide::launch {

MixedLauncher::MixedLauncher(asio::io_context& io, LocalLauncherConfig local,
                             std::optional<SshLauncherConfig> ssh, LaunchHandler& handler)
    : local_(io, std::move(local), handler), outpost_(handler, local_) {
  if (ssh) ssh_.emplace(io, std::move(*ssh), outpost_);
}

Status MixedLauncher::start() {
  if (ssh_) {
    if (auto started = ssh_->start(); !started) return started;
  }
  return local_.start();
}

void MixedLauncher::launch(std::vector<LaunchItem> items) {
  std::vector<LaunchItem> here;
  std::vector<LaunchItem> elsewhere;
  for (LaunchItem& item : items) {
    const bool remote = !item.host.empty();
    TIDE_CHECK(!remote || ssh_.has_value());
    if (remote) remote_.insert(item.rank);
    (remote ? elsewhere : here).push_back(std::move(item));
  }
  if (!here.empty()) local_.launch(std::move(here));
  if (!elsewhere.empty()) ssh_->launch(std::move(elsewhere));
}

void MixedLauncher::end(Rank rank) {
  if (remote_.contains(rank)) return ssh_->end(rank);
  local_.end(rank);
}

void MixedLauncher::shutdown() {
  if (ssh_) return ssh_->shutdown();
  local_.shutdown();
}

}  // namespace tide::launch
