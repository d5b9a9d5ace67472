#include "core/membership.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "wire/limits.hpp"

namespace tide::core {

namespace {

Member member_from(const wire::DaemonInfo& info) {
  return Member{Incarnation(info.incarnation()),
                info.node(),
                {info.endpoints().begin(), info.endpoints().end()},
                info.slots()};
}

template <class Infos>
bool all_below_limit(std::uint32_t span, const Infos& infos) {
  return span <= kMaxDaemonRanks && std::all_of(infos.begin(), infos.end(), [](const auto& info) {
           return info.rank() < kMaxDaemonRanks;
         });
}

}  // namespace

bool Membership::plausible(const wire::MembershipChange& change) {
  return all_below_limit(change.span(), change.joined());
}

bool Membership::plausible(const wire::Snapshot& snapshot) {
  return all_below_limit(snapshot.span(), snapshot.members());
}

Membership::Membership(std::uint32_t radix) : radix_(radix) {
  members_.emplace(kHeadRank, Member{});
  rebuild();
}

const Member* Membership::find(Rank rank) const {
  const auto found = members_.find(rank);
  return found == members_.end() ? nullptr : &found->second;
}

void Membership::apply(const wire::Operation& operation) {
  TIDE_CHECK(operation.serial() == serial_.value() + 1);
  serial_ = Serial(operation.serial());
  if (!operation.has_membership()) return;
  changed_at_ = serial_;
  const auto& change = operation.membership();
  span_ = std::max(span_, change.span());
  for (const auto& info : change.joined()) {
    span_ = std::max(span_, info.rank() + 1);
    members_.insert_or_assign(Rank(info.rank()), member_from(info));
  }
  for (const auto rank : change.left()) {
    if (Rank(rank) != kHeadRank) members_.erase(Rank(rank));
  }
  rebuild();
  if (!change.left().empty()) ++repairs_;
}

void Membership::load(const wire::Snapshot& snapshot) {
  serial_ = changed_at_ = Serial(snapshot.serial());
  span_ = std::max(1U, snapshot.span());  // the head is always in
  radix_ = std::max(1U, snapshot.radix());
  members_.clear();
  members_.emplace(kHeadRank, Member{});
  for (const auto& info : snapshot.members()) {
    span_ = std::max(span_, info.rank() + 1);
    members_.insert_or_assign(Rank(info.rank()), member_from(info));
  }
  rebuild();
}

wire::Snapshot Membership::snapshot() const {
  wire::Snapshot out;
  out.set_serial(serial_.value());
  out.set_span(span_);
  out.set_radix(radix_);
  for (const auto& [rank, member] : members_) {
    auto* info = out.add_members();
    info->set_rank(rank.value());
    info->set_incarnation(member.incarnation.value());
    info->set_node(member.node);
    info->set_slots(member.slots);
    for (const auto& endpoint : member.endpoints) *info->add_endpoints() = endpoint;
  }
  return out;
}

void Membership::rebuild() {
  std::vector<Rank> living;
  living.reserve(members_.size());
  for (const auto& [rank, member] : members_) living.push_back(rank);
  tree_ = RoutingTree(span_, radix_, living);
}

}  // namespace tide::core
