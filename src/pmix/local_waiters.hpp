// Which clients of this server wait in the collectives that libpmix has passed on to us.
//
// libpmix 4.2.2 forgets such a collective when the last of them is lost, and an answer after that
// uses what it has freed: its thread may stand still for ever. So nobody is answered who is gone,
// or about to be ended by us. One that dies without our doing is known a moment after libpmix.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "pmix/server.hpp"

namespace tide::pmix {

// All functions may be called by any thread.
class LocalWaiters {
 public:
  // Of one collective: it is forgotten when all that waited here are gone.
  class Group {
   public:
    [[nodiscard]] bool forgotten() const;

   private:
    friend class LocalWaiters;
    Group(std::set<ProcName> names, bool forgotten)
        : names_(std::move(names)), forgotten_(forgotten) {}
    void lose(const ProcName& proc);

    mutable std::mutex mutex_;
    std::set<ProcName> names_;
    bool forgotten_;
  };

  void connected(const ProcName& proc);
  // One of its processes does not wait any more. libpmix forgets with one that is lost what others
  // of the same rank wait for.
  void finalized(const ProcName& proc);
  bool lost(const ProcName& proc);  // true: another process of that rank is connected
  void gone(const ProcName& proc);  // all of them
  // From now on that must be expected at any moment.
  void is_being_ended(const ProcName& proc);
  // Of those who take part the ones that are connected here, and not being ended.
  std::shared_ptr<const Group> enter(const std::vector<ProcName>& participants);

 private:
  void disconnected(const ProcName& proc);
  void lose_in_groups(const ProcName& proc);

  std::mutex mutex_;
  std::multiset<ProcName> connected_;
  std::set<ProcName> ending_;
  std::vector<std::weak_ptr<Group>> groups_;
};

}  // namespace tide::pmix
