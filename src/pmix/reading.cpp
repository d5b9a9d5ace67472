#include "pmix/reading.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "pmix/asking.hpp"
#include "pmix/convert.hpp"
#include "pmix/values.hpp"

namespace tide::pmix {

pmix_status_t read_range(const pmix_value_t& value, wire::Range& range) {
  const auto number = value.type == PMIX_DATA_RANGE ? value.data.range : integer_in(value);
  if (!number || *number < 0 || *number > wire::Range_MAX) return PMIX_ERR_BAD_PARAM;
  range = static_cast<wire::Range>(*number);
  return PMIX_SUCCESS;
}

pmix_status_t read_timeout_ms(const pmix_value_t& value, std::uint32_t& timeout_ms) {
  constexpr std::int64_t kLongest = std::numeric_limits<std::uint32_t>::max();
  const auto seconds = integer_in(value);
  if (!seconds || *seconds < 0) return PMIX_ERR_BAD_PARAM;
  timeout_ms = static_cast<std::uint32_t>(std::min(*seconds, kLongest / 1000) * 1000);
  return PMIX_SUCCESS;
}

std::optional<std::vector<ProcName>> names_of(const pmix_proc_t* procs, std::size_t count) {
  std::vector<ProcName> names;
  names.reserve(count);
  for (std::size_t index = 0; index < count; ++index) {
    auto name = from_pmix(procs[index]);
    if (!name) return std::nullopt;
    names.push_back(std::move(*name));
  }
  return names;
}

std::vector<std::string> nspaces_of(const std::vector<ProcName>& names) {
  std::vector<std::string> nspaces;
  for (const auto& name : names) nspaces.push_back(name.nspace);
  std::sort(nspaces.begin(), nspaces.end());
  nspaces.erase(std::unique(nspaces.begin(), nspaces.end()), nspaces.end());
  return nspaces;
}

std::optional<wire::ProcNames> procs_in(const pmix_value_t& value) {
  if (value.type == PMIX_PROC) return wire_names(value.data.proc, 1);
  if (value.type != PMIX_DATA_ARRAY || value.data.darray == nullptr) return std::nullopt;
  const pmix_data_array_t& array = *value.data.darray;
  if (array.type != PMIX_PROC) return std::nullopt;
  return wire_names(static_cast<const pmix_proc_t*>(array.array), array.size);
}

}  // namespace tide::pmix
