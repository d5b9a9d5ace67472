// Reductions on their way up the tree. A relay merges what its subtree contributes and passes it on
// when the subtree is complete, or when its patience ends: merging saves messages, correctness does
// not hang on it. Contributors keep theirs until the head says so, and contribute again on a new
// path; the head takes each rank's contribution once.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "core/membership.hpp"
#include "core/rank_set.hpp"
#include "wire/link.pb.h"

namespace tide::core {

class Reducer {
 public:
  void add(const wire::Reduction& reduction);
  // Takes out those to which every expected contributor below this daemon has contributed.
  std::vector<wire::Reduction> take_complete(const Membership& membership);
  std::vector<wire::Reduction> take_all();
  [[nodiscard]] bool empty() const { return pending_.empty(); }

 private:
  using Key = std::tuple<int, std::uint32_t, std::uint32_t>;
  struct Pending {
    wire::ReductionId id;
    RankSet participants;
    RankSet contributed;
    std::map<Rank, std::string> contributions;
  };
  static bool complete(const Pending& pending, const Membership& membership);
  static wire::Reduction to_wire(Pending pending);

  std::map<Key, Pending> pending_;
};

}  // namespace tide::core
