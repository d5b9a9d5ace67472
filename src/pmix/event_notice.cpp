#include "pmix/event_notice.hpp"

#include <tide/pmix_keys.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pmix/asking.hpp"
#include "pmix/convert.hpp"
#include "pmix/own_keys.hpp"
#include "pmix/packing.hpp"
#include "pmix/reading.hpp"
#include "pmix/values.hpp"

namespace tide::pmix {
namespace {

struct NumberType {
  std::string_view key;
  pmix_data_type_t type;
};
// Numbers are 64 bits long, but for these keys, whose readers expect something else.
constexpr std::array kNumberTypes = {
    NumberType{PMIX_TIME_REMAINING, PMIX_UINT32}, NumberType{PMIX_JOB_SIZE, PMIX_UINT32},
    NumberType{PMIX_NODEID, PMIX_UINT32},         NumberType{PMIX_EXIT_CODE, PMIX_INT},
    NumberType{PMIX_EVENT_TIMESTAMP, PMIX_TIME},
};

void set_number(std::string_view key, std::uint64_t number, wire::Value& value) {
  const auto* found = std::find_if(kNumberTypes.begin(), kNumberTypes.end(),
                                   [key](const NumberType& one) { return one.key == key; });
  value.set_type(found != kNumberTypes.end() ? found->type : PMIX_UINT64);
  if (value.type() == PMIX_INT || value.type() == PMIX_TIME) {
    value.set_integer(static_cast<std::int64_t>(number));
  } else {
    value.set_number(number);
  }
}

void set_proc(const wire::ProcName& name, wire::Value& value) {
  value.mutable_proc()->set_nspace(name.nspace());
  value.mutable_proc()->set_rank(name.rank() == kAllRanks ? PMIX_RANK_WILDCARD : name.rank());
}

void set_fact(const wire::EventFact& fact, wire::Value& value) {
  switch (fact.value_case()) {
    case wire::EventFact::kText:
      value.set_type(PMIX_STRING);
      value.set_text(fact.text());
      break;
    case wire::EventFact::kStatus:
      value.set_type(PMIX_STATUS);
      value.set_integer(fact.status());
      break;
    case wire::EventFact::kNumber:
      set_number(fact.key(), fact.number(), value);
      break;
    case wire::EventFact::kProc:
      value.set_type(PMIX_PROC);
      set_proc(fact.proc(), value);
      break;
    case wire::EventFact::kFlag:
      value.set_type(PMIX_BOOL);
      value.set_number(fact.flag() ? 1 : 0);
      break;
    case wire::EventFact::VALUE_NOT_SET:
      break;
  }
}

// Who it is for; a notice to a job goes to all of the job.
wire::ProcNames audience(const wire::EventNotice& notice) {
  if (notice.range() == wire::RANGE_CUSTOM) return notice.targets();
  wire::ProcNames names;
  *names.add_names() = to_wire({notice.source().nspace(), kAllRanks});
  return names;
}

void add_audience(const wire::ProcNames& names, wire::InfoEntries& entries) {
  auto* entry = entries.add_entries();
  entry->set_key(PMIX_EVENT_CUSTOM_RANGE);
  entry->mutable_value()->set_type(PMIX_DATA_ARRAY);
  auto* array = entry->mutable_value()->mutable_array();
  array->set_type(PMIX_PROC);
  for (const auto& name : names.names()) set_proc(name, *array->add_elements());
}

void read_breakpoint(const pmix_info_t& info, wire::EventNotice& notice) {
  if (key_of(info) != PMIX_BREAKPOINT) return;
  notice.set_breakpoint(text_in(info.value).value_or(""));
}

}  // namespace

pmix_status_t read_event(pmix_status_t code, const pmix_proc_t& source, pmix_data_range_t range,
                         const pmix_info_t* info, std::size_t info_count,
                         wire::EventNotice& notice) {
  const auto who = from_pmix(source);
  auto bytes = pack_info(info, info_count);
  if (!bytes) return PMIX_ERR_UNKNOWN_DATA_TYPE;
  if (!who || !wire::Range_IsValid(range)) return PMIX_ERR_BAD_PARAM;
  notice.set_code(code);
  *notice.mutable_source() = to_wire(*who);
  notice.set_range(static_cast<wire::Range>(range));
  notice.set_info(std::move(*bytes));
  for (std::size_t index = 0; index < info_count; ++index) {
    read_breakpoint(info[index], notice);
    if (key_of(info[index]) != PMIX_EVENT_CUSTOM_RANGE) continue;
    auto targets = procs_in(info[index].value);
    if (!targets) return PMIX_ERR_BAD_PARAM;
    *notice.mutable_targets() = std::move(*targets);
  }
  const bool custom = range == PMIX_RANGE_CUSTOM;
  return custom && notice.targets().names().empty() ? PMIX_ERR_BAD_PARAM : PMIX_SUCCESS;
}

// What else comes with it is libpmix's own, pointers among it.
pmix_status_t read_all_wait(const pmix_proc_t& source, const pmix_info_t* info,
                            std::size_t info_count, wire::EventNotice& notice) {
  pmix_proc_t all = source;
  all.rank = PMIX_RANK_WILDCARD;
  const auto who = from_pmix(all);
  if (!who) return PMIX_ERR_BAD_PARAM;
  notice.set_code(PMIX_READY_FOR_DEBUG);
  *notice.mutable_source() = to_wire(*who);
  notice.set_range(wire::RANGE_MANAGER);
  for (std::size_t index = 0; index < info_count; ++index) read_breakpoint(info[index], notice);
  return PMIX_SUCCESS;
}

pmix_status_t read_warning(const pmix_proc_t& source, const pmix_info_t* info,
                           std::size_t info_count, wire::EventNotice& notice) {
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  const auto who = from_pmix(source);
  std::optional<std::string> allocation;
  std::optional<std::int64_t> left;
  std::optional<std::string> scheduler_key = "";
  for (std::size_t index = 0; index < info_count; ++index) {
    const std::string_view key = key_of(info[index]);
    if (key == PMIX_ALLOC_ID) allocation = text_in(info[index].value);
    if (key == PMIX_TIME_REMAINING) left = integer_in(info[index].value);
    if (key == TIDE_SCHEDULER_KEY) scheduler_key = text_in(info[index].value);
  }
  if (!who || !allocation || allocation->empty() || !left || *left < 0 || !scheduler_key) {
    return PMIX_ERR_BAD_PARAM;
  }
  notice.set_code(kTimeoutWarning);
  *notice.mutable_source() = to_wire(*who);
  notice.set_range(wire::RANGE_MANAGER);
  auto& warning = *notice.mutable_warning();
  warning.set_allocation(std::move(*allocation));
  warning.set_left_s(static_cast<std::uint32_t>(std::min(*left, kMost)));
  warning.set_scheduler_key(std::move(*scheduler_key));
  return PMIX_SUCCESS;
}

std::optional<pmix_data_range_t> local_range(const wire::EventNotice& notice) {
  switch (notice.range()) {
    case wire::RANGE_MANAGER:
    case wire::RANGE_PROC_LOCAL:
      return std::nullopt;
    case wire::RANGE_NAMESPACE:
      return PMIX_RANGE_CUSTOM;
    case wire::RANGE_CUSTOM:
      if (notice.targets().names().empty()) return std::nullopt;
      return PMIX_RANGE_CUSTOM;
    default:
      return static_cast<pmix_data_range_t>(notice.range());
  }
}

Result<InfoArray> event_info(const wire::EventNotice& notice) {
  const Error unreadable{ErrorCode::kProtocol, "a notice with contents that nobody packed"};
  wire::InfoEntries entries;
  if (!entries.ParseFromString(notice.info())) return unreadable;
  auto& all = *entries.mutable_entries();
  const auto end = std::remove_if(all.begin(), all.end(), [](const wire::InfoEntry& entry) {
    return entry.key() == PMIX_EVENT_CUSTOM_RANGE;
  });
  all.DeleteSubrange(static_cast<int>(end - all.begin()), static_cast<int>(all.end() - end));
  for (const auto& fact : notice.facts()) {
    auto* entry = entries.add_entries();
    entry->set_key(fact.key());
    set_fact(fact, *entry->mutable_value());
  }
  if (local_range(notice) == PMIX_RANGE_CUSTOM) add_audience(audience(notice), entries);
  InfoList list;
  if (!unpack_info(entries, list)) return unreadable;
  return list.finish();
}

}  // namespace tide::pmix
