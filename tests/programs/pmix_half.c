/* pmix_half FENCED: ranks below FENCED enter a fence of all, the others never do. Each says "in"
 * before it waits; nobody ends by itself. */
#include <unistd.h>

#include "pmix_check.h"

int main(int argc, char** argv) {
  pmix_proc_t me;
  must(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  const unsigned fenced = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
  printf("in\n");
  fflush(stdout);
  if (me.rank < fenced) {
    const pmix_proc_t all = name_of(&me, PMIX_RANK_WILDCARD);
    PMIx_Fence(&all, 1, NULL, 0);
  }
  for (;;) pause();
}
