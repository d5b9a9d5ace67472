// Who is in the DVM, as of one serial of the log of operations, and the tree that follows from it,
// seen from one place in it. Of most others a daemon knows only that they live: how to reach
// somebody it has to know of its ancestors alone, so that a huge DVM costs a daemon no more memory
// than a small one. The head knows it of everybody.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/ids.hpp"
#include "core/rank_set.hpp"
#include "core/routing_tree.hpp"
#include "wire/link.pb.h"

namespace tide::core {

struct Contact {
  Incarnation incarnation;
  std::vector<wire::Endpoint> endpoints;
};

class Membership {
 public:
  // The head alone: span 1, serial 0.
  explicit Membership(Rank self = kHeadRank, std::uint32_t radix = 64);

  [[nodiscard]] Serial serial() const { return serial_; }
  // The last operation that changed who is in.
  [[nodiscard]] Serial changed_at() const { return changed_at_; }
  [[nodiscard]] std::uint32_t span() const { return tree_.span(); }
  [[nodiscard]] std::uint32_t radix() const { return tree_.radix(); }
  [[nodiscard]] const RoutingTree& tree() const { return tree_; }
  [[nodiscard]] bool has(Rank rank) const { return tree_.living(rank); }
  // Given out once and no longer living: such a rank never comes back.
  [[nodiscard]] bool departed(Rank rank) const { return rank.value() < span() && !has(rank); }

  // The place of this daemon in the tree.
  [[nodiscard]] std::optional<Rank> parent() const;
  [[nodiscard]] const std::vector<Rank>& ancestors() const { return ancestors_; }  // root first
  [[nodiscard]] const std::vector<Rank>& children() const { return children_; }
  [[nodiscard]] const RankSet& subtree() const { return subtree_; }  // and this daemon itself

  // nullptr: not known here.
  [[nodiscard]] const Contact* contact(Rank rank) const;
  // The head learns it before the operation that lets the daemon in.
  void learn(Rank rank, Contact contact);

  // Can this be, whoever says so? What is not must be neither applied nor loaded.
  static bool plausible(const wire::MembershipChange& change);
  static bool plausible(const wire::Snapshot& snapshot);

  // At the head: the change, with what daemons need to know to follow it.
  [[nodiscard]] wire::MembershipChange completed(wire::MembershipChange change) const;
  // Applies the operation of the next serial. Other kinds of operations only advance the serial.
  void apply(const wire::Operation& operation);
  // At the head: what a daemon that joins starts from.
  [[nodiscard]] wire::Snapshot snapshot_for(Rank rank) const;
  void load(const wire::Snapshot& snapshot);

  // How often the tree was computed anew because somebody left it: once for all who leave together.
  [[nodiscard]] std::uint64_t repairs() const { return repairs_; }

 private:
  [[nodiscard]] RoutingTree tree_after(const wire::MembershipChange& change) const;
  [[nodiscard]] wire::Contact to_wire(Rank rank) const;
  void learn(const wire::Contact& contact);
  void look_around();

  Rank self_;
  Serial serial_{0};
  Serial changed_at_{0};
  RoutingTree tree_;
  std::map<Rank, Contact> contacts_;
  std::vector<Rank> ancestors_;
  std::vector<Rank> children_;
  RankSet subtree_;
  std::uint64_t repairs_ = 0;
};

}  // namespace tide::core
