/* pmix_nested: connects, and leaves without a word.
 * pmix_nested RANK [before]: RANK has such a program run in its name, or has had it before. When
 * that is over all meet in fences, and print "met". */
#include <sys/wait.h>
#include <unistd.h>

#include "pmix_check.h"

static const char* const kOver = "test.over";

static void connect_and_leave(void) {
  pmix_proc_t me;
  must(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  _exit(0);
}

static void run_one_that_leaves(char* program) {
  const pid_t child = fork();
  if (child == 0) {
    execl(program, program, (char*)NULL);
    _exit(127);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) exit(3);
}

/* The server has seen that connection end when it has answered this. */
static void tell_the_others(void) {
  const bool yes = true;
  pmix_info_t told;
  PMIX_INFO_LOAD(&told, kOver, &yes, PMIX_BOOL);
  must(PMIx_Publish(&told, 1), "PMIx_Publish");
}

static void wait_until_it_is_over(void) {
  const bool yes = true;
  pmix_info_t wait;
  PMIX_INFO_LOAD(&wait, PMIX_WAIT, &yes, PMIX_BOOL);
  pmix_pdata_t told;
  PMIX_PDATA_CONSTRUCT(&told);
  PMIX_LOAD_KEY(told.key, kOver);
  must(PMIx_Lookup(&told, 1, &wait, 1), "PMIx_Lookup");
  PMIX_PDATA_DESTRUCT(&told);
}

int main(int argc, char** argv) {
  if (argc < 2) connect_and_leave();
  pmix_proc_t me;
  must(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  if (me.rank == (pmix_rank_t)atoi(argv[1])) {
    if (argc == 2) run_one_that_leaves(argv[0]);
    tell_the_others();
  } else {
    wait_until_it_is_over();
  }
  const pmix_proc_t all = name_of(&me, PMIX_RANK_WILDCARD);
  for (int round = 0; round < 3; ++round) must(PMIx_Fence(&all, 1, NULL, 0), "PMIx_Fence");
  printf("met\n");
  must(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
  return 0;
}
