#include "core/reducer.hpp"

#include <utility>

namespace tide::core {

void Reducer::add(const wire::Reduction& reduction) {
  const auto& id = reduction.id();
  auto& pending = pending_[Key{id.kind(), id.job(), id.attempt()}];
  pending.id = id;
  if (pending.participants.empty()) {
    pending.participants = RankSet::from_wire(reduction.participants());
  }
  for (const auto& contribution : reduction.contributions()) {
    pending.contributed.insert(Rank(contribution.rank()));
    pending.contributions.insert_or_assign(Rank(contribution.rank()), contribution.data());
  }
}

bool Reducer::complete(const Pending& pending, const Membership& membership) {
  RankSet missing = pending.participants.intersection(membership.subtree());
  missing.erase(pending.contributed);
  return missing.empty();
}

wire::Reduction Reducer::to_wire(Pending pending) {
  wire::Reduction out;
  *out.mutable_id() = pending.id;
  *out.mutable_participants() = pending.participants.to_wire();
  for (auto& [rank, data] : pending.contributions) {
    auto* contribution = out.add_contributions();
    contribution->set_rank(rank.value());
    contribution->set_data(std::move(data));
  }
  return out;
}

std::vector<wire::Reduction> Reducer::take_complete(const Membership& membership) {
  std::vector<wire::Reduction> out;
  for (auto at = pending_.begin(); at != pending_.end();) {
    if (complete(at->second, membership)) {
      out.push_back(to_wire(std::move(at->second)));
      at = pending_.erase(at);
    } else {
      ++at;
    }
  }
  return out;
}

std::vector<wire::Reduction> Reducer::take_all() {
  std::vector<wire::Reduction> out;
  for (auto& [key, pending] : pending_) out.push_back(to_wire(std::move(pending)));
  pending_.clear();
  return out;
}

}  // namespace tide::core
