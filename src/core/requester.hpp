// Who asked the head for something, and how it is answered: through the daemon it asked.
#pragma once

#include <cstdint>

#include "base/ids.hpp"
#include "core/daemon_port.hpp"
#include "core/service_status.hpp"

namespace tide::core {

struct Requester {
  Rank daemon;
  std::uint64_t token = 0;
  auto operator<=>(const Requester&) const = default;
};

inline void answer(DaemonPort& daemons, const Requester& to, const Status& status,
                   wire::ServiceAnswer result = {}) {
  wire::DownBody body;
  *body.mutable_service_answer() = std::move(result);
  body.mutable_service_answer()->set_token(to.token);
  set_status(*body.mutable_service_answer(), status);
  daemons.scatter({{to.daemon, std::move(body)}}, nullptr, {});
}

}  // namespace tide::core
