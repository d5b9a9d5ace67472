#include "core/reducer.hpp"

#include <utility>

namespace tide::core {

void Reducer::add(const wire::Reduction& reduction) {
  const auto& id = reduction.id();
  auto& pending = pending_[Key{id.kind(), id.job(), id.attempt(), key_of(id.collective())}];
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

void Reducer::emit(Pending pending, std::vector<wire::Reduction>& out) const {
  wire::Reduction empty;
  *empty.mutable_id() = pending.id;
  *empty.mutable_participants() = pending.participants.to_wire();
  wire::Reduction part = empty;
  std::size_t bytes = 0;
  for (auto& [rank, data] : pending.contributions) {
    if (bytes > 0 && bytes + data.size() > limit_) {
      out.push_back(std::exchange(part, empty));
      bytes = 0;
    }
    bytes += data.size();
    auto* contribution = part.add_contributions();
    contribution->set_rank(rank.value());
    contribution->set_data(std::move(data));
  }
  out.push_back(std::move(part));
}

std::vector<wire::Reduction> Reducer::take_complete(const Membership& membership) {
  std::vector<wire::Reduction> out;
  for (auto at = pending_.begin(); at != pending_.end();) {
    if (complete(at->second, membership)) {
      emit(std::move(at->second), out);
      at = pending_.erase(at);
    } else {
      ++at;
    }
  }
  return out;
}

std::vector<wire::Reduction> Reducer::take_all() {
  std::vector<wire::Reduction> out;
  for (auto& [key, pending] : pending_) emit(std::move(pending), out);
  pending_.clear();
  return out;
}

}  // namespace tide::core
