// Strong identifier types: a daemon rank is never mistaken for a process rank or a job number.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace tide {

template <class Tag, class Rep = std::uint32_t>
class StrongId {
 public:
  using rep = Rep;
  constexpr StrongId() = default;
  constexpr explicit StrongId(Rep value) : value_(value) {}
  [[nodiscard]] constexpr Rep value() const { return value_; }
  constexpr auto operator<=>(const StrongId&) const = default;

 private:
  Rep value_{};
};

using Rank = StrongId<struct RankTag>;                         // a daemon; 0 is the head
using ProcRank = StrongId<struct ProcRankTag>;                 // a process within its job
using JobId = StrongId<struct JobIdTag>;                       // 1, 2, … within one DVM
using LinkId = StrongId<struct LinkIdTag, std::uint64_t>;      // one connection between daemons
using ClientId = StrongId<struct ClientIdTag, std::uint64_t>;  // one connected client
using Serial = StrongId<struct SerialTag, std::uint64_t>;      // position in the log of operations
using CampaignId = StrongId<struct CampaignIdTag>;  // one change of the DVM's size; 1: its start
using Incarnation = StrongId<struct IncarnationTag, std::uint64_t>;  // one life of a daemon

inline constexpr Rank kHeadRank{0};

}  // namespace tide

template <class Tag, class Rep>
struct std::hash<tide::StrongId<Tag, Rep>> {
  std::size_t operator()(tide::StrongId<Tag, Rep> id) const noexcept {
    return std::hash<Rep>{}(id.value());
  }
};
