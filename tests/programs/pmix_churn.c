/* pmix_churn ROUNDS: PMIx_Init, a fence and PMIx_Finalize, again and again, each process in its own
 * rhythm. The value that each puts is its round, so that one who is out of step is noticed. Prints
 * "in step" at the end. */
#include <unistd.h>

#include "pmix_check.h"

static void put_round(uint32_t round) {
  pmix_value_t value;
  memset(&value, 0, sizeof value);
  value.type = PMIX_UINT32;
  value.data.uint32 = round;
  must(PMIx_Put(PMIX_GLOBAL, "test.round", &value), "PMIx_Put");
  must(PMIx_Commit(), "PMIx_Commit");
}

static void one_round(uint32_t round) {
  pmix_proc_t me;
  must(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  usleep((me.rank * 7919 + round * 104729) % 3000);
  put_round(round);
  const pmix_proc_t all = name_of(&me, PMIX_RANK_WILDCARD);
  bool collect = true;
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
  must(PMIx_Fence(&all, 1, &info, 1), "PMIx_Fence");
  const pmix_proc_t next = name_of(&me, (me.rank + 1) % job_size(&me));
  const uint32_t theirs = must_get_u32(&next, "test.round");
  if (theirs != round) {
    fprintf(stderr, "round %u: rank %u is in round %u\n", round, next.rank, theirs);
    exit(2);
  }
  must(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
}

int main(int argc, char **argv) {
  const uint32_t rounds = argc > 1 ? (uint32_t)atoi(argv[1]) : 10;
  for (uint32_t round = 1; round <= rounds; ++round) one_round(round);
  printf("in step\n");
  return 0;
}
