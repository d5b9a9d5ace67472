// Who is in the DVM, as of one serial of the log of operations; and the tree that follows from it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "core/routing_tree.hpp"
#include "wire/link.pb.h"

namespace tide::core {

struct Member {
  Incarnation incarnation;
  std::string node;
  std::vector<wire::Endpoint> endpoints;
  std::uint32_t slots = 0;
};

class Membership {
 public:
  // The head alone: span 1, serial 0.
  explicit Membership(std::uint32_t radix = 64);

  [[nodiscard]] Serial serial() const { return serial_; }
  // The last operation that changed who is in.
  [[nodiscard]] Serial changed_at() const { return changed_at_; }
  [[nodiscard]] std::uint32_t span() const { return span_; }
  [[nodiscard]] std::uint32_t radix() const { return radix_; }
  [[nodiscard]] const std::map<Rank, Member>& members() const { return members_; }
  [[nodiscard]] const Member* find(Rank rank) const;
  [[nodiscard]] const RoutingTree& tree() const { return tree_; }
  // Given out once and no longer living: such a rank never comes back.
  [[nodiscard]] bool departed(Rank rank) const {
    return rank.value() < span_ && !members_.contains(rank);
  }

  // Can this be, whoever says so? What is not must be neither applied nor loaded.
  static bool plausible(const wire::MembershipChange& change);
  static bool plausible(const wire::Snapshot& snapshot);

  // Applies the operation of the next serial. Other kinds of operations only advance the serial.
  void apply(const wire::Operation& operation);
  void load(const wire::Snapshot& snapshot);
  [[nodiscard]] wire::Snapshot snapshot() const;

  // How often the tree was computed anew because somebody left it: once for all who leave together.
  [[nodiscard]] std::uint64_t repairs() const { return repairs_; }

 private:
  void rebuild();

  Serial serial_{0};
  Serial changed_at_{0};
  std::uint32_t span_ = 1;
  std::uint32_t radix_;
  std::map<Rank, Member> members_;
  RoutingTree tree_;
  std::uint64_t repairs_ = 0;
};

}  // namespace tide::core
