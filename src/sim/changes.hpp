// Whoever changes the size of the DVM, and the virtual resource managers that have nodes for it:
// two, of which the second declines, fails and defers as it likes.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/actions.hpp"
#include "sim/chance.hpp"
#include "sim/scenario.hpp"
#include "sim/what.hpp"

namespace tide::sim {

class World;
struct Given;

inline constexpr std::array kManagers = {"m1", "m2"};
// What the DVM starts with is the first one's, of the others every second the second one's.
const char* manager_of(const std::string& node);

// What one that asks for a change saw of it.
struct ChangeOutcome {
  ChangePlan plan;
  std::uint64_t asked_ms = 0;
  bool asked = false;
  bool refused = false;
  bool begun = false;
  bool complete = false;  // in phase one
  bool ended = false;
  bool done = false;
  bool left = false;  // who asked went away
  // Of a tool.
  HostId host = kHeadHost;
  wire::ProcName name{};
  std::string allocation{};
  std::set<std::uint64_t> tickets{};
  std::set<Rank> ranks;  // whose daemons leave if it is done, or come to nothing if it fails
};

class Changes {
 public:
  explicit Changes(World& world);

  void plan_all();
  // True if it is for a resource manager.
  bool perform(const core::Action& action);
  // True if it is for somebody who wants a change.
  bool on_reply(const core::Reply& reply);
  // Of the end of a change, to the tool that asked for it.
  void on_event(HostId host, const wire::EventNotice& notice);
  void host_gone(HostId host);
  // What goes wrong when the daemon of this node is started; told once.
  std::optional<FaultKind> trouble_of(const std::string& node);

  // The nodes that the job with this plan, the `index`-th, asks for.
  void add_nodes(const JobPlan& plan, std::size_t index, wire::JobSpec& job);
  // Whoever asks for nodes may be told that there are none.
  [[nodiscard]] bool ever_refused() const { return ever_refused_; }

  void on_head_step(const core::HeadEvent& event);
  // After a step in which changes may have ended, before what it led to is performed.
  void check_told(const core::Actions& actions) const;
  void when_quiet() const;
  // The DVM has ended: everybody who was told of a beginning was told of the end.
  void at_the_end() const;

 private:
  void ask(std::size_t index);
  void ask_to_grow(std::size_t index);
  void ask_to_shrink(std::size_t index);
  void attach(std::size_t index);
  void ask_by_tool(std::size_t index);
  void on_answer(std::size_t index, const Given& given);
  void part(std::size_t index);
  void push(std::size_t index);
  void reclaim(std::size_t index);
  void arm_leaving(std::size_t index);
  void leave(std::size_t index);
  void note_ranks(ChangeOutcome& outcome, const wire::ChangeBegun& begun) const;
  void on_ended(ChangeOutcome& outcome, const wire::ChangeEnded& ended) const;
  [[nodiscard]] bool ends_unseen(Rank rank, bool by_head, const ChangeOutcome& outcome) const;
  void check_unordered(const ChangeOutcome& outcome) const;
  void check_round(const ChangeOutcome& outcome) const;
  void check_leases() const;
  void check_lease_ends();
  void grant(const core::AskForNodes& ask);
  void prolong(const core::AskForTime& ask);
  void queue(std::uint32_t ask, Chance chance, std::function<void()> then);
  void forget(std::uint32_t ask);
  void decide(const core::AskForNodes& ask, Chance chance);
  void decide(const core::AskForTime& ask, Chance chance);
  void draw_trouble(const std::vector<std::string>& names);
  void plan_moves(std::uint32_t ask, const std::vector<std::string>& names, Chance chance);
  void note_moved(const core::LeaseMoved& moved);
  void note_lease(const core::NodesGranted& granted);
  void take_back(const core::ReturnNodes& order);
  [[nodiscard]] std::vector<std::string> some_nodes(std::uint32_t count,
                                                    std::uint64_t purpose) const;
  core::NodeRequest node_named(const std::string& name);

  // In which every resource manager is offered its share.
  struct Round {
    std::set<std::string> offered;
    std::set<std::string> unanswered;
    std::uint64_t since_ms = 0;
  };

  World& world_;
  std::vector<ChangeOutcome> outcomes_;
  std::map<std::string, Round> rounds_;                // by allocation
  std::map<std::string, std::uint64_t> leased_until_;  // by node, in milliseconds
  std::set<std::string> free_;
  std::set<Rank> reported_;
  std::map<std::string, FaultKind> troubles_;
  std::optional<std::uint64_t> last_trouble_ms_;
  bool ever_refused_ = false;
  std::set<std::uint32_t> queued_;  // requests that are decided later
  std::uint64_t lease_ends_ = 0;    // that the head has counted
  std::uint64_t incarnations_ = 0;
  std::uint64_t answers_ = 0;
};

}  // namespace tide::sim
