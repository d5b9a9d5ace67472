// Whose nodes are whose. Every node is in one session: the default session, whose nodes are
// everybody's, or a reservation, the nodes of an allocation that does not share them. Which one it
// is in stands in the book of nodes (Node::session), so it is never in two.
//
// Kept here is what is known of the allocations that processes and tools have asked for.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/roster.hpp"

namespace tide::core {

struct Allocation {
  std::string id{};          // empty: not made yet
  std::string owner{};       // the namespace that asked for it
  std::string request_id{};  // the owner's name for it; empty: none
  bool shared = false;       // its nodes are in the default session
  bool ending = false;       // it was released, and its nodes are leaving
};

inline constexpr std::size_t kMaxAllocations = 10'000;

class Sessions {
 public:
  explicit Sessions(Roster& roster) : roster_(roster) {}

  // Also one that is ending. Null: none of this id.
  [[nodiscard]] const Allocation* find(const std::string& id) const;
  // As people ask for it: one that is ending is none any more.
  [[nodiscard]] const Allocation* resolve(const std::string& id) const;
  // The last one that the owner called so.
  [[nodiscard]] const Allocation* resolve(const std::string& owner,
                                          const std::string& request_id) const;
  [[nodiscard]] bool full() const { return allocations_.size() >= kMaxAllocations; }
  [[nodiscard]] const std::vector<Allocation>& all() const { return allocations_; }

  // Of one that is not there yet.
  void make(Allocation allocation);
  // An error if one of these nodes can't become, or be, one of the allocation's session.
  [[nodiscard]] Status may_join(const std::vector<std::string>& nodes,
                                const Allocation& allocation) const;
  // Those of the nodes that were in the default session: they are the allocation's from now on.
  std::set<Rank> join(const std::vector<std::string>& nodes, const Allocation& allocation);
  void unreserve(const std::set<Rank>& ranks);

  // Of an allocation: the nodes that came with it, which leave with it, and for a reservation also
  // those that it took out of the default session, which go back there.
  struct Nodes {
    std::set<Rank> brought{};
    std::set<Rank> taken{};
  };
  [[nodiscard]] Nodes nodes_of(const Allocation& allocation) const;
  void set_ending(const std::string& id, bool ending);
  // What is left of its nodes is in the default session, and its id means nothing any more.
  void end(const std::string& id);

  // Nobody is left to name what this namespace shares; its reservations stay.
  void on_owner_gone(const std::string& nspace);

 private:
  Allocation* find_mutable(const std::string& id);

  Roster& roster_;
  std::vector<Allocation> allocations_;  // in the order in which they were made
};

}  // namespace tide::core
