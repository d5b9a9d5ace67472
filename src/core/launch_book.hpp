// What became of the daemons of a start: who has reported, and who can't and why.
//
// One that can't is not the end of the book: the others are given time, so that people hear of all
// that is wrong at once.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/actions.hpp"

namespace tide::core {

class LaunchBook {
 public:
  // Those that `by` starts, and all that they start.
  void expect(Rank by, const std::vector<LaunchTarget>& targets);

  void reported(Rank rank);
  // The first reason counts. Also after its report: a daemon may be lost again.
  void failed(Rank rank, const std::string& reason);

  // True if `by` was to start `rank`.
  [[nodiscard]] bool starts(Rank by, Rank rank) const;
  [[nodiscard]] bool has_failures() const { return !reasons_.empty(); }
  // Each has reported or failed, or was to be started by one that failed.
  [[nodiscard]] bool settled() const;
  // Those that were not heard of, though nobody that they need has failed; in the order of ranks.
  [[nodiscard]] std::vector<std::string> silent() const;
  // In the order of ranks.
  [[nodiscard]] std::vector<std::string> reasons() const;
  struct Failure {
    std::string node;
    std::string reason;
  };
  [[nodiscard]] std::vector<Failure> failures() const;
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] std::size_t reports() const { return reports_; }

 private:
  struct Entry {
    std::string node;
    Rank by;
    bool reported = false;
  };
  [[nodiscard]] bool is_waited_for(Rank rank, const Entry& entry) const;

  std::map<Rank, Entry> entries_;
  std::map<Rank, std::string> reasons_;
  std::size_t reports_ = 0;
};

}  // namespace tide::core
