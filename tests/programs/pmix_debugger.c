/* pmix_debugger PLACE exec|init|app HOSTS COUNT PROGRAM ...: what a debugger does with a job of its
 * own.
 *
 * PLACE is the URI of a server. The job is spawned on HOSTS ("v1,v2") so that its processes wait,
 * and is let go when standard input ends. Prints
 *   "ready NSPACE BREAKPOINT"  for each event that says that they do
 *   the table of processes     see pmix_questions.h
 *   "held"                     before it waits for the end of its standard input
 *   "ended NSPACE STATUS"      and how often it was told that they waited: "told COUNT" */
#include <pmix_tool.h>
#include <signal.h>
#include <unistd.h>

#include "pmix_questions.h"
#include "pmix_wait.h"

static pmix_proc_t me;
static bool registered, ready, ended;
static int ready_events = 0;
static pmix_status_t end_status = PMIX_SUCCESS;

static void heard(size_t id, pmix_status_t code, const pmix_proc_t* source, pmix_info_t info[],
                  size_t count, pmix_info_t* results, size_t result_count,
                  pmix_event_notification_cbfunc_fn_t done, void* data) {
  (void)id, (void)results, (void)result_count;
  const char* where = "nowhere";
  for (size_t index = 0; index < count; ++index) {
    if (PMIX_CHECK_KEY(&info[index], PMIX_BREAKPOINT)) where = info[index].value.data.string;
    if (PMIX_CHECK_KEY(&info[index], PMIX_JOB_TERM_STATUS))
      end_status = info[index].value.data.status;
  }
  if (code == PMIX_READY_FOR_DEBUG) {
    printf("ready %s %s\n", source->nspace, where);
    fflush(stdout);
    ++ready_events;
  }
  set(code == PMIX_READY_FOR_DEBUG ? &ready : &ended);
  done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void is_registered(pmix_status_t status, size_t id, void* data) {
  (void)id, (void)data;
  must(status, "PMIx_Register_event_handler");
  set(&registered);
}

static void listen_to_jobs(void) {
  static pmix_status_t codes[] = {PMIX_READY_FOR_DEBUG, PMIX_EVENT_JOB_END};
  PMIx_Register_event_handler(codes, 2, NULL, 0, heard, is_registered, NULL);
  wait_for(&registered, "registration");
}

static const char* key_of_stop(const char* where) {
  if (strcmp(where, "exec") == 0) return PMIX_DEBUG_STOP_ON_EXEC;
  return strcmp(where, "init") == 0 ? PMIX_DEBUG_STOP_IN_INIT : PMIX_DEBUG_STOP_IN_APP;
}

static void spawn(char** words, int count, char* nspace) {
  const pmix_rank_t all = PMIX_RANK_WILDCARD;
  const bool yes = true;
  pmix_status_t status;
  pmix_app_t app;
  pmix_info_t info[6];
  PMIX_APP_CONSTRUCT(&app);
  app.maxprocs = atoi(words[2]);
  app.cmd = strdup(words[3]);
  for (int index = 3; index < count; ++index) PMIX_ARGV_APPEND(status, app.argv, words[index]);
  PMIX_INFO_LOAD(&info[0], key_of_stop(words[0]), &all, PMIX_PROC_RANK);
  PMIX_INFO_LOAD(&info[1], PMIX_HOST, words[1], PMIX_STRING);
  PMIX_INFO_LOAD(&info[2], PMIX_MAPBY, "node", PMIX_STRING);
  PMIX_INFO_LOAD(&info[3], PMIX_FWD_STDOUT, &yes, PMIX_BOOL);
  PMIX_INFO_LOAD(&info[4], PMIX_FWD_STDERR, &yes, PMIX_BOOL);
  PMIX_INFO_LOAD(&info[5], PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
  status = PMIx_Spawn(info, 6, &app, 1, nspace);
  PMIX_APP_DESTRUCT(&app);
  must(status, "PMIx_Spawn");
}

static void show_processes(const char* nspace) {
  char key[] = PMIX_QUERY_PROC_TABLE, of[PMIX_MAX_NSLEN + 8], *question[] = {key, of};
  snprintf(of, sizeof of, "NSPACE=%s", nspace);
  if (ask_and_print(question, 2) != 0) exit(3);
  printf("held\n");
  fflush(stdout);
}

static void wait_for_end_of_input(void) {
  char bytes[64];
  while (read(STDIN_FILENO, bytes, sizeof bytes) > 0) {
  }
}

static void let_go(const char* where, const char* nspace) {
  pmix_info_t info[2], *results = NULL;
  pmix_proc_t all;
  size_t result_count = 0;
  PMIX_LOAD_PROCID(&all, nspace, PMIX_RANK_WILDCARD);
  if (strcmp(where, "exec") == 0) {
    const int number = SIGCONT;
    PMIX_INFO_LOAD(&info[0], PMIX_JOB_CTRL_SIGNAL, &number, PMIX_INT);
    must(PMIx_Job_control(&all, 1, info, 1, &results, &result_count), "PMIx_Job_control");
    return;
  }
  pmix_data_array_t array = {.type = PMIX_PROC, .size = 1, .array = &all};
  PMIX_INFO_LOAD(&info[0], PMIX_EVENT_CUSTOM_RANGE, &array, PMIX_DATA_ARRAY);
  PMIX_INFO_LOAD(&info[1], PMIX_EVENT_NON_DEFAULT, NULL, PMIX_BOOL);
  must(PMIx_Notify_event(PMIX_DEBUGGER_RELEASE, &me, PMIX_RANGE_CUSTOM, info, 2, NULL, NULL),
       "PMIx_Notify_event");
}

int main(int argc, char** argv) {
  char nspace[PMIX_MAX_NSLEN + 1];
  pmix_info_t place;
  if (argc < 6) return 2;
  PMIX_INFO_LOAD(&place, PMIX_SERVER_URI, argv[1], PMIX_STRING);
  must(PMIx_tool_init(&me, &place, 1), "PMIx_tool_init");
  listen_to_jobs();
  spawn(argv + 2, argc - 2, nspace);
  wait_for(&ready, "that all processes wait");
  show_processes(nspace);
  wait_for_end_of_input();
  let_go(argv[2], nspace);
  wait_for(&ended, "the end of the job");
  printf("ended %s %s\ntold %d\n", nspace, PMIx_Error_string(end_status), ready_events);
  must(PMIx_tool_finalize(), "PMIx_tool_finalize");
  return 0;
}
