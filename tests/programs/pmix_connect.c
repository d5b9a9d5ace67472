/* pmix_connect WITH [TIMEOUT] [RANK exit]: all ranks of this job connect to all of the namespaces
 * WITH ("a,b";
 * "-": to nobody else), get a value of rank 0 of each, and disconnect. RANK ends instead.
 * Prints "connected: sum S", or "connect: status" and "disconnect: status" for what fails. */
#include <unistd.h>

#include "pmix_check.h"

enum { kMaxJobs = 8 };

static pmix_proc_t jobs[kMaxJobs];
static size_t job_count;

static void add_job(const char* nspace) {
  if (job_count == kMaxJobs) exit(2);
  PMIX_LOAD_PROCID(&jobs[job_count], nspace, PMIX_RANK_WILDCARD);
  ++job_count;
}

/* Of the size of each job and a value of each first process. */
static uint32_t sum_of_all(void) {
  uint32_t sum = 0;
  for (size_t i = 0; i < job_count; ++i) {
    const pmix_proc_t first = name_of(&jobs[i], 0);
    sum += must_get_u32(&jobs[i], PMIX_JOB_SIZE) + must_get_u32(&first, "test.number");
  }
  return sum;
}

static bool succeeds(pmix_status_t status, const char* what) {
  if (status != PMIX_SUCCESS) printf("%s: %s\n", what, PMIx_Error_string(status));
  fflush(stdout);
  return status == PMIX_SUCCESS;
}

int main(int argc, char** argv) {
  pmix_proc_t me;
  pmix_info_t info;
  if (argc < 2) return 2;
  must(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  const int timeout_s = argc > 2 ? atoi(argv[2]) : 0;
  PMIX_INFO_LOAD(&info, PMIX_TIMEOUT, &timeout_s, PMIX_INT);
  if (argc > 4 && me.rank == (pmix_rank_t)atoi(argv[3])) _exit(0);
  add_job(me.nspace);
  char* others = strcmp(argv[1], "-") != 0 ? argv[1] : NULL;
  for (char* name = others ? strtok(others, ",") : NULL; name != NULL; name = strtok(NULL, ","))
    add_job(name);
  put_number(7);
  if (succeeds(PMIx_Connect(jobs, job_count, &info, timeout_s > 0 ? 1 : 0), "connect")) {
    printf("connected: sum %u\n", sum_of_all());
    succeeds(PMIx_Disconnect(jobs, job_count, &info, timeout_s > 0 ? 1 : 0), "disconnect");
  }
  must(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
  return 0;
}
