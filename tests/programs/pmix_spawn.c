/* pmix_spawn COUNT PROGRAM [ARGUMENT...] [-- KEY=VALUE...]: rank 0 starts COUNT processes of
 * PROGRAM.
 *
 * Keys: host, addhost, addhostfile, mapby, wdir (texts of the job), timeout, jobtimeout (seconds),
 * env (NAME=VALUE for the app), notify (1: print "child ended" when told so), require (an unknown
 * key that is required). Prints "spawned NSPACE of SIZE", or "spawn: status". */
#include <unistd.h>

#include "pmix_check.h"

enum { kMaxInfo = 8 };

static pmix_info_t info[kMaxInfo];
static size_t info_count;
static pmix_app_t app;
static volatile int child_ended;
static bool notify;

static void ended(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t entries[],
                  size_t count, pmix_info_t* results, size_t result_count,
                  pmix_event_notification_cbfunc_fn_t done, void* data) {
  (void)id, (void)status, (void)source, (void)entries, (void)count, (void)results,
      (void)result_count;
  child_ended = 1;
  done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void append(char*** list, const char* text) {
  pmix_status_t status;
  PMIX_ARGV_APPEND(status, *list, text);
  must(status, text);
}

static void set_key(char* argument) {
  char* value = strchr(argument, '=');
  if (value == NULL || info_count == kMaxInfo) exit(2);
  *value++ = '\0';
  const int number = atoi(value);
  pmix_info_t* next = &info[info_count];
  if (strcmp(argument, "env") == 0) {
    append(&app.env, value);
    return;
  }
  if (strcmp(argument, "host") == 0) PMIX_INFO_LOAD(next, PMIX_HOST, value, PMIX_STRING);
  if (strcmp(argument, "addhost") == 0) PMIX_INFO_LOAD(next, PMIX_ADD_HOST, value, PMIX_STRING);
  if (strcmp(argument, "addhostfile") == 0)
    PMIX_INFO_LOAD(next, PMIX_ADD_HOSTFILE, value, PMIX_STRING);
  if (strcmp(argument, "mapby") == 0) PMIX_INFO_LOAD(next, PMIX_MAPBY, value, PMIX_STRING);
  if (strcmp(argument, "wdir") == 0) PMIX_INFO_LOAD(next, PMIX_WDIR, value, PMIX_STRING);
  if (strcmp(argument, "timeout") == 0) PMIX_INFO_LOAD(next, PMIX_TIMEOUT, &number, PMIX_INT);
  if (strcmp(argument, "jobtimeout") == 0)
    PMIX_INFO_LOAD(next, PMIX_JOB_TIMEOUT, &number, PMIX_INT);
  if (strcmp(argument, "require") == 0) {
    PMIX_INFO_LOAD(next, value, &number, PMIX_INT);
    PMIX_INFO_REQUIRED(next);
  }
  if (strcmp(argument, "notify") == 0) {
    notify = number != 0;
    PMIX_INFO_LOAD(next, PMIX_NOTIFY_COMPLETION, &notify, PMIX_BOOL);
  }
  ++info_count;
}

static void describe_app(int argc, char** argv) {
  PMIX_APP_CONSTRUCT(&app);
  app.maxprocs = atoi(argv[1]);
  app.cmd = strdup(argv[2]);
  int index = 2;
  for (; index < argc && strcmp(argv[index], "--") != 0; ++index) append(&app.argv, argv[index]);
  for (++index; index < argc; ++index) set_key(argv[index]);
}

/* What is known of the new job can be had at once. */
static void spawn(void) {
  pmix_proc_t child;
  memset(&child, 0, sizeof child);
  child.rank = PMIX_RANK_WILDCARD;
  const pmix_status_t status = PMIx_Spawn(info, info_count, &app, 1, child.nspace);
  if (status != PMIX_SUCCESS) {
    printf("spawn: %s\n", PMIx_Error_string(status));
    return;
  }
  printf("spawned %s of %u\n", child.nspace, must_get_u32(&child, PMIX_JOB_SIZE));
  fflush(stdout);
  for (int waited_ms = 0; notify && !child_ended && waited_ms < 30000; ++waited_ms) usleep(1000);
  if (notify) printf(child_ended ? "child ended\n" : "nobody says that the child ended\n");
}

int main(int argc, char** argv) {
  pmix_proc_t me;
  if (argc < 3) return 2;
  must(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  describe_app(argc, argv);
  if (me.rank == 0) {
    pmix_status_t code = PMIX_EVENT_JOB_END;
    PMIx_Register_event_handler(&code, 1, NULL, 0, ended, NULL, NULL);
    spawn();
  }
  fflush(stdout);
  PMIX_APP_DESTRUCT(&app);
  must(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
  return 0;
}
