#include "pmix/settling.hpp"

#include <asio/steady_timer.hpp>
#include <chrono>
#include <utility>

namespace tide::pmix {
namespace {

constexpr auto kPause = std::chrono::milliseconds(1);
// libpmix's thread waits a second for a caller that says half of what it has to say.
constexpr auto kPatience = std::chrono::seconds(5);

}  // namespace

struct Settling::Waiting {
  asio::steady_timer timer;
  std::chrono::steady_clock::time_point deadline;
  std::set<std::uint64_t> connections;
  std::function<void()> then;
};

void Settling::wait(std::function<void()> then) {
  auto connections = unsettled_();
  if (connections.empty()) return then();
  look(std::make_shared<Waiting>(Waiting{asio::steady_timer(io_),
                                         std::chrono::steady_clock::now() + kPatience,
                                         std::move(connections), std::move(then)}));
}

void Settling::look(const std::shared_ptr<Waiting>& waiting) {
  waiting->timer.expires_after(kPause);
  waiting->timer.async_wait([this, waiting, alive = std::weak_ptr(lifetime_)](std::error_code) {
    if (alive.expired()) return;
    const auto now = unsettled_();
    std::erase_if(waiting->connections, [&](std::uint64_t one) { return !now.contains(one); });
    const bool late = std::chrono::steady_clock::now() > waiting->deadline;
    waiting->connections.empty() || late ? waiting->then() : look(waiting);
  });
}

}  // namespace tide::pmix
