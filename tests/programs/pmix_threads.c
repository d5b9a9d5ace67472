/* pmix_threads N: three threads look up a key that nobody published, N times each, while three
 * others ask for keys of the job that it does not have, which the server's library answers itself.
 * Prints "all answered". */
#include <pthread.h>

#include "pmix_check.h"

static pmix_proc_t me;
static int times;

static void* look_up(void* unused) {
  for (int i = 0; i < times; ++i) {
    pmix_pdata_t data;
    memset(&data, 0, sizeof data);
    PMIX_LOAD_KEY(data.key, "test.missing");
    if (PMIx_Lookup(&data, 1, NULL, 0) == PMIX_SUCCESS) must(PMIX_ERROR, "found what is not there");
  }
  return unused;
}

static void* get(void* unused) {
  const pmix_proc_t job = name_of(&me, PMIX_RANK_WILDCARD);
  const bool now = true;
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_IMMEDIATE, &now, PMIX_BOOL);
  for (int i = 0; i < times; ++i) {
    pmix_value_t* value = NULL;
    if (PMIx_Get(&job, "test.missing", &info, 1, &value) == PMIX_SUCCESS)
      must(PMIX_ERROR, "got what is not there");
  }
  return unused;
}

int main(int argc, char** argv) {
  pthread_t threads[6];
  times = argc > 1 ? atoi(argv[1]) : 1000;
  must(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  for (int i = 0; i < 6; ++i) pthread_create(&threads[i], NULL, i % 2 == 0 ? look_up : get, NULL);
  for (int i = 0; i < 6; ++i) pthread_join(threads[i], NULL);
  printf("all answered\n");
  fflush(stdout);
  must(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
  return 0;
}
