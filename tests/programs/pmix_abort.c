/* pmix_abort STATUS MESSAGE [RANK]…: rank 0 asks for the end of these ranks, or of the whole job; the others wait.
 * Prints "abort: " and what came of it, if it lives to see it. */
#include <unistd.h>

#include "pmix_check.h"

#define MOST 16

int main(int argc, char **argv) {
  pmix_proc_t me;
  pmix_proc_t whom[MOST];
  size_t count = 0;
  if (argc < 3 || argc > 3 + MOST) return 2;
  must(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  if (me.rank != 0) {
    pause();
  }
  for (int i = 3; i < argc; ++i) whom[count++] = name_of(&me, (pmix_rank_t)atoi(argv[i]));
  const pmix_status_t status = PMIx_Abort(atoi(argv[1]), argv[2], count > 0 ? whom : NULL, count);
  printf("abort: %s\n", PMIx_Error_string(status));
  fflush(stdout);
  must(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
  return 0;
}
