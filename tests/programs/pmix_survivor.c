/* pmix_survivor RANK: all meet, then RANK ends itself with SIGKILL. The others wait for the event
 * that tells them, and print "event CODE about RANK". */
#include <signal.h>

#include "pmix_wait.h"

static bool registered, heard_of_it;

static void heard(size_t id, pmix_status_t code, const pmix_proc_t* source, pmix_info_t info[],
                  size_t count, pmix_info_t* results, size_t result_count,
                  pmix_event_notification_cbfunc_fn_t done, void* data) {
  (void)id, (void)source, (void)results, (void)result_count;
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(info[i].key, PMIX_EVENT_AFFECTED_PROC) == 0)
      printf("event %d about %u\n", code, info[i].value.data.proc->rank);
  }
  fflush(stdout);
  done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
  set(&heard_of_it);
}

static void is_registered(pmix_status_t status, size_t id, void* data) {
  (void)id, (void)data;
  must(status, "PMIx_Register_event_handler");
  set(&registered);
}

int main(int argc, char** argv) {
  pmix_proc_t me;
  if (argc < 2) return 2;
  must(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  pmix_status_t codes[] = {PMIX_ERR_PROC_ABORTED_BY_SIG, PMIX_ERR_EXIT_NONZERO_TERM};
  PMIx_Register_event_handler(codes, 2, NULL, 0, heard, is_registered, NULL);
  wait_for(&registered, "registration");
  const pmix_proc_t all = name_of(&me, PMIX_RANK_WILDCARD);
  must(PMIx_Fence(&all, 1, NULL, 0), "PMIx_Fence");
  if (me.rank == (pmix_rank_t)atoi(argv[1])) raise(SIGKILL);
  wait_for(&heard_of_it, "the event");
  must(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
  return 0;
}
