// Everything that a daemon does for the processes and tools that speak PMIx to it, and the head for
// the tools that do.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "core/guests.hpp"
#include "core/local_collectives.hpp"
#include "core/local_requests.hpp"
#include "core/local_tools.hpp"
#include "core/message_limit.hpp"

namespace tide::core {

template <class Part, class Event>
concept Handles = requires(Part& part, const Event& event) { part.handle(event); };

class LocalServices {
 public:
  LocalServices(Rank self, std::string dvm_id, HostedJobs& jobs, HeadPath& head, TimerBook& timers,
                Actions& out, std::size_t message_limit = kDefaultMessageLimit)
      : guests_(jobs, head, out),
        requests_(self, jobs, guests_, head, timers, out, message_limit),
        collectives_(self, jobs, guests_, head, timers, out, message_limit),
        tools_(self, std::move(dvm_id), requests_, head, out, message_limit) {}

  template <class Event>
    requires(Handles<Guests, Event> || Handles<LocalRequests, Event> ||
             Handles<LocalCollectives, Event> || Handles<LocalTools, Event>)
  void handle(const Event& event) {
    if constexpr (Handles<Guests, Event>) {
      guests_.handle(event);
    } else if constexpr (Handles<LocalRequests, Event>) {
      requests_.handle(event);
    } else if constexpr (Handles<LocalCollectives, Event>) {
      collectives_.handle(event);
    } else {
      tools_.handle(event);
    }
  }
  // See Guests.
  void introduce(const std::set<std::string>& nspaces, const Guests::Then& then) {
    guests_.introduce(nspaces, then);
  }
  bool handle_timer(TimerKind kind, std::uint32_t subject) {
    return requests_.handle_timer(kind, subject) || collectives_.handle_timer(kind, subject);
  }

  // From the head. False if it is for somebody else.
  bool deliver(const wire::DownBody& body, const Bytes& payload);
  void on_proc_ended(const wire::ProcName& proc) { requests_.on_proc_ended(proc); }
  void tell_tools_of_end() { tools_.tell_of_end(); }
  // The job is over: nobody waits for it any more.
  void forget(const std::string& nspace);
  // A new path to the head: what it has not answered goes again.
  void contribute_again() { collectives_.contribute_again(); }

  // Nothing is kept: nobody waits here, no tool is attached, no job has anything left.
  [[nodiscard]] bool idle() const {
    return guests_.idle() && requests_.idle() && collectives_.idle() && tools_.idle();
  }

 private:
  Guests guests_;
  LocalRequests requests_;
  LocalCollectives collectives_;
  LocalTools tools_;
};

}  // namespace tide::core
