// Our values to PMIx's and back.
#pragma once

#include <pmix_common.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "pmix/server.hpp"

namespace tide::pmix {

pmix_status_t to_pmix(ErrorCode code);
pmix_status_t to_pmix(const Status& status);
// `what` failed, with the name that PMIx has for the reason.
Error from_pmix(pmix_status_t status, std::string_view what);

// Whether PMIx can hold this name: it has a fixed place for it.
bool is_nspace(std::string_view name);
// Of a name that PMIx can hold.
pmix_proc_t to_pmix(const ProcName& name);
// Nothing for ranks that are neither a process nor the wildcard: PMIX_RANK_UNDEF and its like.
std::optional<ProcName> from_pmix(const pmix_proc_t& proc);

// What a request may say about how it is to be done.
struct Directives {
  bool collect = false;
  std::uint32_t timeout_s = 0;
  bool broken = false;  // libpmix says that a local participant was lost
};
// PMIX_ERR_BAD_PARAM for values of a wrong type, PMIX_ERR_NOT_SUPPORTED for what is unknown and
// required.
pmix_status_t read_directives(const pmix_info_t* info, std::size_t count, Directives& directives);

}  // namespace tide::pmix
