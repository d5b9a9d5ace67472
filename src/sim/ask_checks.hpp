// What is promised of requests to resource managers, held against what the head does after every
// step: each ends in one of granted, refused and taken back, and is open only as long as somebody
// waits for it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/head_core.hpp"

namespace tide::sim {

// What a step had to do with requests.
struct AskSight {
  struct Asked {
    std::uint32_t number = 0;
    std::string asker{};       // "client 5", "tool:0"; empty: a job
    std::uint32_t before = 0;  // in place of this one, by whoever asked for that
  };
  std::vector<Asked> asked{};
  std::vector<std::uint32_t> cancelled{};
  std::optional<std::uint32_t> answered{};  // the one that a manager has answered
  std::set<std::string> granted{};          // by which it gets these
  std::set<std::string> returned{};         // and these go back at once
  std::set<std::string> gone{};             // askers who wait for nothing any more
  std::size_t waiting_jobs = 0;             // for nodes
  // To whoever asks what there is; none: nothing has changed.
  std::optional<std::set<std::uint32_t>> shown{};
  bool ended = false;  // the DVM
};

// `open`: who waits for an answer; whether others have gone is not looked at.
AskSight look_at_asks(const core::HeadCore& head, const core::HeadEvent& event,
                      const core::Actions& actions, const std::set<std::string>& open);

// What is asked in this step.
std::vector<AskSight::Asked> look_at_asked(const core::HeadCore& head, const core::HeadEvent& event,
                                           const core::Actions& actions);

// Given one sight after the other, throws BrokenPromise.
class AskChecks {
 public:
  void take(const AskSight& now);
  [[nodiscard]] std::set<std::string> askers() const;
  [[nodiscard]] std::uint64_t asked_anew() const { return asked_anew_; }
  // Nothing happens any more: nobody waits.
  void when_quiet() const;

 private:
  void check_answer(const AskSight& now);
  void check_wanted(const AskSight& now) const;

  std::uint32_t last_ = 0;
  std::uint64_t asked_anew_ = 0;
  std::map<std::uint32_t, std::string> open_;  // by number, who asked; empty: a job
  std::set<std::uint32_t> cancelled_;
};

}  // namespace tide::sim
