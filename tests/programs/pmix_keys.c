/* pmix_keys WITH HOW: all ranks of this job connect to all of the namespace WITH (or, if it is
 * "parent", have been spawned by it), and ask who its processes are. HOW: "put", each when it was
 * asked for what it has put; "all", when one was asked for everything.
 * Prints "RANK: local L node N global G app A on HOST" for each process. */
#include "pmix_check.h"

static pmix_proc_t parent_of(const pmix_proc_t* me) {
  pmix_value_t* value = must_get(me, PMIX_PARENT_ID, PMIX_PROC);
  const pmix_proc_t parent = *value->data.proc;
  PMIX_VALUE_RELEASE(value);
  return parent;
}

/* libpmix 4.2.2 then has everything of the whole job, but gives no value. */
static void ask_for_everything(const pmix_proc_t* proc) {
  pmix_value_t* value = NULL;
  must(PMIx_Get(proc, NULL, NULL, 0, &value), "everything");
  if (value != NULL) PMIX_VALUE_RELEASE(value);
}

static void show(const pmix_proc_t* proc) {
  char host[64];
  must_get_text(proc, PMIX_HOSTNAME, host, sizeof host);
  printf("%u: local %u node %u global %u app %u on %s\n", proc->rank,
         must_get_u16(proc, PMIX_LOCAL_RANK), must_get_u16(proc, PMIX_NODE_RANK),
         must_get_rank(proc, PMIX_GLOBAL_RANK), must_get_u32(proc, PMIX_APPNUM), host);
}

int main(int argc, char** argv) {
  pmix_proc_t me;
  pmix_proc_t jobs[2];
  if (argc < 3) return 2;
  must(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  put_number(7);
  const bool spawned = strcmp(argv[1], "parent") == 0;
  const bool everything = strcmp(argv[2], "all") == 0;
  jobs[0] = name_of(&me, PMIX_RANK_WILDCARD);
  PMIX_LOAD_PROCID(&jobs[1], spawned ? parent_of(&me).nspace : argv[1], PMIX_RANK_WILDCARD);
  if (!spawned) must(PMIx_Connect(jobs, 2, NULL, 0), "PMIx_Connect");
  const pmix_proc_t first = name_of(&jobs[1], 0);
  if (everything) ask_for_everything(&first);
  const uint32_t size = job_size(&jobs[1]);
  for (pmix_rank_t rank = 0; rank < size; ++rank) {
    const pmix_proc_t proc = name_of(&jobs[1], rank);
    if (!everything) must_get_u32(&proc, "test.number");
    show(&proc);
  }
  if (!spawned) must(PMIx_Disconnect(jobs, 2, NULL, 0), "PMIx_Disconnect");
  must(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
  return 0;
}
