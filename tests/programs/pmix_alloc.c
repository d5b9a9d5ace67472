/* pmix_alloc uri URI | pmix_alloc attach PATH | pmix_alloc rank PATH: asks for nodes and gives some
 * back, as it is told on standard input, or each rank in the file PATH.RANK.
 *
 * A line:  NAME DIRECTIVE [KEY=VALUE...]   DIRECTIVE: new extend release cancel, or a number
 *          KEY: nodes list id req share; text.KEY gives the value as a string, whatever it should
 * be deaf | exit STATUS | quit       forgets its handlers; ends at once; ends Prints   "ready
 * NSPACE RANK", "NAME: STATUS [id=…] [req=…] complete=…" when it is answered, and "event CODE
 * [id=…] [req=…] [cause=…] [nspace=…]" for each event. With several ranks each line begins with
 * "RANK|". */
#include <pmix_tool.h>
#include <tide/pmix_keys.h>
#include <unistd.h>

#include "pmix_wait.h"

enum { kMostInfos = 8, kLine = 4096 };

static pmix_proc_t me;
static char prefix[32] = "";
static size_t handlers[2];
static bool registered[2];
static bool deaf[2];

static const char* name_of_code(pmix_status_t code) {
  if (code == -195) return "PMIX_DVM_IS_READY";
  if (code == -196) return "PMIX_ERR_DVM_MOD";
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
    }
  }
  return used;
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
  printf("%s%s\n", prefix, line);
  fflush(stdout);
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
  static pmix_status_t changes[] = {-195, -196}, end[] = {PMIX_EVENT_JOB_END};
  PMIx_Register_event_handler(changes, 2, NULL, 0, event_came, handler_registered, (void*)0);
  PMIx_Register_event_handler(end, 1, NULL, 0, event_came, handler_registered, (void*)1);
  wait_for(&registered[0], "handlers");
  wait_for(&registered[1], "handlers");
}

static void go_deaf(void) {
  for (size_t i = 0; i < 2; ++i) {
    PMIx_Deregister_event_handler(handlers[i], handler_gone, (void*)(uintptr_t)i);
    wait_for(&deaf[i], "handlers");
  }
  printf("%sdeaf\n", prefix);
  fflush(stdout);
}

/* ---- what it asks ---- */

typedef struct {
  char name[64];
  pmix_info_t info[kMostInfos];
  size_t count;
} Request;

static void answered(pmix_status_t status, pmix_info_t* info, size_t count, void* data,
                     pmix_release_cbfunc_t release, void* release_data) {
  Request* request = data;
  char line[kLine];
  const size_t used = (size_t)snprintf(line, sizeof line, "%s: %d", request->name, status);
  add_ids(line, sizeof line, used, info, count);
  printf("%s%s\n", prefix, line);
  fflush(stdout);
  if (release != NULL) release(release_data);
}

static pmix_alloc_directive_t directive_of(const char* word) {
  if (strcmp(word, "new") == 0) return PMIX_ALLOC_NEW;
  if (strcmp(word, "extend") == 0) return PMIX_ALLOC_EXTEND;
  if (strcmp(word, "release") == 0) return PMIX_ALLOC_RELEASE;
  if (strcmp(word, "cancel") == 0) return 5;
  return (pmix_alloc_directive_t)atoi(word);
}

static void load(pmix_info_t* info, const char* key, char* value) {
  const bool as_text = strncmp(key, "text.", 5) == 0;
  const char* name = as_text ? key + 5 : key;
  if (strcmp(name, "nodes") == 0 && !as_text) {
    const uint64_t number = strtoull(value, NULL, 10);
    PMIX_INFO_LOAD(info, PMIX_ALLOC_NUM_NODES, &number, PMIX_UINT64);
  } else if (strcmp(name, "share") == 0 && !as_text) {
    const bool flag = strcmp(value, "true") == 0;
    PMIX_INFO_LOAD(info, "pmix.alloc.share", &flag, PMIX_BOOL);
  } else {
    const char* pmix = strcmp(name, "nodes") == 0   ? PMIX_ALLOC_NUM_NODES
                       : strcmp(name, "share") == 0 ? "pmix.alloc.share"
                       : strcmp(name, "list") == 0  ? PMIX_ALLOC_NODE_LIST
                       : strcmp(name, "id") == 0    ? PMIX_ALLOC_ID
                       : strcmp(name, "req") == 0   ? PMIX_ALLOC_REQ_ID
                                                    : name;
    PMIX_INFO_LOAD(info, pmix, value, PMIX_STRING);
  }
}

static void ask(char* line) {
  char* rest = NULL;
  Request* request = calloc(1, sizeof *request); /* libpmix reads it until the answer */
  const char* name = strtok_r(line, " ", &rest);
  const char* directive = strtok_r(NULL, " ", &rest);
  if (request == NULL || name == NULL || directive == NULL) exit(2);
  snprintf(request->name, sizeof request->name, "%s", name);
  for (char* word = strtok_r(NULL, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
    char* value = strchr(word, '=');
    if (value == NULL || request->count == kMostInfos) exit(2);
    *value = '\0';
    load(&request->info[request->count++], word, value + 1);
  }
  const pmix_status_t status = PMIx_Allocation_request_nb(directive_of(directive), request->info,
                                                          request->count, answered, request);
  if (status != PMIX_SUCCESS) answered(status, NULL, 0, request, NULL, NULL);
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
      ask(line);
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
  if (argc != 3) return 2;
  const bool as_rank = strcmp(argv[1], "rank") == 0;
  FILE* orders = as_rank ? begin_as_rank(argv[2]) : begin_as_tool(argv[1], argv[2]);
  handle_events();
  printf("%sready %s %u\n", prefix, me.nspace, me.rank);
  fflush(stdout);
  follow(orders);
  must(as_rank ? PMIx_Finalize(NULL, 0) : PMIx_tool_finalize(), "finalize");
  return 0;
}
