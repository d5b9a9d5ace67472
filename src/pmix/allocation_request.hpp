// What a process or tool says when it wants nodes or gives some back, and what it is answered.
#pragma once

#include <pmix_common.h>

#include <cstddef>

#include "base/result.hpp"
#include "pmix/info_list.hpp"
#include "pmix/server.hpp"

namespace tide::pmix {

// PMIX_ERR_BAD_PARAM for values of a wrong type and for what says too little or too much,
// PMIX_ERR_NOT_SUPPORTED for what is unknown and required, and for an end of the allocation that
// there is not.
pmix_status_t read_allocation(pmix_alloc_directive_t directive, const pmix_info_t* info,
                              std::size_t count, wire::ServiceRequest& request);

Result<InfoArray> allocation_answer(const wire::AllocationAnswer& answer);

}  // namespace tide::pmix
