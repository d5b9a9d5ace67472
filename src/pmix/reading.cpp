#include "pmix/reading.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "pmix/asking.hpp"
#include "pmix/convert.hpp"
#include "pmix/values.hpp"

namespace tide::pmix {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();

std::uint32_t ms_of(std::int64_t seconds) {
  return static_cast<std::uint32_t>(std::min(seconds, kMost / 1000) * 1000);
}

// Digits and nothing else; more than kMost is as much.
std::optional<std::int64_t> whole_number(std::string_view text) {
  std::uint32_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, number);
  if (stop != end || failure == std::errc::invalid_argument) return std::nullopt;
  return failure == std::errc::result_out_of_range ? kMost : number;
}

// Seconds stand at the right, and what is before them counts for more.
std::optional<std::int64_t> seconds_of(const std::string& text) {
  constexpr std::array<std::int64_t, 4> kSeconds = {1, 60, 60 * 60, 24 * 60 * 60};
  std::vector<std::string> parts = split(text, ':');
  const std::vector<std::string> front = split(parts[0], '-');
  if (front.size() == 2 && parts.size() == 3) {
    parts.erase(parts.begin());
    parts.insert(parts.begin(), front.begin(), front.end());
  }
  if (parts.size() > kSeconds.size()) return std::nullopt;
  std::int64_t sum = 0;
  for (std::size_t index = 0; index < parts.size(); ++index) {
    const auto number = whole_number(parts[parts.size() - 1 - index]);
    if (!number) return std::nullopt;
    sum += *number * kSeconds.at(index);
  }
  return sum;
}

}  // namespace

pmix_status_t read_range(const pmix_value_t& value, wire::Range& range) {
  const auto number = value.type == PMIX_DATA_RANGE ? value.data.range : integer_in(value);
  if (!number || *number < 0 || *number > wire::Range_MAX) return PMIX_ERR_BAD_PARAM;
  range = static_cast<wire::Range>(*number);
  return PMIX_SUCCESS;
}

pmix_status_t read_timeout_ms(const pmix_value_t& value, std::uint32_t& timeout_ms) {
  const auto seconds = integer_in(value);
  if (!seconds || *seconds < 0) return PMIX_ERR_BAD_PARAM;
  timeout_ms = ms_of(*seconds);
  return PMIX_SUCCESS;
}

pmix_status_t read_span_ms(const pmix_value_t& value, std::uint32_t& span_ms) {
  const pmix_status_t status = read_timeout_ms(value, span_ms);
  return status == PMIX_SUCCESS && span_ms == 0 ? PMIX_ERR_BAD_PARAM : status;
}

pmix_status_t read_clock_ms(const pmix_value_t& value, std::uint32_t& span_ms) {
  const auto text = text_in(value);
  if (!text) return read_span_ms(value, span_ms);
  const auto seconds = seconds_of(*text);
  if (!seconds || *seconds == 0) return PMIX_ERR_BAD_PARAM;
  span_ms = ms_of(*seconds);
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
