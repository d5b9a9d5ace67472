// What processes and tools of this daemon ask of the DVM, one answer each: questions to the head,
// and what other processes have put.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "core/actions.hpp"
#include "core/guests.hpp"
#include "core/hosted_jobs.hpp"
#include "core/proc_names.hpp"
#include "core/timers.hpp"

namespace tide::core {

class LocalRequests {
 public:
  LocalRequests(Rank self, HostedJobs& jobs, Guests& guests, HeadPath& head, TimerBook& timers,
                Actions& out, std::size_t message_limit)
      : self_(self),
        jobs_(jobs),
        guests_(guests),
        head_(head),
        timers_(timers),
        out_(out),
        limit_(message_limit) {}

  void handle(const ServiceAsked& event);
  void handle(const ModexAsked& event);
  void handle(const ModexFetched& event);
  bool handle_timer(TimerKind kind, std::uint32_t subject);

  // What it published for as long as it lives goes with it, and nothing is told to it any more.
  void on_proc_ended(const wire::ProcName& proc);

  // ---- from the head ----
  void on_answer(const wire::ServiceAnswer& answer);
  void on_modex_request(const wire::ModexRequest& request);
  void on_modex_answer(const wire::ModexAnswer& answer, const Bytes& data);
  // The job is over: nobody waits for it any more.
  void forget(const std::string& nspace);
  // The tool has gone: what it asked for is not wanted any more.
  void forget_tool(const wire::ProcName& tool);
  [[nodiscard]] bool idle() const {
    return requests_.empty() && modexes_.empty() && fetching_.empty() && missed_.empty();
  }

 private:
  struct Asked {
    std::uint64_t ticket = 0;
    wire::ProcName who;
  };
  [[nodiscard]] bool fits(const ServiceAsked& event) const;
  void log(const ServiceAsked& event);
  void ask_modex(std::uint32_t token, const wire::ProcName& whose);
  void answer_modex(std::uint32_t token, const Status& status, const Bytes& data);
  void give_up(std::uint32_t token);

  Rank self_;
  HostedJobs& jobs_;
  Guests& guests_;
  HeadPath& head_;
  TimerBook& timers_;
  Actions& out_;
  std::size_t limit_;                               // of one message
  std::map<std::uint32_t, Asked> requests_;         // by token, which is also the timer's
  std::map<std::uint32_t, std::uint64_t> modexes_;  // tickets by token, which is also the timer's
  std::map<std::uint64_t, wire::ModexRequest> fetching_;
  // The head wants to know of their end: they published something that goes with them, or are told
  // of a change when it has ended.
  std::set<ProcId> missed_;
  std::uint32_t last_token_ = 0;
  std::uint64_t last_fetch_ = 0;
};

}  // namespace tide::core
