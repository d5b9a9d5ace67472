#include "pmix/upcalls_spawn.hpp"

#include <utility>

#include "pmix/asking.hpp"
#include "pmix/convert.hpp"
#include "pmix/spawn_request.hpp"

namespace tide::pmix {

pmix_status_t spawn_asked(const pmix_proc_t* proc, const pmix_info_t info[], size_t info_count,
                          const pmix_app_t apps[], size_t app_count, pmix_spawn_cbfunc_t done,
                          void* done_data) {
  const auto who = from_pmix(*proc);
  if (!who) return PMIX_ERR_BAD_PARAM;
  wire::ServiceRequest request;
  const pmix_status_t status = read_spawn(info, info_count, apps, app_count, request);
  if (status != PMIX_SUCCESS) return status;
  return ask(*who, std::move(request), {},
             [done, done_data](pmix_status_t result, const wire::ServiceAnswer& answer) {
               if (result == PMIX_SUCCESS && !is_nspace(answer.spawned().nspace())) {
                 result = PMIX_ERR_UNPACK_FAILURE;
               }
               if (result == PMIX_ERROR) result = PMIX_ERR_JOB_FAILED_TO_LAUNCH;
               if (result != PMIX_SUCCESS) return done(result, nullptr, done_data);
               pmix_proc_t job = to_pmix(ProcName{answer.spawned().nspace(), kAllRanks});
               done(PMIX_SUCCESS, job.nspace, done_data);
             });
}

}  // namespace tide::pmix
