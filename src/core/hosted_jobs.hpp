// What the services know of the jobs of their daemon, and the way to the head.
#pragma once

#include <string_view>

#include "base/bytes.hpp"
#include "wire/link.pb.h"

namespace tide::core {

// The way to the head, as the parts of a daemon see it.
class HeadPath {
 public:
  virtual ~HeadPath() = default;
  virtual void send_to_head(wire::UpBody body, Bytes payload) = 0;
  virtual void contribute(const wire::Reduction& reduction) = 0;
};

class HostedJobs {
 public:
  virtual ~HostedJobs() = default;
  // nullptr: no process of it is here.
  [[nodiscard]] virtual const wire::LaunchCommon* launch_of(std::string_view nspace) const = 0;
  // Appears as if the process had written it. False: it is not here.
  virtual bool write_for(const wire::ProcName& who, wire::Stream stream, const Bytes& data) = 0;
};

}  // namespace tide::core
