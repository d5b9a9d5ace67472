#include "pmix/values.hpp"

#include <cstring>
#include <limits>

#include "pmix/convert.hpp"

namespace tide::pmix {

std::string_view key_of(const pmix_info_t& info) {
  return {info.key, strnlen(info.key, sizeof info.key)};
}

bool is_required(const pmix_info_t& info) {
  return (info.flags & PMIX_INFO_REQD) != 0;
}

std::optional<bool> flag_in(const pmix_value_t& value) {
  if (value.type == PMIX_UNDEF) return true;
  return value.type == PMIX_BOOL ? std::optional(value.data.flag) : std::nullopt;
}

std::optional<std::int64_t> integer_in(const pmix_value_t& value) {
  switch (value.type) {
    case PMIX_INT:
      return value.data.integer;
    case PMIX_INT8:
      return value.data.int8;
    case PMIX_INT16:
      return value.data.int16;
    case PMIX_INT32:
      return value.data.int32;
    case PMIX_INT64:
      return value.data.int64;
    case PMIX_UINT:
      return value.data.uint;
    case PMIX_UINT8:
      return value.data.uint8;
    case PMIX_UINT16:
      return value.data.uint16;
    case PMIX_UINT32:
      return value.data.uint32;
    case PMIX_UINT64:
      if (value.data.uint64 > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
      return static_cast<std::int64_t>(value.data.uint64);
    case PMIX_SIZE:
      if (value.data.size > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
      return static_cast<std::int64_t>(value.data.size);
    case PMIX_PROC_RANK:
      return value.data.rank;
    default:
      return std::nullopt;
  }
}

std::optional<std::string> text_in(const pmix_value_t& value) {
  if (value.type != PMIX_STRING || value.data.string == nullptr) return std::nullopt;
  return value.data.string;
}

std::optional<ProcName> proc_in(const pmix_value_t& value) {
  if (value.type != PMIX_PROC || value.data.proc == nullptr) return std::nullopt;
  return from_pmix(*value.data.proc);
}

}  // namespace tide::pmix
