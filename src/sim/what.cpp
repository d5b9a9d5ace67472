#include "sim/what.hpp"

#include <fmt/format.h>

namespace tide::sim {

std::string describe(const What& what) {
  const auto host = what.host == kHeadHost ? "head" : fmt::format("h{}", what.host);
  switch (what.kind) {
    case What::Kind::kMessage:
    case What::Kind::kBulk:
      return fmt::format("message {} on link {} to {}", what.number, what.lane, host);
    case What::Kind::kNotice:
      return fmt::format("the news of link {} to {}", what.lane, host);
    case What::Kind::kKnock:
      return fmt::format("connection {} to {}", what.lane, host);
    case What::Kind::kProbe:
      return fmt::format("the answer to a probe of h{}", what.lane);
    case What::Kind::kLaunch:
    case What::Kind::kLateLaunch:
      return fmt::format("the start of h{}", what.lane);
    case What::Kind::kReaped:
      return fmt::format("the launcher's word of the end of h{}", what.lane);
    case What::Kind::kProcess:
      return fmt::format("a step of a process on {}", host);
    case What::Kind::kClient:
      return "a step of a client";
    case What::Kind::kStart:
      return "the start of the DVM";
    case What::Kind::kTimer:
      return fmt::format("timer {} of {}", what.number, host);
    case What::Kind::kArrival:
      return "one that comes and wants something";
    default:
      return fmt::format("a deadline of {}", host);
  }
}

}  // namespace tide::sim
