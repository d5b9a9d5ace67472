/* pmix_debug_daemons PLACE TARGET PER_NODE PROGRAM: starts PROGRAM as daemons of a debugger beside
 * the processes of the job TARGET, PER_NODE on each of its nodes (0: the tool does not say how
 * many). Prints "daemons NSPACE", what they write, and "ended STATUS". */
#include <pmix_tool.h>

#include "pmix_questions.h"
#include "pmix_wait.h"

static bool registered, ended;
static pmix_status_t end_status = PMIX_SUCCESS;

static void heard(size_t id, pmix_status_t code, const pmix_proc_t* source, pmix_info_t info[],
                  size_t count, pmix_info_t* results, size_t result_count,
                  pmix_event_notification_cbfunc_fn_t done, void* data) {
  (void)id, (void)code, (void)source, (void)results, (void)result_count;
  for (size_t index = 0; index < count; ++index) {
    if (PMIX_CHECK_KEY(&info[index], PMIX_JOB_TERM_STATUS))
      end_status = info[index].value.data.status;
  }
  set(&ended);
  done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void is_registered(pmix_status_t status, size_t id, void* data) {
  (void)id, (void)data;
  must(status, "PMIx_Register_event_handler");
  set(&registered);
}

static void spawn(const char* target_nspace, unsigned per_node, const char* program) {
  const bool yes = true;
  const uint16_t count = (uint16_t)per_node;
  char nspace[PMIX_MAX_NSLEN + 1];
  pmix_proc_t target;
  pmix_status_t status;
  pmix_app_t app;
  pmix_info_t info[5];
  PMIX_LOAD_PROCID(&target, target_nspace, PMIX_RANK_WILDCARD);
  PMIX_APP_CONSTRUCT(&app);
  app.maxprocs = 1;
  app.cmd = strdup(program);
  PMIX_ARGV_APPEND(status, app.argv, program);
  PMIX_INFO_LOAD(&info[0], PMIX_DEBUGGER_DAEMONS, &yes, PMIX_BOOL);
  PMIX_INFO_LOAD(&info[1], PMIX_DEBUG_TARGET, &target, PMIX_PROC);
  PMIX_INFO_LOAD(&info[2], PMIX_FWD_STDOUT, &yes, PMIX_BOOL);
  PMIX_INFO_LOAD(&info[3], PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
  PMIX_INFO_LOAD(&info[4], PMIX_DEBUG_DAEMONS_PER_NODE, &count, PMIX_UINT16);
  status = PMIx_Spawn(info, per_node > 0 ? 5 : 4, &app, 1, nspace);
  PMIX_APP_DESTRUCT(&app);
  must(status, "PMIx_Spawn");
  printf("daemons %s\n", nspace);
  fflush(stdout);
}

int main(int argc, char** argv) {
  static pmix_status_t code = PMIX_EVENT_JOB_END;
  pmix_proc_t me;
  pmix_info_t place;
  if (argc != 5) return 2;
  PMIX_INFO_LOAD(&place, PMIX_SERVER_URI, argv[1], PMIX_STRING);
  must(PMIx_tool_init(&me, &place, 1), "PMIx_tool_init");
  PMIx_Register_event_handler(&code, 1, NULL, 0, heard, is_registered, NULL);
  wait_for(&registered, "registration");
  spawn(argv[2], (unsigned)atoi(argv[3]), argv[4]);
  wait_for(&ended, "the end of the daemons");
  printf("ended %s\n", PMIx_Error_string(end_status));
  must(PMIx_tool_finalize(), "PMIx_tool_finalize");
  return 0;
}
