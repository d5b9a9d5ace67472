/* pmix_tool WHERE [as NSPACE RANK] COMMAND ...: a tool that attaches to a server, does one thing
 * and leaves.
 *
 * WHERE:   uri URI | file PATH (a URI in a file) | attach PATH (PMIX_TOOL_ATTACHMENT_FILE) | pid N
 * | nspace NAME | session | system | system-first COMMAND: hello                     "tool NSPACE
 * RANK at NSPACE RANK" wait                      the same, then it waits until it is killed query
 * KEY... [KEY=VALUE]  see pmix_questions.h namespaces | ps NSPACE    the same with the keys for
 * that spawn COUNT COMMAND ...   its output, "event NAME NSPACE [STATUS]", until the job has ended
 *          signal NSPACE NUMBER | kill NSPACE | terminate NSPACE | pause NSPACE | resume NSPACE
 *          log TEXT...               each on standard output
 *          push NSPACE RANK          standard input, to its end
 *          pull NSPACE ENDS          "NSPACE:RANK stdout|stderr: TEXT" until ENDS streams have
 * ended Commands print "COMMAND: STATUS" at the end; exit status 3 if that is no success. */
#include <pmix_tool.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "pmix_check.h"
#include "pmix_questions.h"

enum { kMostSeconds = 30 };

static pmix_proc_t me;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int counted = 0; /* whatever the command waits for */

static void count(void) {
  pthread_mutex_lock(&mutex);
  ++counted;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
}

static void wait_for(int number, const char* what) {
  struct timespec limit;
  clock_gettime(CLOCK_REALTIME, &limit);
  limit.tv_sec += kMostSeconds;
  pthread_mutex_lock(&mutex);
  while (counted < number) {
    if (pthread_cond_timedwait(&changed, &mutex, &limit) != 0) {
      fprintf(stderr, "%s: nothing happens\n", what);
      _exit(4);
    }
  }
  pthread_mutex_unlock(&mutex);
}

static int report(const char* command, pmix_status_t status) {
  printf("%s: %s\n", command, PMIx_Error_string(status));
  fflush(stdout);
  return status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED ? 0 : 3;
}

/* ---- where ---- */

/* How many words it takes; 0 if it is none. */
static int load_place(pmix_info_t* info, char** words, int count_of_words) {
  const char* kind = words[0];
  const bool yes = true;
  if (strcmp(kind, "system") == 0) {
    PMIX_INFO_LOAD(info, PMIX_CONNECT_TO_SYSTEM, &yes, PMIX_BOOL);
    return 1;
  }
  if (strcmp(kind, "system-first") == 0) {
    PMIX_INFO_LOAD(info, PMIX_CONNECT_SYSTEM_FIRST, &yes, PMIX_BOOL);
    return 1;
  }
  if (strcmp(kind, "session") == 0) { /* whichever it finds: nothing is said about where */
    const bool no = false;
    PMIX_INFO_LOAD(info, PMIX_TOOL_CONNECT_OPTIONAL, &no, PMIX_BOOL);
    return 1;
  }
  if (count_of_words < 2) return 0;
  if (strcmp(kind, "uri") == 0) {
    PMIX_INFO_LOAD(info, PMIX_SERVER_URI, words[1], PMIX_STRING);
  } else if (strcmp(kind, "file") == 0) {
    char uri[4096];
    snprintf(uri, sizeof uri, "file:%s", words[1]);
    PMIX_INFO_LOAD(info, PMIX_SERVER_URI, uri, PMIX_STRING);
  } else if (strcmp(kind, "attach") == 0) {
    PMIX_INFO_LOAD(info, PMIX_TOOL_ATTACHMENT_FILE, words[1], PMIX_STRING);
  } else if (strcmp(kind, "nspace") == 0) {
    PMIX_INFO_LOAD(info, PMIX_SERVER_NSPACE, words[1], PMIX_STRING);
  } else if (strcmp(kind, "pid") == 0) {
    const pid_t pid = atoi(words[1]);
    PMIX_INFO_LOAD(info, PMIX_SERVER_PIDINFO, &pid, PMIX_PID);
  } else {
    return 0;
  }
  return 2;
}

/* ---- commands ---- */

static void print_hello(void) {
  char nspace[PMIX_MAX_NSLEN + 1];
  must_get_text(&me, PMIX_SERVER_NSPACE, nspace, sizeof nspace);
  printf("tool %s %u at %s %u\n", me.nspace, me.rank, nspace, must_get_rank(&me, PMIX_SERVER_RANK));
  fflush(stdout);
}

