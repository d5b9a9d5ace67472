// Jobs without a process on this node whose particulars are wanted here all the same: a process
// has spawned them or is connected with them. The head is asked once, the local server
// told.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/actions.hpp"
#include "core/hosted_jobs.hpp"

namespace tide::core {

class Guests {
 public:
  using Then = std::function<void(const Status&)>;

  Guests(HostedJobs& jobs, HeadPath& head, Actions& out) : jobs_(jobs), head_(head), out_(out) {}

  // `then` is called when the local server knows all of these jobs, at once if it does already.
  void introduce(const std::set<std::string>& nspaces, const Then& then);
  [[nodiscard]] bool knows(const std::string& nspace) const {
    const auto found = guests_.find(nspace);
    return found != guests_.end() && found->second.known;
  }
  void handle(const GuestRegistered& event);
  // True if the answer was to a question of ours.
  bool on_answer(const wire::ServiceAnswer& answer);
  void forget(const std::string& nspace);
  [[nodiscard]] bool idle() const { return guests_.empty() && asked_.empty(); }

 private:
  struct Party {  // who waits for several jobs
    std::size_t missing = 0;
    Status status = ok_status();
    Then then;
  };
  struct Guest {
    bool known = false;  // to the local server
    std::vector<std::shared_ptr<Party>> waiting;
  };
  void ask(const std::string& nspace);
  void conclude(const std::string& nspace, const Status& status);

  HostedJobs& jobs_;
  HeadPath& head_;
  Actions& out_;
  std::map<std::string, Guest> guests_;
  std::map<std::uint64_t, std::string> asked_;  // by token
  std::uint64_t last_token_ = 0;
};

}  // namespace tide::core
