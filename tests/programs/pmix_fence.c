/* pmix_fence [collect|direct|none] [TIMEOUT] [BYTES]: every process puts a value and gets those of
 * all others.
 *
 * collect: the fence brings the data. direct: it does not, each value is fetched when asked for.
 * none: no fence at all, so a get waits until the other has committed. TIMEOUT: of the fence, in
 * seconds; 0: none. BYTES: each puts that many besides, which travel with the value. Prints "sum
 * S"; exit status 3 if the fence fails, with the name of its status. */
#include "pmix_check.h"

static void put_bytes(size_t size) {
  pmix_value_t value;
  memset(&value, 0, sizeof value);
  value.type = PMIX_BYTE_OBJECT;
  value.data.bo.bytes = calloc(size, 1);
  value.data.bo.size = size;
  must(PMIx_Put(PMIX_GLOBAL, "test.bytes", &value), "PMIx_Put");
  free(value.data.bo.bytes);
}

static void fence(const pmix_proc_t* me, bool collect, int timeout_s) {
  const pmix_proc_t all = name_of(me, PMIX_RANK_WILDCARD);
  pmix_info_t info[2];
  PMIX_INFO_LOAD(&info[0], PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
  PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &timeout_s, PMIX_INT);
  const pmix_status_t status = PMIx_Fence(&all, 1, info, timeout_s > 0 ? 2 : 1);
  if (status == PMIX_SUCCESS) return;
  printf("fence: %s\n", PMIx_Error_string(status));
  fflush(stdout);
  PMIx_Finalize(NULL, 0);
  exit(3);
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "collect";
  pmix_proc_t me;
  must(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  const size_t bytes = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
  if (bytes > 0) put_bytes(bytes);
  put_number(100 + me.rank);
  if (strcmp(how, "none") != 0)
    fence(&me, strcmp(how, "collect") == 0, argc > 2 ? atoi(argv[2]) : 0);
  const uint32_t size = job_size(&me);
  uint32_t sum = 0;
  for (pmix_rank_t rank = 0; rank < size; ++rank) {
    const pmix_proc_t peer = name_of(&me, rank);
    const uint32_t number = must_get_u32(&peer, "test.number");
    if (number != 100 + rank) {
      fprintf(stderr, "rank %u put %u\n", rank, number);
      return 2;
    }
    sum += number;
  }
  printf("sum %u\n", sum);
  must(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
  return 0;
}
