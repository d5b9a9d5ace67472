#include <memory>
#include <utility>

#include "pmix/asking.hpp"
#include "pmix/convert.hpp"
#include "pmix/query_reply.hpp"
#include "pmix/upcalls_tools.hpp"

namespace tide::pmix {
namespace {

void release_result(void* result) {
  delete static_cast<QueryResult*>(result);
}

// libpmix reads it after this call, on its own thread, and then calls release_result.
void give(QueryResult made, pmix_info_cbfunc_t done, void* done_data) {
  if (done == nullptr) return;
  auto* result = new QueryResult(std::move(made));
  done(result->status, result->info.data(), result->info.size(), done_data, release_result, result);
}

}  // namespace

// libpmix 4.2.2 names this server as the one who asks. A caller that wants to be known names itself
// by PMIX_PROCID; where it does not, whoever answers is told of the server.
pmix_status_t query_asked(pmix_proc_t* /*proc*/, pmix_query_t* queries, size_t query_count,
                          pmix_info_cbfunc_t done, void* done_data) {
  const auto bridge = Bridge::current();
  if (!bridge) return kStopping;
  const auto plan = std::make_shared<QueryPlan>();
  const pmix_status_t status = plan->read(queries, query_count);
  if (status != PMIX_SUCCESS) return status;
  if (plan->query.questions().empty()) {
    bridge->post(
        [plan, done, done_data](Handler&) { give(query_result(*plan, {}), done, done_data); });
    return PMIX_SUCCESS;
  }
  wire::ServiceRequest request;
  *request.mutable_query() = plan->query;
  return ask(plan->who.value_or(ProcName{}), std::move(request), {},
             [plan, done, done_data](pmix_status_t asked, const wire::ServiceAnswer& answer) {
               if (asked == PMIX_SUCCESS) {
                 give(query_result(*plan, answer.replies()), done, done_data);
               } else if (done != nullptr) {
                 done(asked, nullptr, 0, done_data, nullptr, nullptr);
               }
             });
}

}  // namespace tide::pmix
