// What happens, between daemons and in the form that PMIx has for it.
#pragma once

#include <pmix_common.h>

#include <optional>

#include "base/result.hpp"
#include "pmix/info_list.hpp"
#include "pmix/server.hpp"

namespace tide::pmix {

// Everything is copied; no function of libpmix is called.
pmix_status_t read_event(pmix_status_t code, const pmix_proc_t& source, pmix_data_range_t range,
                         const pmix_info_t* info, std::size_t info_count,
                         wire::EventNotice& notice);

// All processes of the source's job that are here wait for a debugger.
pmix_status_t read_all_wait(const pmix_proc_t& source, const pmix_info_t* info,
                            std::size_t info_count, wire::EventNotice& notice);
// A scheduler says that an allocation is about to end: which one, in how many seconds, and who it
// is. PMIX_ERR_BAD_PARAM unless it says so.
pmix_status_t read_warning(const pmix_proc_t& source, const pmix_info_t* info,
                           std::size_t info_count, wire::EventNotice& notice);
// Which range libpmix has to be told so that the right ones here hear of it: it does not look at
// the namespace itself. Nothing if nobody shall.
std::optional<pmix_data_range_t> local_range(const wire::EventNotice& notice);
// What the notice says, with the names of those for whom it is where the range is theirs.
Result<InfoArray> event_info(const wire::EventNotice& notice);

}  // namespace tide::pmix
