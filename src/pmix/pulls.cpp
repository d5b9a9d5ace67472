#include "pmix/pulls.hpp"

#include <utility>

namespace tide::pmix {
namespace {

constexpr std::size_t kMost = 1024;     // the output of more comes until their jobs end
constexpr std::uint64_t kNoTicket = 0;  // nobody waits for the answer

}  // namespace

void Pulls::remember(const wire::ServiceRequest& request) {
  if (requests_.size() < kMost) requests_.insert(request.SerializeAsString());
}

void Pulls::stop_all() {
  for (const std::string& text : std::exchange(requests_, {})) {
    wire::ServiceRequest request;
    if (!request.ParseFromString(text)) continue;
    request.mutable_pull()->set_stop(true);
    bridge_.post([request = std::move(request)](Handler& handler) {
      handler.on_request(request, {}, kNoTicket);
    });
  }
}

}  // namespace tide::pmix
