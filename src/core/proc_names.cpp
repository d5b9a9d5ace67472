#include "core/proc_names.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace tide::core {

std::string canonical(const wire::ProcNames& names) {
  std::set<std::pair<std::string, std::uint32_t>> sorted;
  for (const auto& name : names.names()) sorted.emplace(name.nspace(), name.rank());
  wire::ProcNames out;
  for (const auto& [nspace, rank] : sorted) {
    auto* name = out.add_names();
    name->set_nspace(nspace);
    name->set_rank(rank);
  }
  return out.SerializeAsString();
}

wire::ProcNames names_in(const std::string& canonical) {
  wire::ProcNames out;
  if (!out.ParseFromString(canonical)) out.Clear();
  return out;
}

bool involves(const std::string& canonical, std::string_view nspace) {
  const auto names = names_in(canonical);
  return std::ranges::any_of(names.names(),
                             [&](const auto& name) { return name.nspace() == nspace; });
}

wire::ProcName proc_name(std::string nspace, std::uint32_t rank) {
  wire::ProcName out;
  out.set_nspace(std::move(nspace));
  out.set_rank(rank);
  return out;
}

CollectiveKey key_of(const wire::CollectiveId& id) {
  return {Series{id.kind(), id.name(), id.participants()}, id.number()};
}

wire::CollectiveId id_of(const CollectiveKey& key) {
  wire::CollectiveId out;
  if (wire::CollectiveId::Kind_IsValid(key.first.kind)) {
    out.set_kind(static_cast<wire::CollectiveId::Kind>(key.first.kind));
  }
  out.set_name(key.first.name);
  out.set_participants(key.first.participants);
  out.set_number(key.second);
  return out;
}

}  // namespace tide::core
