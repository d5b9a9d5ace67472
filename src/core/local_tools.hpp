// Tools that are attached to this daemon, what they get to read, and what is told to and by those
// who are here.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "core/actions.hpp"
#include "core/hosted_jobs.hpp"
#include "core/local_requests.hpp"
#include "core/proc_names.hpp"

namespace tide::core {

class LocalTools {
 public:
  LocalTools(Rank self, std::string dvm_id, LocalRequests& requests, HeadPath& head, Actions& out,
             std::size_t message_limit)
      : self_(self),
        dvm_id_(std::move(dvm_id)),
        requests_(requests),
        head_(head),
        out_(out),
        limit_(message_limit) {}

  void handle(const ToolArrived& event);
  void handle(const ToolGone& event);
  void handle(const OutputDelivered& event);
  void handle(const EventRaised& event);

  // ---- from the head ----
  void on_output(const wire::ToolOutput& output, const Bytes& data);
  void on_event(const wire::EventNotice& notice) { out_.emplace_back(DeliverEvent{notice}); }
  // This daemon is about to leave the DVM: those who are attached are told.
  void tell_of_end();
  [[nodiscard]] bool idle() const { return tools_.empty() && delivering_.empty(); }

 private:
  Rank self_;
  std::string dvm_id_;
  LocalRequests& requests_;
  HeadPath& head_;
  Actions& out_;
  std::size_t limit_;  // of one message
  std::set<ProcId> tools_;
  std::map<std::uint64_t, wire::ToolOutputTaken> delivering_;
  std::uint64_t last_delivery_ = 0;
  std::uint32_t last_tool_ = 0;
};

}  // namespace tide::core
