// What tools and processes ask for allocations: new ones by count and by name, more nodes or time
// for them, other terms, their end; now and then what they may not, or what makes no sense. And at
// which of them jobs are aimed. What is drawn depends on what is there at that moment.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "core/actions.hpp"
#include "sim/chance.hpp"
#include "sim/scenario.hpp"
#include "sim/what.hpp"

namespace tide::sim {

class Services;

class Reservations {
 public:
  struct Asker {
    HostId host = kHeadHost;
    wire::ProcName who{};
    bool by_tool = false;
    bool is_scheduler = false;
  };

  explicit Reservations(Services& services) : services_(services) {}

  // One request; `then` with whether it was granted. The ticket.
  std::uint64_t ask(const Asker& asker, Chance chance, std::function<void(bool)> then);
  // Some of what is there, of the asker or not.
  void aim(wire::JobSpec& job, Chance chance) const;
  // Of the end of what has begun. False: it is about something else.
  bool on_event(HostId host, const wire::EventNotice& notice);

 private:
  struct Asked {
    HostId host = kHeadHost;
    wire::ProcName who{};
    std::string allocation{};
    bool warned = false;  // wants to be, before it ends
    bool answered = false;
    bool expects = false;  // to be told of the end
    bool told = false;
  };

  [[nodiscard]] wire::AllocationRequest draw(const Asker& asker, Chance& chance) const;
  void draw_new(const Asker& asker, wire::AllocationRequest& request, Chance& chance) const;
  void draw_extension(wire::AllocationRequest& request, Chance& chance) const;
  void draw_release(wire::AllocationRequest& request, Chance& chance) const;
  void draw_nodes(wire::AllocationRequest& request, Chance& chance, bool grows) const;
  void draw_terms(wire::AllocationRequest& request, Chance& chance) const;
  [[nodiscard]] std::string draw_allocation(Chance& chance) const;
  [[nodiscard]] std::string draw_owner(Chance& chance) const;

  Services& services_;
  std::map<std::string, Asked> asked_;  // by request id
  std::uint64_t last_ = 0;
};

}  // namespace tide::sim
