/* pmix_event SENDER RANGE [to=RANK,...] [late] [default] [with=NSPACE] [bytes=N]: rank SENDER of
 * this job tells an event, and then all of the DVM that this was it.
 *
 * RANGE is a number as in PMIx; the targets, for RANGE 6, are ranks of this job, "*" is all. A
 * SENDER of -1: nobody here does, this job only hears. late: handlers are registered after the
 * event, which reaches them because it was kept. default: instead of a handler for the event there
 * is one for all. with: nobody tells anything before that job hears, too. bytes: the
 * text is so long, and "notify: STATUS" is printed if that is not taken. Each process prints
 * "event from NSPACE:RANK: TEXT" for what it heard before the last one, and "end from NSPACE:RANK".
 */
#include <unistd.h>

#include "pmix_wait.h"

enum { kEvent = PMIX_EXTERNAL_ERR_BASE - 7, kEnd = PMIX_EXTERNAL_ERR_BASE - 8, kMaxTargets = 16 };

static pmix_proc_t me;
static bool registered, told, ended;

static void heard(size_t id, pmix_status_t code, const pmix_proc_t* source, pmix_info_t info[],
                  size_t count, pmix_info_t* results, size_t result_count,
                  pmix_event_notification_cbfunc_fn_t done, void* data) {
  (void)id, (void)results, (void)result_count;
  const char* text = "nothing";
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(info[i].key, "test.text") == 0 && info[i].value.type == PMIX_STRING)
      text = info[i].value.data.string;
  }
  pthread_mutex_lock(&mutex);
  if (code == kEvent) printf("event from %s:%u: %s\n", source->nspace, source->rank, text);
  if (code == kEnd && !ended) printf("end from %s:%u\n", source->nspace, source->rank);
  fflush(stdout);
  if (code == kEvent) told = true;
  if (code == kEnd) ended = true;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&mutex);
  done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void is_registered(pmix_status_t status, size_t id, void* data) {
  (void)id, (void)data;
  must(status, "PMIx_Register_event_handler");
  set(&registered);
}

static void listen_to(pmix_status_t* codes, size_t count) {
  registered = false;
  PMIx_Register_event_handler(codes, count, NULL, 0, heard, is_registered, NULL);
  wait_for(&registered, "registration");
}

static void listen_to_both(bool by_default, bool late) {
  pmix_status_t codes[] = {kEvent, kEnd};
  if (by_default) {
    listen_to(NULL, 0);
  } else {
    listen_to(&codes[0], 1);
  }
  if (late) wait_for(&told, "the event"); /* of what was kept the newest comes first */
  listen_to(&codes[1], 1);
}

static void fence(const char* other_job) {
  pmix_proc_t all[] = {name_of(&me, PMIX_RANK_WILDCARD), name_of(&me, PMIX_RANK_WILDCARD)};
  if (other_job != NULL) PMIX_LOAD_NSPACE(all[1].nspace, other_job);
  must(PMIx_Fence(all, other_job != NULL ? 2 : 1, NULL, 0), "PMIx_Fence");
}

static char* text_of(size_t size) {
  char* text = malloc(size + 1);
  memset(text, 'x', size);
  text[size] = '\0';
  return text;
}

static void tell(pmix_data_range_t range, char* targets, const char* bytes) {
  pmix_info_t info[2];
  pmix_proc_t names[kMaxTargets];
  size_t count = 0;
  char* name = targets != NULL ? strtok(targets, ",") : NULL;
  for (; name != NULL && count < kMaxTargets; name = strtok(NULL, ",")) {
    names[count++] =
        name_of(&me, strcmp(name, "*") == 0 ? PMIX_RANK_WILDCARD : (pmix_rank_t)atoi(name));
  }
  pmix_data_array_t array = {.type = PMIX_PROC, .size = count, .array = names};
  char* text = bytes != NULL ? text_of(strtoul(bytes, NULL, 10)) : NULL;
  PMIX_INFO_LOAD(&info[0], "test.text", text != NULL ? text : "hello", PMIX_STRING);
  free(text);
  if (count > 0) PMIX_INFO_LOAD(&info[1], PMIX_EVENT_CUSTOM_RANGE, &array, PMIX_DATA_ARRAY);
  const pmix_status_t status =
      PMIx_Notify_event(kEvent, &me, range, info, count > 0 ? 2 : 1, NULL, NULL);
  if (bytes == NULL) must(status, "PMIx_Notify_event");
  if (status != PMIX_SUCCESS) printf("notify: %s\n", PMIx_Error_string(status));
}

static char* argument(int argc, char** argv, const char* name) {
  for (int i = 3; i < argc; ++i) {
    if (strncmp(argv[i], name, strlen(name)) == 0) return argv[i] + strlen(name);
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const bool late = argument(argc, argv, "late") != NULL;
  const bool by_default = argument(argc, argv, "default") != NULL;
  const char* other_job = argument(argc, argv, "with=");
  const int sender = atoi(argv[1]);
  must(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  if (!late) listen_to_both(by_default, late);
  fence(other_job);
  if (sender >= 0 && me.rank == (pmix_rank_t)sender) {
    tell((pmix_data_range_t)atoi(argv[2]), argument(argc, argv, "to="),
         argument(argc, argv, "bytes="));
    must(PMIx_Notify_event(kEnd, &me, PMIX_RANGE_SESSION, NULL, 0, NULL, NULL),
         "PMIx_Notify_event");
  }
  if (late) {
    fence(other_job);
    listen_to_both(by_default, late);
  }
  wait_for(&ended, "the last event");
  must(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
  return 0;
}
