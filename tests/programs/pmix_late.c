/* pmix_late RANK: a fence with a time-out of one second that RANK enters only when that of rank 0
 * has run out once. All enter again until it succeeds, and then some more without a time-out.
 * Prints "in step". */
#include "pmix_check.h"

static pmix_status_t fence(const pmix_proc_t* me, int timeout_s) {
  const pmix_proc_t all = name_of(me, PMIX_RANK_WILDCARD);
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_TIMEOUT, &timeout_s, PMIX_INT);
  return PMIx_Fence(&all, 1, &info, timeout_s > 0 ? 1 : 0);
}

static void tell_the_late_one(void) {
  const bool yes = true;
  pmix_info_t told;
  PMIX_INFO_LOAD(&told, "test.too-late", &yes, PMIX_BOOL);
  must(PMIx_Publish(&told, 1), "PMIx_Publish");
}

static void wait_until_too_late(void) {
  const bool yes = true;
  pmix_info_t wait;
  PMIX_INFO_LOAD(&wait, PMIX_WAIT, &yes, PMIX_BOOL);
  pmix_pdata_t told;
  PMIX_PDATA_CONSTRUCT(&told);
  PMIX_LOAD_KEY(told.key, "test.too-late");
  must(PMIx_Lookup(&told, 1, &wait, 1), "PMIx_Lookup");
  PMIX_PDATA_DESTRUCT(&told);
}

int main(int argc, char** argv) {
  pmix_proc_t me;
  if (argc < 2) return 2;
  must(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  if (me.rank == (pmix_rank_t)atoi(argv[1])) wait_until_too_late();
  pmix_status_t status = fence(&me, 1);
  if (me.rank == 0) {
    if (status != PMIX_ERR_TIMEOUT) return 3;
    tell_the_late_one();
  }
  for (int tries = 0; status == PMIX_ERR_TIMEOUT && tries < 20; ++tries) status = fence(&me, 1);
  must(status, "PMIx_Fence");
  for (int more = 0; more < 5; ++more) must(fence(&me, 0), "PMIx_Fence");
  printf("in step\n");
  must(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
  return 0;
}
