/* pmix_breakpoint: waits for a debugger where it wants to, if its job is to stop in the
 * application, and says when it goes on. */
#include "pmix_wait.h"

static pmix_proc_t me;
static bool registered, released;

static void heard(size_t id, pmix_status_t code, const pmix_proc_t* source, pmix_info_t info[],
                  size_t count, pmix_info_t* results, size_t result_count,
                  pmix_event_notification_cbfunc_fn_t done, void* data) {
  (void)id, (void)code, (void)source, (void)info, (void)count, (void)results, (void)result_count;
  set(&released);
  done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void is_registered(pmix_status_t status, size_t id, void* data) {
  (void)id, (void)data;
  must(status, "PMIx_Register_event_handler");
  set(&registered);
}

static bool is_to_stop(void) {
  const pmix_proc_t job = name_of(&me, PMIX_RANK_WILDCARD);
  pmix_value_t* value = NULL;
  pmix_info_t optional;
  PMIX_INFO_LOAD(&optional, PMIX_OPTIONAL, NULL, PMIX_BOOL);
  if (PMIx_Get(&job, PMIX_DEBUG_STOP_IN_APP, &optional, 1, &value) != PMIX_SUCCESS) return false;
  PMIX_VALUE_RELEASE(value);
  return true;
}

int main(void) {
  must(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  if (is_to_stop()) {
    pmix_status_t code = PMIX_DEBUGGER_RELEASE;
    pmix_info_t info[2];
    PMIx_Register_event_handler(&code, 1, NULL, 0, heard, is_registered, NULL);
    wait_for(&registered, "registration");
    PMIX_INFO_LOAD(&info[0], PMIX_EVENT_NON_DEFAULT, NULL, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_BREAKPOINT, "before the first step", PMIX_STRING);
    must(PMIx_Notify_event(PMIX_READY_FOR_DEBUG, &me, PMIX_RANGE_RM, info, 2, NULL, NULL),
         "PMIx_Notify_event");
    wait_for(&released, "the debugger");
  }
  printf("rank %u goes on\n", me.rank);
  must(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
  return 0;
}
