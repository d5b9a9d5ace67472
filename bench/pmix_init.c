/* The least that a program does with PMIx: hello, wait for the others, goodbye. */
#include <pmix.h>

int main(void) {
  pmix_proc_t me;
  if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS) return 1;
  pmix_proc_t all = me;
  all.rank = PMIX_RANK_WILDCARD;
  if (PMIx_Fence(&all, 1, NULL, 0) != PMIX_SUCCESS) return 1;
  return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 1;
}
