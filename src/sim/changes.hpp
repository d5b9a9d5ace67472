// Whoever changes the size of the DVM, and the virtual resource manager that has nodes for it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/actions.hpp"
#include "sim/scenario.hpp"

namespace tide::sim {

class World;

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
  bool left = false;     // who asked went away
  std::set<Rank> ranks;  // whose daemons leave if it is done, or come to nothing if it fails
};

class Changes {
 public:
  explicit Changes(World& world);

  void plan_all();
  // True if it is for the resource manager.
  bool perform(const core::Action& action);
  // True if it is for somebody who wants a change.
  bool on_reply(const core::Reply& reply);
  // What goes wrong when the daemon of this node is started; told once.
  std::optional<FaultKind> trouble_of(const std::string& node);

  void when_quiet() const;

 private:
  void ask(std::size_t index);
  void ask_to_grow(std::size_t index);
  void ask_to_shrink(std::size_t index);
  void push(std::size_t index);
  void reclaim(std::size_t index);
  void leave(std::size_t index);
  void note_ranks(ChangeOutcome& outcome, const wire::ChangeBegun& begun) const;
  void on_ended(ChangeOutcome& outcome, const wire::ChangeEnded& ended) const;
  void grant(const core::AskForNodes& ask);
  void take_back(const core::ReturnNodes& order);
  [[nodiscard]] std::vector<std::string> some_nodes(std::uint32_t count,
                                                    std::uint64_t purpose) const;
  core::NodeRequest node_named(const std::string& name);

  World& world_;
  std::vector<ChangeOutcome> outcomes_;
  std::set<std::string> free_;
  std::map<std::string, FaultKind> troubles_;
  std::map<std::uint32_t, std::size_t> asks_;  // by the number of the question, whose it is
  std::uint64_t incarnations_ = 0;
  std::uint64_t answers_ = 0;
};

}  // namespace tide::sim
