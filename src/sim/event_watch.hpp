// Events that processes raise: who must be told of them, who may be, and who was.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "core/actions.hpp"
#include "sim/what.hpp"

namespace tide::sim {

class Services;

class EventWatch {
 public:
  explicit EventWatch(Services& services) : services_(services) {}

  // What is raised gets a number, and the notice with it.
  void on_raised(wire::EventNotice& notice, Rank origin, std::set<Rank> may);
  // When the head hands it on the audience is what it is then.
  void on_head_step(const core::Actions& actions);
  void on_delivered(HostId host, const wire::EventNotice& notice);
  void when_quiet() const;

 private:
  struct Event {
    wire::EventNotice notice;
    Rank origin;
    bool for_all = false;
    std::set<Rank> may;
    std::set<Rank> must;
    bool seen = false;  // by the head
    std::map<HostId, int> delivered;
  };

  void see(const wire::EventNotice& notice);

  Services& services_;
  std::map<std::uint64_t, Event> events_;
  std::size_t unseen_ = 0;
};

}  // namespace tide::sim
