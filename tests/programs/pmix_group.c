/* pmix_group NAME [context] [info] [get] [timeout=N] [members=N]: ranks 0 to N-1 (default: all)
 * make a group and destroy it again.
 *
 * context: it shall have a number. info: each gives "test.info" to the others. get: reads what all
 * have put and given. Prints "group of N", with " context C" if it has one, and " sum S" with get;
 * "construct: status" and "destruct: status" for what fails. */
#include "pmix_check.h"

enum { kMaxMembers = 64 };

static pmix_proc_t me;
static pmix_proc_t members[kMaxMembers];
static size_t member_count;
static pmix_info_t directives[4];
static size_t directive_count;
static bool reads, gives;

static void put_own(void) {
  pmix_value_t value;
  memset(&value, 0, sizeof value);
  value.type = PMIX_UINT32;
  value.data.uint32 = 100 + me.rank;
  must(PMIx_Put(PMIX_GLOBAL, "test.number", &value), "PMIx_Put");
  must(PMIx_Commit(), "PMIx_Commit");
}

static void give_info(void) {
  const uint32_t number = 1000 + me.rank;
  pmix_info_t* given;
  PMIX_INFO_CREATE(given, 1);
  PMIX_INFO_LOAD(&given[0], "test.info", &number, PMIX_UINT32);
  pmix_data_array_t array = {.type = PMIX_INFO, .size = 1, .array = given};
  PMIX_INFO_LOAD(&directives[directive_count++], PMIX_GROUP_INFO, &array, PMIX_DATA_ARRAY);
  gives = true;
}

static void read_argument(const char* argument) {
  const bool yes = true;
  if (strcmp(argument, "get") == 0) reads = true;
  if (strcmp(argument, "info") == 0) give_info();
  if (strcmp(argument, "context") == 0) {
    PMIX_INFO_LOAD(&directives[directive_count++], PMIX_GROUP_ASSIGN_CONTEXT_ID, &yes, PMIX_BOOL);
  }
  if (strncmp(argument, "timeout=", 8) == 0) {
    const int seconds = atoi(argument + 8);
    PMIX_INFO_LOAD(&directives[directive_count++], PMIX_TIMEOUT, &seconds, PMIX_INT);
  }
  if (strncmp(argument, "members=", 8) == 0) member_count = (size_t)atoi(argument + 8);
}

/* What a member gave belongs to the group, which its number names. */
static uint32_t given_by(const pmix_proc_t* member, size_t context) {
  pmix_value_t* value = NULL;
  pmix_info_t group;
  PMIX_INFO_LOAD(&group, PMIX_GROUP_CONTEXT_ID, &context, PMIX_SIZE);
  PMIX_INFO_SET_QUALIFIER(&group);
  must(PMIx_Get(member, "test.info", &group, 1, &value), "test.info");
  const uint32_t number = value->data.uint32;
  PMIX_VALUE_RELEASE(value);
  return number;
}

static uint32_t sum_of_all(size_t context) {
  uint32_t sum = 0;
  for (size_t i = 0; i < member_count; ++i) {
    sum += must_get_u32(&members[i], "test.number");
    if (gives) sum += given_by(&members[i], context);
  }
  return sum;
}

static void print_group(const pmix_info_t* results, size_t count) {
  size_t context = SIZE_MAX;
  printf("group of %zu", member_count);
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(results[i].key, PMIX_GROUP_CONTEXT_ID) == 0) context = results[i].value.data.size;
  }
  if (context != SIZE_MAX) printf(" context %zu", context);
  if (reads) printf(" sum %u", sum_of_all(context));
  printf("\n");
  fflush(stdout);
}

static void make_and_destroy(const char* name) {
  pmix_info_t* results = NULL;
  size_t count = 0;
  pmix_status_t status = PMIx_Group_construct(name, members, member_count, directives,
                                              directive_count, &results, &count);
  if (status != PMIX_SUCCESS) {
    printf("construct: %s\n", PMIx_Error_string(status));
    return;
  }
  print_group(results, count);
  status = PMIx_Group_destruct(name, NULL, 0);
  if (status != PMIX_SUCCESS) printf("destruct: %s\n", PMIx_Error_string(status));
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  must(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  put_own();
  for (int i = 2; i < argc; ++i) read_argument(argv[i]);
  if (member_count == 0) member_count = job_size(&me);
  if (member_count > kMaxMembers) return 2;
  for (size_t i = 0; i < member_count; ++i) members[i] = name_of(&me, (pmix_rank_t)i);
  if (me.rank < member_count) make_and_destroy(argv[1]);
  fflush(stdout);
  must(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
  return 0;
}
