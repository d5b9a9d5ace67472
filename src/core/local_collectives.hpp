// What processes of this daemon do together with others: fences, connections, groups. Whoever comes
// is answered once, also when the others are lost.
#pragma once

#include <cstdint>
#include <map>

#include "core/actions.hpp"
#include "core/guests.hpp"
#include "core/hosted_jobs.hpp"
#include "core/proc_names.hpp"
#include "core/timers.hpp"

namespace tide::core {

class LocalCollectives {
 public:
  LocalCollectives(Rank self, HostedJobs& jobs, Guests& guests, HeadPath& head, TimerBook& timers,
                   Actions& out, std::size_t message_limit)
      : self_(self),
        jobs_(jobs),
        guests_(guests),
        head_(head),
        timers_(timers),
        out_(out),
        limit_(message_limit) {}

  void handle(const CollectiveEntered& event);
  bool handle_timer(TimerKind kind, std::uint32_t subject);
  void on_result(const wire::CollectiveResult& result, const Bytes& data);
  // The job is over: nobody waits for it any more.
  void forget(const std::string& nspace);
  // A new path to the head: what it has not answered goes again.
  void contribute_again();
  [[nodiscard]] bool idle() const {
    return open_.empty() && entered_.empty() && early_.empty() && by_timer_.empty();
  }

 private:
  struct Open {
    std::uint64_t ticket = 0;
    std::uint32_t timer = 0;  // 0: none
    wire::Reduction contribution;
  };
  struct Result {
    Status status = ok_status();
    Bytes data;
    std::uint64_t context = 0;
  };

  void answer(std::map<CollectiveKey, Open>::iterator open, const Result& result);
  [[nodiscard]] bool may_enter(const CollectiveKey& key) const;
  [[nodiscard]] Status may_begin(const CollectiveEntered& event) const;
  void report_failure(const CollectiveKey& key, const Error& error);
  [[nodiscard]] wire::RankSet daemons_of(const std::string& participants) const;

  Rank self_;
  HostedJobs& jobs_;
  Guests& guests_;
  HeadPath& head_;
  TimerBook& timers_;
  Actions& out_;
  std::size_t limit_;                        // of one message
  std::map<CollectiveKey, Open> open_;       // entered and not complete
  std::map<Series, std::uint32_t> entered_;  // so far
  std::map<CollectiveKey, Result> early_;    // failed before anybody here entered
  std::map<std::uint32_t, CollectiveKey> by_timer_;
  std::uint32_t last_timer_ = 0;
};

}  // namespace tide::core
