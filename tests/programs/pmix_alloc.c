/* pmix_alloc uri URI | pmix_alloc attach PATH | pmix_alloc rank PATH: asks for nodes and gives some
 * back, as it is told on standard input, or each rank in the file PATH.RANK.
 *
 * A line is one of
 *   NAME DIRECTIVE [WORD...]         a request: new, extend, release, cancel or a number, with
 *                                    nodes= list= id= req= share= target=NSPACE time= warn= key=
 *                                    inherit=none|child|default|child_default|NUMBER
 *   NAME spawn [target=A,B] [n=COUNT] [WORD...] -- PROGRAM [ARGUMENT...]
 *                                    a job in these allocations, of which "default" is the default
 *                                    session; other words: key= mapby= host= stdout= nohup=
 *   NAME warn id= left= [key=]       tells the DVM that an allocation ends in so many seconds
 *   NAME onwarn DIRECTIVE [WORD...]  a request that waits for the next warning, and is made by its
 *                                    handler for the allocation that it is about
 *   deaf | exit STATUS | quit        forgets its handlers; ends at once; ends
 * WORD.text= and WORD.u32= give the value as that type, whatever it should be.
 *
 * Prints "ready NSPACE RANK"; when it is answered "NAME: STATUS [id=…] [req=…] complete=…", of a
 * spawn "NAME: STATUS nspace=…"; and for each event
 * "event CODE [id=…] [req=…] [cause=…] [nspace=…] [left=…]". With several ranks each line begins
 * with "RANK|". */
#include <pmix_tool.h>
#include <unistd.h>

#include "pmix_alloc_words.h"
#include "pmix_wait.h"

enum { kLine = 4096, kWarning = -194, kIsReady = -195, kModFailed = -196 };

static pmix_proc_t me;
static char prefix[32] = "";
static size_t handlers[2];
static bool registered[2];
static bool deaf[2];
static Request* on_warning; /* what is asked for when one comes */

static const char* name_of_code(pmix_status_t code) {
  if (code == kWarning) return "PMIX_ALLOC_TIMEOUT_WARNING";
  if (code == kIsReady) return "PMIX_DVM_IS_READY";
  if (code == kModFailed) return "PMIX_ERR_DVM_MOD";
  if (code == PMIX_EVENT_JOB_END) return "PMIX_EVENT_JOB_END";
  return PMIx_Error_string(code);
}

/* ---- what it is told ---- */

static size_t add_ids(char* line, size_t size, size_t used, const pmix_info_t* info, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const pmix_value_t* value = &info[i].value;
    if (PMIX_CHECK_KEY(&info[i], PMIX_ALLOC_ID)) {
      used += (size_t)snprintf(line + used, size - used, " id=%s", value->data.string);
    } else if (PMIX_CHECK_KEY(&info[i], PMIX_ALLOC_REQ_ID)) {
      used += (size_t)snprintf(line + used, size - used, " req=%s", value->data.string);
    } else if (PMIX_CHECK_KEY(&info[i], TIDE_ALLOC_COMPLETE)) {
      used += (size_t)snprintf(line + used, size - used, " complete=%d", (int)value->data.flag);
    } else if (PMIX_CHECK_KEY(&info[i], PMIX_JOB_TERM_STATUS)) {
      const bool typed = value->type == PMIX_STATUS;
      used +=
          (size_t)snprintf(line + used, size - used, " cause=%d", typed ? value->data.status : 0);
    } else if (PMIX_CHECK_KEY(&info[i], PMIX_NSPACE)) {
      used += (size_t)snprintf(line + used, size - used, " nspace=%s", value->data.string);
    } else if (PMIX_CHECK_KEY(&info[i], TIDE_SCHEDULER_KEY)) {
      used += (size_t)snprintf(line + used, size - used, " key=%s", value->data.string);
    } else if (PMIX_CHECK_KEY(&info[i], PMIX_TIME_REMAINING)) {
      const bool typed = value->type == PMIX_UINT32;
      used += (size_t)snprintf(line + used, size - used, typed ? " left=%u" : " left.type=%u",
                               typed ? value->data.uint32 : value->type);
    }
  }
  return used;
}

