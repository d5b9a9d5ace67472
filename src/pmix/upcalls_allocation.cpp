#include "pmix/upcalls_allocation.hpp"

#include <utility>

#include "pmix/allocation_request.hpp"
#include "pmix/asking.hpp"
#include "pmix/convert.hpp"

namespace tide::pmix {
namespace {

void release_answer(void* answer) {
  delete static_cast<InfoArray*>(answer);
}

}  // namespace

pmix_status_t allocation_asked(const pmix_proc_t* proc, pmix_alloc_directive_t directive,
                               const pmix_info_t info[], size_t info_count, pmix_info_cbfunc_t done,
                               void* done_data) {
  const auto who = proc != nullptr ? from_pmix(*proc) : std::nullopt;
  if (!who) return PMIX_ERR_BAD_PARAM;
  wire::ServiceRequest request;
  const pmix_status_t status = read_allocation(directive, info, info_count, request);
  if (status != PMIX_SUCCESS) return status;
  return ask(*who, std::move(request), {},
             [done, done_data](pmix_status_t asked, const wire::ServiceAnswer& answer) {
               if (done == nullptr) return;
               if (asked != PMIX_SUCCESS)
                 return done(asked, nullptr, 0, done_data, nullptr, nullptr);
               auto made = allocation_answer(answer.allocation());
               if (!made) return done(PMIX_ERR_NOMEM, nullptr, 0, done_data, nullptr, nullptr);
               // libpmix reads it after this call, and then calls release_answer.
               auto* kept = new InfoArray(std::move(*made));
               done(PMIX_SUCCESS, kept->data(), kept->size(), done_data, release_answer, kept);
             });
}

}  // namespace tide::pmix
