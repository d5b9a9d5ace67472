// What tools of this server asked for of the output of jobs.
#pragma once

#include <set>
#include <string>

#include "pmix/bridge.hpp"
#include "wire/services.pb.h"

namespace tide::pmix {

// On the io_context's thread.
class Pulls {
 public:
  explicit Pulls(Bridge& bridge) : bridge_(bridge) {}

  void remember(const wire::ServiceRequest& request);
  // libpmix does not say which of them is over, so all are when nobody is left.
  void stop_all();

 private:
  Bridge& bridge_;
  std::set<std::string> requests_;  // as bytes
};

}  // namespace tide::pmix
