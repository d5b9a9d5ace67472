// How the parts of the head speak to daemons: reliable, in order, one message for many.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "wire/link.pb.h"

namespace tide::core {

class DaemonPort {
 public:
  virtual ~DaemonPort() = default;
  using Slices = std::vector<std::pair<Rank, wire::DownBody>>;
  // `launch` is the common part of launch slices, null for everything else.
  virtual void scatter(Slices slices, std::shared_ptr<const wire::LaunchCommon> launch,
                       Bytes payload) = 0;
};

}  // namespace tide::core