static void say(const char* line) {
  printf("%s%s\n", prefix, line);
  fflush(stdout);
}

/* ---- what it asks ---- */

static void answered(pmix_status_t status, pmix_info_t* info, size_t count, void* data,
                     pmix_release_cbfunc_t release, void* release_data) {
  Request* request = data;
  char line[kLine];
  const size_t used = (size_t)snprintf(line, sizeof line, "%s: %d", request->name, status);
  add_ids(line, sizeof line, used, info, count);
  say(line);
  if (release != NULL) release(release_data);
}

static pmix_alloc_directive_t directive_of(const char* word) {
  if (strcmp(word, "new") == 0) return PMIX_ALLOC_NEW;
  if (strcmp(word, "extend") == 0) return PMIX_ALLOC_EXTEND;
  if (strcmp(word, "release") == 0) return PMIX_ALLOC_RELEASE;
  if (strcmp(word, "cancel") == 0) return 5;
  return (pmix_alloc_directive_t)atoi(word);
}

/* libpmix reads the request until the answer. */
static void ask(Request* request) {
  const pmix_status_t status = PMIx_Allocation_request_nb(request->directive, request->info,
                                                          request->count, answered, request);
  if (status != PMIX_SUCCESS) answered(status, NULL, 0, request, NULL, NULL);
}

static void spawned(pmix_status_t status, char* nspace, void* data) {
  const Request* request = data;
  char line[kLine];
  const bool made = status == PMIX_SUCCESS;
  snprintf(line, sizeof line, "%s: %d%s%s", request->name, status, made ? " nspace=" : "",
           made ? nspace : "");
  say(line);
}

static void spawn(Request* request) {
  const pmix_status_t status =
      PMIx_Spawn_nb(request->info, request->count, &request->app, 1, spawned, request);
  if (status != PMIX_SUCCESS) spawned(status, NULL, request);
}

static void warn(Request* request) {
  const pmix_status_t status =
      PMIx_Notify_event(kWarning, &me, PMIX_RANGE_RM, request->info, request->count, NULL, NULL);
  answered(status, NULL, 0, request, NULL, NULL);
}

/* ---- what happens ---- */

static void react_by(Request* request) {
  pthread_mutex_lock(&mutex);
  on_warning = request;
  pthread_mutex_unlock(&mutex);
}

static void react(const pmix_info_t* info, size_t count) {
  pthread_mutex_lock(&mutex);
  Request* request = on_warning;
  on_warning = NULL;
  pthread_mutex_unlock(&mutex);
  if (request == NULL) return;
  for (size_t i = 0; i < count; ++i) {
    if (!PMIX_CHECK_KEY(&info[i], PMIX_ALLOC_ID)) continue;
    add_value(request, PMIX_ALLOC_ID, info[i].value.data.string, PMIX_STRING);
  }
  ask(request);
}

static void event_came(size_t handler, pmix_status_t code, const pmix_proc_t* source,
                       pmix_info_t info[], size_t info_count, pmix_info_t* results,
                       size_t result_count, pmix_event_notification_cbfunc_fn_t done,
                       void* done_data) {
  char line[kLine];
  (void)handler;
  (void)source;
  (void)results;
  (void)result_count;
  const size_t used = (size_t)snprintf(line, sizeof line, "event %s", name_of_code(code));
  add_ids(line, sizeof line, used, info, info_count);
  say(line);
  if (code == kWarning) react(info, info_count);
  if (done != NULL) done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, done_data);
}

static void handler_registered(pmix_status_t status, size_t handler, void* data) {
  const size_t index = (size_t)(uintptr_t)data;
  must(status, "PMIx_Register_event_handler");
  handlers[index] = handler;
  set(&registered[index]);
}

static void handler_gone(pmix_status_t status, void* data) {
  (void)status;
  set(&deaf[(size_t)(uintptr_t)data]);
}

static void handle_events(void) {
  static pmix_status_t changes[] = {kWarning, kIsReady, kModFailed}, end[] = {PMIX_EVENT_JOB_END};
  PMIx_Register_event_handler(changes, 3, NULL, 0, event_came, handler_registered, (void*)0);
  PMIx_Register_event_handler(end, 1, NULL, 0, event_came, handler_registered, (void*)1);
  wait_for(&registered[0], "handlers");
  wait_for(&registered[1], "handlers");
}

