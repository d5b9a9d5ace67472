/* fence_loop FENCES BYTES: as many fences, with so many bytes of each process. The first process prints the
 * middle time of one in microseconds. */
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int compare(const void *left, const void *right) {
  const double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static void put(char *bytes, size_t size) {
  pmix_value_t value;
  memset(&value, 0, sizeof value);
  value.type = PMIX_BYTE_OBJECT;
  value.data.bo.bytes = bytes;
  value.data.bo.size = size;
  if (PMIx_Put(PMIX_GLOBAL, "bench.bytes", &value) != PMIX_SUCCESS) exit(1);
  if (PMIx_Commit() != PMIX_SUCCESS) exit(1);
}

int main(int argc, char **argv) {
  if (argc < 3 || atoi(argv[1]) < 1) return 2;
  const int fences = atoi(argv[1]);
  const size_t size = (size_t)atol(argv[2]);
  char *bytes = calloc(size + 1, 1);
  double *took = calloc((size_t)fences, sizeof *took);
  pmix_proc_t me;
  if (bytes == NULL || took == NULL || PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS) return 1;
  pmix_proc_t all = me;
  all.rank = PMIX_RANK_WILDCARD;
  bool collect = size > 0;
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
  for (int round = 0; round < fences; ++round) {
    if (size > 0) {
      memset(bytes, round, size);
      put(bytes, size);
    }
    const double begin = now_us();
    if (PMIx_Fence(&all, 1, &info, 1) != PMIX_SUCCESS) return 1;
    took[round] = now_us() - begin;
  }
  qsort(took, (size_t)fences, sizeof *took, compare);
  if (me.rank == 0) printf("%.1f\n", took[fences / 2]);
  return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 1;
}
