// What is promised of the tree and of those who leave it, held against every step of the daemons.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "core/daemon_core.hpp"
#include "core/head_core.hpp"
#include "sim/what.hpp"

namespace tide::sim {

// One step of a daemon, as far as it is looked at.
struct DaemonStep {
  HostId host = 0;
  Rank rank{};
  const core::DaemonEvent& event;
  const core::Actions& actions;
  const core::Membership& membership;  // after it
  bool leaving = false;                // after it
};

class TreeChecks {
 public:
  void on_head_step(const core::Membership& membership);
  void on_daemon_step(const DaemonStep& step);
  // Nothing happens any more: one of the daemons against the head.
  void check_agreement(HostId host, Rank rank, const core::Membership& seen,
                       const core::Membership& head) const;

 private:
  void check_order(const DaemonStep& step, bool applied) const;
  static void check_forwarding(const DaemonStep& step);
  void check_reports(const DaemonStep& step);
  void check_end(const DaemonStep& step) const;
  void note_tools(const DaemonStep& step);
  void check_farewell(const DaemonStep& step) const;

  struct Daemon {
    Serial serial{};
    bool leaving = false;
    std::uint64_t repairs_missed = 0;  // of the head, before it came
    std::set<core::ProcId> tools{};    // that are attached
    std::set<Rank> reported{};         // before it was to leave: that is said again if it got lost
  };
  std::map<Serial, std::uint64_t> repairs_;  // of the head, when it had come so far
  std::map<HostId, Daemon> daemons_;
};

}  // namespace tide::sim
