/* A debugger's daemon beside the processes of another job: asks whose it is, and which of them are
 * on its node. Prints "target NSPACE" and their table (see pmix_questions.h). */
#include <pmix.h>

#include "pmix_check.h"
#include "pmix_questions.h"

int main(void) {
  pmix_proc_t me, job;
  pmix_value_t* target;
  char key[] = PMIX_QUERY_LOCAL_PROC_TABLE, of[PMIX_MAX_NSLEN + 8], *question[] = {key, of};
  must(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  PMIX_LOAD_PROCID(&job, me.nspace, PMIX_RANK_WILDCARD);
  target = must_get(&job, PMIX_DEBUG_TARGET, PMIX_PROC);
  snprintf(of, sizeof of, "NSPACE=%s", target->data.proc->nspace);
  printf("target %s ", target->data.proc->nspace);
  PMIX_VALUE_RELEASE(target);
  if (ask_and_print(question, 2) != 0) return 3;
  must(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
  return 0;
}