static void go_deaf(void) {
  for (size_t i = 0; i < 2; ++i) {
    PMIx_Deregister_event_handler(handlers[i], handler_gone, (void*)(uintptr_t)i);
    wait_for(&deaf[i], "handlers");
  }
  say("deaf");
}

/* ---- what it is told to do ---- */

static void append(char*** list, const char* text) {
  pmix_status_t status;
  PMIX_ARGV_APPEND(status, *list, text);
  must(status, text);
}

/* Of a spawn, behind "--". */
static void add_program(pmix_app_t* app, char** rest) {
  for (char* word = strtok_r(NULL, " ", rest); word != NULL; word = strtok_r(NULL, " ", rest)) {
    if (app->cmd == NULL) app->cmd = strdup(word);
    append(&app->argv, word);
  }
}

static void add_words(Request* request, bool spawns, char** rest) {
  for (char* word = strtok_r(NULL, " ", rest); word != NULL; word = strtok_r(NULL, " ", rest)) {
    if (spawns && strcmp(word, "--") == 0) {
      add_program(&request->app, rest);
    } else if (spawns && strncmp(word, "n=", 2) == 0) {
      request->app.maxprocs = atoi(word + 2);
    } else if (spawns && strncmp(word, "target=", 7) == 0) {
      add_targets(request, word + 7);
    } else {
      add_word(request, word);
    }
  }
}

static void obey(char* line) {
  char* rest = NULL;
  Request* request = calloc(1, sizeof *request);
  const char* name = strtok_r(line, " ", &rest);
  const char* what = strtok_r(NULL, " ", &rest);
  if (request == NULL || name == NULL || what == NULL) exit(2);
  const bool later = strcmp(what, "onwarn") == 0;
  const bool spawns = strcmp(what, "spawn") == 0;
  if (later) what = strtok_r(NULL, " ", &rest);
  if (what == NULL) exit(2);
  snprintf(request->name, sizeof request->name, "%s", name);
  request->directive = directive_of(what);
  request->app.maxprocs = 1;
  add_words(request, spawns, &rest);
  if (later) {
    react_by(request);
  } else if (spawns) {
    spawn(request);
  } else if (strcmp(what, "warn") == 0) {
    warn(request);
  } else {
    ask(request);
  }
}

static void follow(FILE* orders) {
  char line[kLine];
  while (fgets(line, sizeof line, orders) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    if (strcmp(line, "quit") == 0) return;
    if (strcmp(line, "deaf") == 0) {
      go_deaf();
    } else if (strncmp(line, "exit ", 5) == 0) {
      _exit(atoi(line + 5));
    } else {
      obey(line);
    }
  }
}

static FILE* begin_as_tool(const char* kind, const char* where) {
  pmix_info_t info;
  const bool by_uri = strcmp(kind, "uri") == 0;
  PMIX_INFO_LOAD(&info, by_uri ? PMIX_SERVER_URI : PMIX_TOOL_ATTACHMENT_FILE, where, PMIX_STRING);
  must(PMIx_tool_init(&me, &info, 1), "PMIx_tool_init");
  return stdin;
}

static FILE* begin_as_rank(const char* path) {
  char own[kLine];
  must(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  snprintf(prefix, sizeof prefix, "%u|", me.rank);
  snprintf(own, sizeof own, "%s.%u", path, me.rank);
  FILE* orders = fopen(own, "r");
  if (orders == NULL) exit(2);
  return orders;
}

int main(int argc, char** argv) {
  char line[kLine];
  if (argc != 3) return 2;
  const bool as_rank = strcmp(argv[1], "rank") == 0;
  FILE* orders = as_rank ? begin_as_rank(argv[2]) : begin_as_tool(argv[1], argv[2]);
  handle_events();
  snprintf(line, sizeof line, "ready %s %u", me.nspace, me.rank);
  say(line);
  follow(orders);
  must(as_rank ? PMIx_Finalize(NULL, 0) : PMIx_tool_finalize(), "finalize");
  return 0;
}
