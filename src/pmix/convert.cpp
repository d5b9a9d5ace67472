#include "pmix/convert.hpp"

#include <pmix.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "base/check.hpp"

namespace tide::pmix {
namespace {

// The numbers that PMIX_TIMEOUT comes in; the standard says int, people say otherwise.
std::optional<std::int64_t> number_in(const pmix_value_t& value) {
  switch (value.type) {
    case PMIX_INT:
      return value.data.integer;
    case PMIX_INT32:
      return value.data.int32;
    case PMIX_UINT:
      return value.data.uint;
    case PMIX_UINT32:
      return value.data.uint32;
    default:
      return std::nullopt;
  }
}

pmix_status_t read_timeout(const pmix_value_t& value, std::uint32_t& timeout_s) {
  const auto number = number_in(value);
  if (!number || *number < 0 || *number > std::numeric_limits<std::uint32_t>::max()) {
    return PMIX_ERR_BAD_PARAM;
  }
  timeout_s = static_cast<std::uint32_t>(*number);
  return PMIX_SUCCESS;
}

pmix_status_t read_flag(const pmix_value_t& value, bool& flag) {
  // A flag that is named without a value is meant.
  if (value.type != PMIX_BOOL && value.type != PMIX_UNDEF) return PMIX_ERR_BAD_PARAM;
  flag = value.type == PMIX_UNDEF || value.data.flag;
  return PMIX_SUCCESS;
}

pmix_status_t read_local_status(const pmix_value_t& value, bool& broken) {
  if (value.type != PMIX_STATUS) return PMIX_ERR_BAD_PARAM;
  broken = value.data.status != PMIX_SUCCESS;
  return PMIX_SUCCESS;
}

// What libpmix itself has honoured or tells us for information.
bool is_known(std::string_view key) {
  static constexpr std::array<std::string_view, 2> kKnown = {PMIX_REQUIRED_KEY,
                                                             PMIX_COLLECT_GENERATED_JOB_INFO};
  return std::find(kKnown.begin(), kKnown.end(), key) != kKnown.end();
}

pmix_status_t read_directive(const pmix_info_t& info, Directives& directives) {
  const std::string_view key(info.key, strnlen(info.key, sizeof info.key));
  if (key == PMIX_COLLECT_DATA) return read_flag(info.value, directives.collect);
  if (key == PMIX_TIMEOUT) return read_timeout(info.value, directives.timeout_s);
  if (key == PMIX_LOCAL_COLLECTIVE_STATUS) return read_local_status(info.value, directives.broken);
  const bool required = (info.flags & PMIX_INFO_REQD) != 0;
  return required && !is_known(key) ? PMIX_ERR_NOT_SUPPORTED : PMIX_SUCCESS;
}

}  // namespace

pmix_status_t to_pmix(ErrorCode code) {
  switch (code) {
    case ErrorCode::kOk:
      return PMIX_SUCCESS;
    case ErrorCode::kInvalidArgument:
      return PMIX_ERR_BAD_PARAM;
    case ErrorCode::kNotFound:
      return PMIX_ERR_NOT_FOUND;
    case ErrorCode::kAlreadyExists:
      return PMIX_ERR_EXISTS;
    case ErrorCode::kPermissionDenied:
      return PMIX_ERR_NO_PERMISSIONS;
    case ErrorCode::kUnavailable:
    case ErrorCode::kConnectionRefused:
      return PMIX_ERR_UNREACH;
    case ErrorCode::kOutOfResources:
      return PMIX_ERR_OUT_OF_RESOURCE;
    case ErrorCode::kTimedOut:
      return PMIX_ERR_TIMEOUT;
    case ErrorCode::kConnectionLost:
      return PMIX_ERR_LOST_CONNECTION;
    case ErrorCode::kProtocol:
      return PMIX_ERR_COMM_FAILURE;
    case ErrorCode::kNotSupported:
      return PMIX_ERR_NOT_SUPPORTED;
    case ErrorCode::kSystem:
    case ErrorCode::kInternal:
      break;
  }
  return PMIX_ERROR;
}

pmix_status_t to_pmix(const Status& status) {
  return status.ok() ? PMIX_SUCCESS : to_pmix(status.error().code);
}

Error from_pmix(pmix_status_t status, std::string_view what) {
  ErrorCode code = ErrorCode::kInternal;
  for (const auto candidate :
       {ErrorCode::kInvalidArgument, ErrorCode::kNotFound, ErrorCode::kAlreadyExists,
        ErrorCode::kPermissionDenied, ErrorCode::kUnavailable, ErrorCode::kOutOfResources,
        ErrorCode::kTimedOut, ErrorCode::kConnectionLost, ErrorCode::kNotSupported}) {
    if (to_pmix(candidate) == status) code = candidate;
  }
  return Error{code, std::string(what) + ": " + PMIx_Error_string(status)};
}

bool is_nspace(std::string_view name) {
  return !name.empty() && name.size() <= PMIX_MAX_NSLEN &&
         name.find('\0') == std::string_view::npos;
}

pmix_proc_t to_pmix(const ProcName& name) {
  TIDE_CHECK(name.nspace.size() <= PMIX_MAX_NSLEN);
  pmix_proc_t proc{};
  name.nspace.copy(proc.nspace, PMIX_MAX_NSLEN);
  proc.rank = name.rank == kAllRanks ? PMIX_RANK_WILDCARD : name.rank;
  return proc;
}

std::optional<ProcName> from_pmix(const pmix_proc_t& proc) {
  ProcName name{std::string(proc.nspace, strnlen(proc.nspace, sizeof proc.nspace)), proc.rank};
  if (proc.rank == PMIX_RANK_WILDCARD) {
    name.rank = kAllRanks;
  } else if (proc.rank >= PMIX_RANK_VALID) {
    return std::nullopt;
  }
  return name;
}

pmix_status_t read_directives(const pmix_info_t* info, std::size_t count, Directives& directives) {
  for (std::size_t index = 0; index < count; ++index) {
    const pmix_status_t status = read_directive(info[index], directives);
    if (status != PMIX_SUCCESS) return status;
  }
  return PMIX_SUCCESS;
}

}  // namespace tide::pmix