static int control(const char* command, char** words, int count_of_words) {
  const bool yes = true;
  pmix_info_t info, *results = NULL;
  pmix_proc_t all;
  size_t result_count = 0;
  if (count_of_words < 1) return 2;
  PMIX_LOAD_PROCID(&all, words[0], PMIX_RANK_WILDCARD);
  if (strcmp(command, "signal") == 0 && count_of_words == 2) {
    const int number = atoi(words[1]);
    PMIX_INFO_LOAD(&info, PMIX_JOB_CTRL_SIGNAL, &number, PMIX_INT);
  } else if (strcmp(command, "kill") == 0) {
    PMIX_INFO_LOAD(&info, PMIX_JOB_CTRL_KILL, &yes, PMIX_BOOL);
  } else if (strcmp(command, "terminate") == 0) {
    PMIX_INFO_LOAD(&info, PMIX_JOB_CTRL_TERMINATE, &yes, PMIX_BOOL);
  } else if (strcmp(command, "pause") == 0) {
    PMIX_INFO_LOAD(&info, PMIX_JOB_CTRL_PAUSE, &yes, PMIX_BOOL);
  } else {
    PMIX_INFO_LOAD(&info, PMIX_JOB_CTRL_RESUME, &yes, PMIX_BOOL);
  }
  return report(command, PMIx_Job_control(&all, 1, &info, 1, &results, &result_count));
}

static int log_texts(char** words, int count_of_words) {
  pmix_info_t* data;
  PMIX_INFO_CREATE(data, (size_t)count_of_words);
  for (int index = 0; index < count_of_words; ++index) {
    PMIX_INFO_LOAD(&data[index], PMIX_LOG_STDOUT, words[index], PMIX_STRING);
  }
  const pmix_status_t status = PMIx_Log(data, (size_t)count_of_words, NULL, 0);
  PMIX_INFO_FREE(data, (size_t)count_of_words);
  return report("log", status);
}

static pmix_status_t last_status; /* that an operation ended with */

static void operation_done(pmix_status_t status, void* unused) {
  (void)unused;
  last_status = status;
  count();
}

/* With a callback: libpmix 4.2.2 never returns from one without. */
static void push_bytes(const pmix_proc_t* target, char* bytes, size_t size, int number) {
  pmix_byte_object_t data = {bytes, size};
  pmix_info_t end;
  PMIX_INFO_LOAD(&end, PMIX_IOF_COMPLETE, NULL, PMIX_BOOL);
  must(PMIx_IOF_push(target, 1, &data, &end, size == 0 ? 1 : 0, operation_done, NULL),
       "PMIx_IOF_push");
  wait_for(number, "push");
}

static int push(char** words, int count_of_words) {
  char bytes[4096];
  pmix_proc_t target;
  int number = 0;
  ssize_t size = 1;
  if (count_of_words < 2) return 2;
  PMIX_LOAD_PROCID(&target, words[0], (pmix_rank_t)strtoul(words[1], NULL, 10));
  while (size > 0 && last_status == PMIX_SUCCESS) {
    size = read(STDIN_FILENO, bytes, sizeof bytes);
    push_bytes(&target, bytes, size > 0 ? (size_t)size : 0, ++number);
  }
  return report("push", last_status);
}

static void output_came(size_t handler, pmix_iof_channel_t channel, pmix_proc_t* source,
                        pmix_byte_object_t* bytes, pmix_info_t info[], size_t info_count) {
  (void)handler;
  (void)info;
  (void)info_count;
  const char* stream = channel & PMIX_FWD_STDOUT_CHANNEL ? "stdout" : "stderr";
  if (bytes == NULL || bytes->size == 0) {
    printf("%s:%u %s ended\n", source->nspace, source->rank, stream);
    fflush(stdout);
    count();
    return;
  }
  printf("%s:%u %s: %.*s\n", source->nspace, source->rank, stream, (int)bytes->size, bytes->bytes);
  fflush(stdout);
}

static int pull(char** words, int count_of_words) {
  pmix_proc_t all;
  if (count_of_words < 2) return 2;
  PMIX_LOAD_PROCID(&all, words[0], PMIX_RANK_WILDCARD);
  const pmix_status_t handler = PMIx_IOF_pull(
      &all, 1, NULL, 0, PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL, output_came, NULL, NULL);
  if (handler < 0) return report("pull", handler);
  printf("pulling\n");
  fflush(stdout);
  const int ends = atoi(words[1]);
  wait_for(ends, "pull");
  /* With a callback: without one libpmix 4.2.2 frees its memory twice. */
  must(PMIx_IOF_deregister((size_t)handler, NULL, 0, operation_done, NULL), "PMIx_IOF_deregister");
  wait_for(ends + 1, "pull");
  /* The status that libpmix 4.2.2 answers this with is memory that nobody wrote. */
  return report("pull", PMIX_SUCCESS);
}

