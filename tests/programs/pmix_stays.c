/* pmix_stays: finalizes, is told that this is all right, and keeps its connection until it is
 * killed. Prints "stays" then. */
#include <sys/socket.h>
#include <unistd.h>

#include "pmix_check.h"

/* In place of the C library's: libpmix calls it to close the connection. */
int shutdown(int descriptor, int how) {
  (void)descriptor, (void)how;
  printf("stays\n");
  fflush(stdout);
  for (;;) pause();
}

int main(void) {
  pmix_proc_t me;
  must(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  must(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
  return 0;
}
