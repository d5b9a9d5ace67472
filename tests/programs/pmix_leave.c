/* pmix_leave RANK [exit|kill|put]: all processes connect; RANK leaves, the others wait for it in a
 * fence. It leaves without a word or, put, after it has committed a value and finalized. The others
 * print "fence: " and what came of it. */
#include <signal.h>
#include <unistd.h>

#include "pmix_check.h"

static void put_and_finalize(void) {
  put_number(7);
  must(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
}

int main(int argc, char** argv) {
  pmix_proc_t me;
  if (argc < 2) return 2;
  must(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  if (me.rank == (pmix_rank_t)atoi(argv[1])) {
    if (argc > 2 && strcmp(argv[2], "kill") == 0) raise(SIGKILL);
    if (argc > 2 && strcmp(argv[2], "put") == 0) put_and_finalize();
    _exit(0);
  }
  const pmix_proc_t all = name_of(&me, PMIX_RANK_WILDCARD);
  const pmix_status_t status = PMIx_Fence(&all, 1, NULL, 0);
  printf("fence: %s\n", PMIx_Error_string(status));
  fflush(stdout);
  must(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
  return 0;
}
