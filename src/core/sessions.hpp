// Whose nodes are whose. Every node is in one session: the default session, whose nodes are
// everybody's, or a reservation, the nodes of an allocation that does not share them. Which one it
// is in stands in the book of nodes (Node::session), so it is never in two.
//
// Kept here is what is known of the allocations that somebody has asked for: who owns them, who
// comes of whom, and what becomes of them when their owner ends. Whatever happens to one has a
// cause, which is told where it happens.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/allocation_services.hpp"
#include "core/event_log.hpp"
#include "core/genealogy.hpp"
#include "core/roster.hpp"

namespace tide::core {

// What becomes of an allocation when its owner has ended; numbers as in PMIx.
enum class Inheritance : std::uint8_t {
  kNotSaid = 0,
  kNone = 1,          // its nodes are given back
  kChild = 2,         // … when those that come of the owner have ended, too
  kDefault = 3,       // its nodes stay, and are everybody's
  kChildDefault = 4,  // … when those that come of the owner have ended, too
};
// "none" and the like; empty: not said.
const char* inheritance_name(Inheritance inheritance);

// Why an allocation was made, changed or ended.
enum class AllocationCause : std::uint8_t {
  kRequest,
  kScheduler,    // it pushes, takes back, or the time it gave is over
  kInheritance,  // the owner has ended
  kFailure,      // what was to make it has failed
  kTeardown,
};

// As whom somebody acts.
struct Actor {
  std::string nspace{};
  bool by_tool = false;     // or by a command: no job has to do with it
  bool by_command = false;  // which may do what the tools of the user may
  bool owns_all = false;    // a scheduler, or whoever administers the DVM
};

// What can be said again of an allocation that is there.
struct AllocationTerms {
  Inheritance inheritance = Inheritance::kNotSaid;
  std::shared_ptr<const PmixAsker> to_warn{};  // asked to be told before it ends; null: nobody
};

struct Allocation {
  std::string id{};          // empty: not made yet
  std::string owner{};       // the owning namespace
  std::string asker{};       // who made it
  std::string request_id{};  // the asker's name for it; empty: none
  bool shared = false;       // its nodes are in the default session
  bool of_user = false;      // a tool or command made it
  bool ending = false;       // it is over, and its nodes are leaving
  bool owner_ended = false;
  AllocationTerms terms{};
  std::set<std::string> users{};    // spawned into it; they own it, too
  std::set<std::string> derived{};  // come of the owner, or were spawned into it; those that live
  std::uint64_t made_ms = 0;

  // What happens when it is over: its nodes stay, or are given back.
  [[nodiscard]] bool nodes_stay() const;
  // Whether that is decided by its owner alone.
  [[nodiscard]] bool ends_with_owner() const;
  // Nobody is left for whom it would go on.
  [[nodiscard]] bool is_disowned() const;
};

inline constexpr std::size_t kMaxAllocations = 10'000;
inline constexpr const char* kDefaultSession = "";

class Sessions {
 public:
  Sessions(Roster& roster, EventLog& events, std::string user_nspace)
      : roster_(roster), events_(events), user_(std::move(user_nspace)) {}

  // The namespace that stands for whoever started the DVM; it lives as long as that.
  [[nodiscard]] const std::string& user() const { return user_; }

  // Also one that is ending. Null: none of this id.
  [[nodiscard]] const Allocation* find(const std::string& id) const;
  // As people ask for it: one that is ending is none any more.
  [[nodiscard]] const Allocation* resolve(const std::string& id) const;
  // The last one that this asker called so.
  [[nodiscard]] const Allocation* resolve(const std::string& asker,
                                          const std::string& request_id) const;
  [[nodiscard]] bool full() const { return allocations_.size() >= kMaxAllocations; }
  [[nodiscard]] const std::vector<Allocation>& all() const { return allocations_; }
  // A reservation or shared allocation that is over, some of whose nodes have stayed.
  [[nodiscard]] bool is_over(const std::string& id) const { return over_.contains(id); }

  // ---- who may do what ----
  [[nodiscard]] bool owns(const Actor& actor, const Allocation& allocation) const;
  // The sessions that are meant, if the actor owns each of them.
  [[nodiscard]] Result<std::set<std::string>> targets(const Actor& actor,
                                                      const wire::Targets& wanted) const;
  // Of these sessions those that are there.
  [[nodiscard]] std::set<std::string> existing(const std::set<std::string>& sessions) const;

  // ---- allocations ----
  // Of one that is not there yet.
  void make(Allocation allocation, AllocationCause cause, std::uint64_t now_ms);
  // More nodes, more time, or other terms.
  void extend(const std::string& id, const AllocationTerms& terms, AllocationCause cause);
  // As before an extension that came to nothing.
  void restore(const std::string& id, AllocationTerms terms);
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
  void end(const std::string& id, AllocationCause cause);
  void end_all();
  // Whether, since this was asked last, nodes have gone from one session to another, or a session
  // has ended, begun to end, or stayed after all.
  [[nodiscard]] bool take_changed() { return std::exchange(changed_, false); }

  // ---- who comes and goes ----
  void on_tool_joined(const std::string& nspace) { genealogy_.born(nspace, ""); }
  [[nodiscard]] bool lives(const std::string& nspace) const {
    return nspace == user_ || genealogy_.lives(nspace);
  }
  // A job that may use these sessions. `parent`: who spawned it; empty: a command submitted it.
  void on_job(const std::string& nspace, const std::string& parent,
              const std::set<std::string>& sessions);
  // Its processes start: it owns what it was aimed at.
  void on_job_launched(const std::string& nspace, const std::set<std::string>& sessions);
  // The allocations that are over with it.
  [[nodiscard]] std::vector<std::string> on_gone(const std::string& nspace);
  // Who is not there any more is not warned.
  template <class Meant>
  void forget_to_warn(const Meant& meant) {
    for (auto& one : allocations_) {
      if (one.terms.to_warn && meant(*one.terms.to_warn)) one.terms.to_warn.reset();
    }
  }

 private:
  Allocation* find_mutable(const std::string& id);
  void tell(EventKind kind, const Allocation& allocation, const std::string& what);

  Roster& roster_;
  EventLog& events_;
  std::string user_;
  Genealogy genealogy_;
  std::vector<Allocation> allocations_;  // in the order in which they were made
  std::set<std::string> over_;           // as long as one of their nodes is there
  bool changed_ = false;
};

}  // namespace tide::core
