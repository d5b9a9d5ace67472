// Names of processes as the services use them.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "wire/services.pb.h"

namespace tide::core {

inline constexpr std::uint32_t kAllRanks = UINT32_MAX;

// The same for the same participants, in whatever order and however often they are named.
std::string canonical(const wire::ProcNames& names);
wire::ProcNames names_in(const std::string& canonical);
bool involves(const std::string& canonical, std::string_view nspace);

wire::ProcName proc_name(std::string nspace, std::uint32_t rank);

// Processes by name, in an order.
using ProcId = std::pair<std::string, std::uint32_t>;
inline ProcId id_of(const wire::ProcName& name) {
  return {name.nspace(), name.rank()};
}

// Collectives of one kind with the same participants: they are told apart by their number.
struct Series {
  int kind = 0;
  std::string name;  // of a group
  std::string participants;
  auto operator<=>(const Series&) const = default;
};
using CollectiveKey = std::pair<Series, std::uint32_t>;
CollectiveKey key_of(const wire::CollectiveId& id);
wire::CollectiveId id_of(const CollectiveKey& key);

}  // namespace tide::core
