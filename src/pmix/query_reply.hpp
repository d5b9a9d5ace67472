// What is known, in PMIx's terms.
#pragma once

#include <pmix_common.h>

#include "pmix/info_list.hpp"
#include "pmix/query_plan.hpp"

namespace tide::pmix {

// From the numbers PRTE_PROC_STATE_* and PRTE_JOB_STATE_*.
pmix_proc_state_t process_state(std::uint32_t state);
// PMIX_OPERATION_IN_PROGRESS while it is not over, PMIX_SUCCESS or an error after that.
pmix_status_t job_status(std::uint32_t state);

struct QueryResult {
  // PMIX_SUCCESS, PMIX_QUERY_PARTIAL_SUCCESS, or PMIX_ERR_NOT_FOUND where nothing was found.
  pmix_status_t status = PMIX_SUCCESS;
  InfoArray info;
};
QueryResult query_result(const QueryPlan& plan, const wire::QueryReplies& replies);

}  // namespace tide::pmix
