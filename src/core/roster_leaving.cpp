// Daemons that are ordered to leave: set apart, ordered, gone.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "core/roster.hpp"
#include "say/elastic.hpp"

namespace tide::core {

namespace {

// The highest of those who leave on the way up from `rank` without anybody between who stays: when
// it is let go it has seen the others of its group end.
Rank leader_of(Rank rank, const std::set<Rank>& leaving, const RoutingTree& tree) {
  Rank leader = rank;
  for (auto above = tree.parent(rank); above && leaving.contains(*above);
       above = tree.parent(*above)) {
    leader = *above;
  }
  return leader;
}

}  // namespace

void Roster::set_apart(const std::set<Rank>& ranks) {
  for (const Rank rank : ranks) {
    Node& node = nodes_.at(rank);
    TIDE_CHECK(node.is_up());
    node.state = NodeState::kLeaving;
  }
}

// Who was under suspicion still is, and its time may be over.
void Roster::take_back(const std::set<Rank>& ranks) {
  for (const Rank rank : ranks) {
    Node* node = find(rank);
    if (node == nullptr || node->state != NodeState::kLeaving) continue;
    node->state = node->suspect_until_ms == 0 ? NodeState::kUp : NodeState::kSuspect;
    if (node->state == NodeState::kUp) continue;
    probe(*node);
    out_.emplace_back(timers_.arm(TimerKind::kSuspects, 0));
  }
}

Status Roster::order_to_leave(const std::set<Rank>& ranks) {
  wire::Operation operation;
  RankSet left;
  for (const Rank rank : ranks) left.insert(rank);
  *operation.mutable_membership()->mutable_left() = left.to_wire();
  operation.mutable_membership()->set_orderly(true);
  if (config_.orders_fail || !overlay_.fits(operation)) return say::order_too_large(ranks.size());
  const Serial order{overlay_.membership().serial().value() + 1};
  for (const Rank rank : ranks) {
    Node& node = nodes_.at(rank);
    TIDE_CHECK(node.state == NodeState::kLeaving);
    node.state = NodeState::kDeparting;
    departing_.insert(rank);
    node.order = order;
    node.leaves_with = leader_of(rank, ranks, overlay_.membership().tree());
  }
  overlay_.keep_for(order);
  overlay_.broadcast(std::move(operation));
  for (const Rank rank : ranks) listener_.on_withdrawn(nodes_.at(rank));
  return ok_status();
}

// A launcher that watches a daemon sees more than its neighbours: not its link but itself ends. The
// link of one that was not let go may just be broken: it has ended if nobody listens there.
void Roster::on_departed(Rank rank, bool let_go) {
  Node* one_of_them = find(rank);
  if (!let_go && one_of_them != nullptr && one_of_them->state == NodeState::kDeparting) {
    if (!one_of_them->watched) probe(*one_of_them);
    return;
  }
  std::vector<Rank> gone;
  for (const Rank one : departing_) {
    const Node& node = nodes_.at(one);
    if ((one == rank || node.leaves_with == rank) && !node.watched) gone.push_back(one);
  }
  for (const Rank one : gone) note_departure(one);
}

void Roster::note_departure(Rank rank) {
  const Node node = take_out(rank);
  notes_.add(Subsystem::kPlm, 1, "node {} has left", node.name);
  const bool last = std::ranges::none_of(
      departing_, [&](Rank one) { return nodes_.at(one).order == node.order; });
  if (last) overlay_.need_not_keep(node.order);
  listener_.on_departed(node);
}

// Who is to leave may end before its order, with all that a scheduler takes: that is no loss.
void Roster::note_early_departure(Rank rank) {
  const Node node = take_out(rank);
  notes_.add(Subsystem::kPlm, 1, "node {} has left", node.name);
  out_.emplace_back(EndDaemon{rank, false});
  RankSet ranks;
  ranks.insert(rank);
  tell_of_dead(ranks);
  listener_.on_withdrawn(node);
  listener_.on_departed(node);
}

// Whom nobody watches may be dead, and no order is sent there before it has answered.
void Roster::end_departing(const std::set<Rank>& ranks) {
  for (const Rank rank : ranks) {
    Node* node = find(rank);
    if (node == nullptr) continue;
    if (node->watched) {
      out_.emplace_back(EndDaemon{rank});
    } else {
      node->to_be_ended = true;
      probe(*node);
    }
  }
}

void Roster::give_up_departing(const std::set<Rank>& ranks) {
  for (const Rank rank : ranks) {
    const Node* node = find(rank);
    if (node != nullptr && node->state == NodeState::kDeparting) note_departure(rank);
  }
}

}  // namespace tide::core
