// Whoever looks at the DVM while it works: every job can be explained at any time, and what is told
// of jobs and nodes makes sense in its order.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/head_core.hpp"

namespace tide::sim {

class Watchers {
 public:
  // `closely`: every job is looked at after every step, which costs time.
  explicit Watchers(bool closely) : closely_(closely) {}

  void on_head_step(const core::HeadCore& head);
  // No job is left.
  void when_quiet(const core::HeadCore& head) const;
  void at_the_end(const core::HeadCore& head) const;

 private:
  void take(const wire::DvmEvent& event);
  void take_of_job(const wire::DvmEvent& event);
  void take_of_node(const wire::DvmEvent& event);
  static void look_at(const core::HeadCore& head, JobId job);

  bool closely_;
  std::uint64_t seen_ = 0;                    // events
  std::map<std::uint32_t, int> jobs_;         // and how far the events say they are
  std::map<std::string, std::string> nodes_;  // and what was said of them last
};

}  // namespace tide::sim
