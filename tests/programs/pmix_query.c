/* pmix_query KEY... [QUALIFIER=VALUE]...: a process of a job asks about the DVM, as in
 * pmix_questions.h. */
#include "pmix_check.h"
#include "pmix_questions.h"

int main(int argc, char** argv) {
  pmix_proc_t me;
  if (argc < 2) return 2;
  must(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  const int result = ask_and_print(argv + 1, argc - 1);
  must(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
  return result;
}