static void event_came(size_t handler, pmix_status_t code, const pmix_proc_t* source,
                       pmix_info_t info[], size_t info_count, pmix_info_t* results,
                       size_t result_count, pmix_event_notification_cbfunc_fn_t done,
                       void* done_data) {
  (void)handler;
  (void)results;
  (void)result_count;
  const char* nspace = source->nspace;
  pmix_status_t status = PMIX_SUCCESS;
  for (size_t index = 0; index < info_count; ++index) {
    if (PMIX_CHECK_KEY(&info[index], PMIX_EVENT_AFFECTED_PROC))
      nspace = info[index].value.data.proc->nspace;
    if (PMIX_CHECK_KEY(&info[index], PMIX_JOB_TERM_STATUS)) status = info[index].value.data.status;
  }
  printf("event %s %s %s\n", PMIx_Error_string(code), nspace, PMIx_Error_string(status));
  fflush(stdout);
  if (code == PMIX_EVENT_JOB_END) count();
  if (done != NULL) done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, done_data);
}

static int spawn(char** words, int count_of_words) {
  static pmix_status_t codes[] = {PMIX_EVENT_JOB_START, PMIX_EVENT_JOB_END};
  const bool yes = true;
  pmix_status_t status;
  pmix_app_t app;
  pmix_info_t info[4];
  char nspace[PMIX_MAX_NSLEN + 1];
  if (count_of_words < 2) return 2;
  must(PMIx_Register_event_handler(codes, 2, NULL, 0, event_came, NULL, NULL) < 0 ? PMIX_ERROR
                                                                                  : PMIX_SUCCESS,
       "PMIx_Register_event_handler");
  PMIX_APP_CONSTRUCT(&app);
  app.maxprocs = atoi(words[0]);
  app.cmd = strdup(words[1]);
  for (int index = 1; index < count_of_words; ++index)
    PMIX_ARGV_APPEND(status, app.argv, words[index]);
  PMIX_INFO_LOAD(&info[0], PMIX_FWD_STDOUT, &yes, PMIX_BOOL);
  PMIX_INFO_LOAD(&info[1], PMIX_FWD_STDERR, &yes, PMIX_BOOL);
  PMIX_INFO_LOAD(&info[2], PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
  PMIX_INFO_LOAD(&info[3], PMIX_NOTIFY_JOB_EVENTS, &yes, PMIX_BOOL);
  status = PMIx_Spawn(info, 4, &app, 1, nspace);
  PMIX_APP_DESTRUCT(&app);
  if (status == PMIX_SUCCESS) {
    printf("spawned %s\n", nspace);
    fflush(stdout);
    wait_for(1, "spawn");
  }
  return report("spawn", status);
}

static int run(const char* command, char** words, int count_of_words) {
  if (strcmp(command, "query") == 0) return ask_and_print(words, count_of_words);
  if (strcmp(command, "spawn") == 0) return spawn(words, count_of_words);
  if (strcmp(command, "log") == 0) return log_texts(words, count_of_words);
  if (strcmp(command, "push") == 0) return push(words, count_of_words);
  if (strcmp(command, "pull") == 0) return pull(words, count_of_words);
  if (strcmp(command, "namespaces") == 0) {
    char key[] = PMIX_QUERY_NAMESPACES, *question[] = {key};
    return ask_and_print(question, 1);
  }
  if (strcmp(command, "ps") == 0 && count_of_words == 1) {
    char key[] = PMIX_QUERY_PROC_TABLE, nspace[PMIX_MAX_NSLEN + 8], *question[] = {key, nspace};
    snprintf(nspace, sizeof nspace, "NSPACE=%s", words[0]);
    return ask_and_print(question, 2);
  }
  if (strcmp(command, "hello") == 0 || strcmp(command, "wait") == 0) {
    print_hello();
    while (strcmp(command, "wait") == 0) pause();
    return 0;
  }
  return control(command, words, count_of_words);
}

int main(int argc, char** argv) {
  pmix_info_t info[3];
  size_t info_count = 1;
  if (argc < 3) return 2;
  int next = 1 + load_place(&info[0], argv + 1, argc - 1);
  if (next + 2 < argc && strcmp(argv[next], "as") == 0) {
    const pmix_rank_t rank = (pmix_rank_t)strtoul(argv[next + 2], NULL, 10);
    PMIX_INFO_LOAD(&info[1], PMIX_TOOL_NSPACE, argv[next + 1], PMIX_STRING);
    PMIX_INFO_LOAD(&info[2], PMIX_TOOL_RANK, &rank, PMIX_PROC_RANK);
    info_count = 3;
    next += 3;
  }
  if (next == 1 || next >= argc) return 2;
  must(PMIx_tool_init(&me, info, info_count), "PMIx_tool_init");
  const int result = run(argv[next], argv + next + 1, argc - next - 1);
  must(PMIx_tool_finalize(), "PMIx_tool_finalize");
  return result;
}
