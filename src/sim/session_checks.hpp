// What is promised of sessions, held against what the head shows of itself after every step. Who
// owns what, and who comes of whom, is kept here from what was asked for, and from what has come
// and gone; what the core keeps of that is not looked at but to be compared.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/session_sight.hpp"

namespace tide::sim {

// Given one sight after the other, throws BrokenPromise.
class SessionChecks {
 public:
  // `orders_fail`: nobody can be told to leave, so what is to be given back stays where it is.
  explicit SessionChecks(std::string user, bool orders_fail = false)
      : user_(std::move(user)), orders_fail_(orders_fail) {}

  // `ends_all`: the DVM ends, and nothing is promised of sessions but what is told of them.
  void take(SessionSight now, bool ends_all = false);
  [[nodiscard]] const SessionSight* last() const { return before_ ? &*before_ : nullptr; }

 private:
  struct Known {  // an allocation
    std::string owner{};
    core::Inheritance inheritance{};
    bool of_user = false;  // a tool or command made it
    bool settled = true;   // no change of its terms may come to nothing any more
    bool was_ending = false;
    bool owner_ended = false;
    std::string cause{};     // of its end; empty: not known yet
    int ends = 0;            // that were told
    std::set<Rank> leave{};  // its nodes, when it began to end
    std::set<std::string> targeted{};
  };
  struct Person {  // a namespace that there is, or was
    std::string parent{};
    std::set<std::string> sessions{};
    bool aimed = false;
    bool lives = true;
  };
  using Allocation = SessionSight::Allocation;

  // ---- what is kept ----
  void note_people(const SessionSight& now);
  void note_birth(const std::string& nspace, const SessionSight::Job& job, const SessionSight& now,
                  bool alone);
  void note_requests(const SessionSight& now);
  void note_made(const std::string& id, const SessionSight& now);
  void note_terms(const SessionSight& now);
  [[nodiscard]] const SessionRequest* asked_for(const SessionSight& now) const;
  [[nodiscard]] bool lives(const std::string& nspace) const;
  [[nodiscard]] bool is_tool(const std::string& nspace) const;
  [[nodiscard]] bool comes_of(const std::string& nspace, const std::string& id) const;
  [[nodiscard]] bool any_derived(const std::string& id) const;
  [[nodiscard]] bool is_disowned(const std::string& id) const;
  [[nodiscard]] bool owns(const SessionRequest& who, const std::string& id,
                          const SessionSight& now) const;
  [[nodiscard]] bool acts_as_scheduler(const SessionRequest& who) const;
  // The allocation that a request is about; empty: none that is there.
  [[nodiscard]] std::string meant_by(const SessionRequest& request) const;
  [[nodiscard]] bool resolved(const std::string& id) const;

  // ---- promises ----
  void check_refused(const SessionSight& now) const;
  void check_maps(const SessionSight& now) const;
  void check_owners(const SessionSight& now) const;
  void check_accepted(const SessionSight& now) const;
  void check_dispositions(const SessionSight& now) const;
  void check_endings(const SessionSight& now);
  void check_end(const std::string& id, const SessionSight& now);
  [[nodiscard]] bool is_given_back(const std::string& id, const SessionSight& now) const;
  void check_nodes_of(const std::string& id, const SessionSight& now, bool leave) const;
  void check_undisturbed(const SessionSight& now) const;
  void check_hit(const SessionSight& now) const;
  void check_news(const SessionSight& now);
  void check_returns(const SessionSight& now) const;
  void check_departures(const SessionSight& now) const;

  std::string user_;
  bool orders_fail_;
  std::optional<SessionSight> before_;
  std::map<std::string, Known> known_;
  std::map<std::string, Person> people_;
  std::set<std::string> tools_;                                           // namespace:rank
  std::set<std::string> gone_;                                            // in this step
  std::map<std::pair<std::string, std::string>, SessionRequest> wishes_;  // by who, and its name
  std::map<std::uint32_t, SessionRequest> asks_;                          // of resource managers
};

}  // namespace tide::sim
