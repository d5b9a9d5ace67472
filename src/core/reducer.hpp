// Reductions on their way up the tree. A relay merges what its subtree contributes and passes it on
// when the subtree is complete, or when its patience ends: merging saves messages, correctness does
// not hang on it. Contributors keep theirs until the head says so, and contribute again on a new
// path; the head takes each rank's contribution once. What would be too much for one message goes
// in several.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "core/membership.hpp"
#include "core/message_limit.hpp"
#include "core/proc_names.hpp"
#include "core/rank_set.hpp"
#include "wire/link.pb.h"

namespace tide::core {

class Reducer {
 public:
  explicit Reducer(std::size_t message_limit = kDefaultMessageLimit) : limit_(message_limit) {}

  void add(const wire::Reduction& reduction);
  // Takes out those to which every expected contributor below this daemon has contributed.
  std::vector<wire::Reduction> take_complete(const Membership& membership);
  std::vector<wire::Reduction> take_all();
  [[nodiscard]] bool empty() const { return pending_.empty(); }

 private:
  using Key = std::tuple<int, std::uint32_t, std::uint32_t, CollectiveKey>;
  struct Pending {
    wire::ReductionId id;
    RankSet participants;
    RankSet contributed;
    std::map<Rank, std::string> contributions;
  };
  static bool complete(const Pending& pending, const Membership& membership);
  void emit(Pending pending, std::vector<wire::Reduction>& out) const;

  std::size_t limit_;
  std::map<Key, Pending> pending_;
};

}  // namespace tide::core
