#include "pmix/upcalls_events.hpp"

#include <pmix.h>

#include <utility>

#include "pmix/asking.hpp"
#include "pmix/event_notice.hpp"
#include "pmix/own_keys.hpp"
#include "pmix/upcalls.hpp"

namespace tide::pmix {
namespace {

// A scheduler's word is for the DVM alone, and what is for that alone comes to handlers only.
void warning_came(size_t /*handler*/, pmix_status_t /*code*/, const pmix_proc_t* source,
                  pmix_info_t info[], size_t info_count, pmix_info_t* /*results*/,
                  size_t /*result_count*/, pmix_event_notification_cbfunc_fn_t done,
                  void* done_data) {
  wire::EventNotice notice;
  const auto bridge = Bridge::current();
  if (bridge && read_warning(*source, info, info_count, notice) == PMIX_SUCCESS) {
    bridge->post([notice = std::move(notice)](Handler& handler) { handler.on_event(notice); });
  }
  if (done != nullptr) {
    done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, done_data);
  }
}

// libpmix does what we ask in our order, so there is no need to wait, and reads the code later.
void hear_of(Bridge& bridge, pmix_status_t* code, pmix_notification_fn_t handler) {
  bridge.begin(
      [code, handler](void* number) {
        PMIx_Register_event_handler(code, 1, nullptr, 0, handler, registration_done, number);
        return PMIX_SUCCESS;
      },
      nullptr);
}

}  // namespace

void begin_to_hear(Bridge& bridge) {
  static pmix_status_t lost = PMIX_ERR_LOST_CONNECTION;
  static auto warning = alloc_timeout_warning_code();
  hear_of(bridge, &lost, connection_lost);
  if (warning) hear_of(bridge, &*warning, warning_came);
}

pmix_status_t events_registered(pmix_status_t* /*codes*/, size_t /*code_count*/,
                                const pmix_info_t /*info*/[], size_t /*info_count*/,
                                pmix_op_cbfunc_t /*done*/, void* /*done_data*/) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t events_deregistered(pmix_status_t* /*codes*/, size_t /*code_count*/,
                                  pmix_op_cbfunc_t /*done*/, void* /*done_data*/) {
  return PMIX_OPERATION_SUCCEEDED;
}

// Told when it is for others than those here, who have it from libpmix already.
pmix_status_t event_notified(pmix_status_t code, const pmix_proc_t* source, pmix_data_range_t range,
                             pmix_info_t info[], size_t info_count, pmix_op_cbfunc_t /*done*/,
                             void* /*done_data*/) {
  const auto bridge = Bridge::current();
  if (!bridge) return kStopping;
  // Nobody but the DVM tells of it, whom it was meant for; and it may come with a scheduler's key.
  if (code == kTimeoutWarning) return PMIX_OPERATION_SUCCEEDED;
  wire::EventNotice notice;
  // libpmix counts those who wait for a debugger itself, and tells when all that are here do.
  const bool all_wait = code == PMIX_READY_FOR_DEBUG && source->rank == PMIX_RANK_LOCAL_PEERS;
  const pmix_status_t status = all_wait
                                   ? read_all_wait(*source, info, info_count, notice)
                                   : read_event(code, *source, range, info, info_count, notice);
  if (status != PMIX_SUCCESS) return status;
  bridge->post([notice = std::move(notice)](Handler& handler) { handler.on_event(notice); });
  return PMIX_OPERATION_SUCCEEDED;
}

}  // namespace tide::pmix
