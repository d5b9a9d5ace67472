// What happened in the DVM, for whoever watches it: the last events, and those who wait for the
// next. An answer is given for a question, so one that does not read asks no more and costs a
// number.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "core/actions.hpp"
#include "core/job_state.hpp"

namespace tide::core {

enum class EventKind : std::uint8_t {
  kDvmStarting,
  kDvmReady,
  kDvmFailed,
  kDvmEnding,
  kDvmEnded,
  kNodeUp,
  kNodeSuspected,
  kNodeBack,
  kNodeLost,
  kJobSubmitted,
  kJobStarted,
  kJobRunning,
  kJobRegistered,
  kJobFailing,
  kJobEnded,
  kToolAttached,
  kToolGone,
  kNodeLeft,
  kGrowBegun,
  kGrowDone,
  kGrowFailed,
  kShrinkBegun,
  kShrinkDone,
  kShrinkFailed,
  kChangePhase,
  kLeaseWarning,
  kLeaseExtended,
  kLeaseMoved,
  kLeaseEnded,
  kReturnFailed,
  kRequestQueued,
  kRequestRefused,
  kAllocationMade,
  kAllocationExtended,
  kAllocationTargeted,
  kAllocationEnded,
};
// "job-ended" and the like.
const char* event_kind_name(EventKind kind);

class EventLog {
 public:
  EventLog(std::uint32_t remembered, Actions& out) : remembered_(remembered), out_(out) {}

  void set_now(std::uint64_t now_ms) { now_ms_ = now_ms; }
  void set_start(std::uint64_t start_ms) { start_ms_ = start_ms; }

  // Number, time and kind are set here; the rest is as given.
  void add(EventKind kind, wire::DvmEvent event);
  void add_of_dvm(EventKind kind, std::string_view detail);
  void add_of_node(EventKind kind, const std::string& node, std::string_view detail);

  void ask(ClientId client, std::uint32_t request, const wire::EventsQuery& query);
  void client_gone(ClientId client) { followers_.erase(client); }
  // Whoever waits is told what there is now.
  void tell();

  [[nodiscard]] std::uint64_t last() const { return last_; }
  [[nodiscard]] std::uint64_t start_ms() const { return start_ms_; }
  [[nodiscard]] const std::deque<wire::DvmEvent>& events() const { return events_; }
  [[nodiscard]] std::size_t followers() const { return followers_.size(); }

 private:
  struct Follower {
    std::uint32_t request = 0;
    std::uint64_t after = 0;
  };

  void answer(ClientId client, const Follower& follower);

  std::uint32_t remembered_;
  Actions& out_;
  std::deque<wire::DvmEvent> events_;  // newest last
  std::map<ClientId, Follower> followers_;
  std::uint64_t last_ = 0;
  std::uint64_t now_ms_ = 0;
  std::uint64_t start_ms_ = 0;
};

}  // namespace tide::core
