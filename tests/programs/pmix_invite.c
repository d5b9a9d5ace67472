/* pmix_invite NAME: rank 0 invites all to a group, and all accept.
 * Rank 0 prints "invite: status"; each prints "joined" when it hears that the group is complete. */
#include "pmix_wait.h"

enum { kMaxMembers = 64 };

static pmix_proc_t me;
static bool registered, complete;

static void answered(pmix_status_t status, pmix_info_t* info, size_t count, void* data,
                     pmix_release_cbfunc_t release, void* release_data) {
  (void)info, (void)count, (void)data;
  must(status, "PMIx_Group_join");
  if (release != NULL) release(release_data);
}

static void heard(size_t id, pmix_status_t code, const pmix_proc_t* source, pmix_info_t info[],
                  size_t count, pmix_info_t* results, size_t result_count,
                  pmix_event_notification_cbfunc_fn_t done, void* data) {
  (void)id, (void)results, (void)result_count;
  for (size_t i = 0; i < count && code == PMIX_GROUP_INVITED; ++i) {
    if (strcmp(info[i].key, PMIX_GROUP_ID) != 0) continue;
    must(PMIx_Group_join_nb(info[i].value.data.string, source, PMIX_GROUP_ACCEPT, NULL, 0, answered,
                            NULL),
         "PMIx_Group_join_nb");
  }
  if (code == PMIX_GROUP_CONSTRUCT_COMPLETE) set(&complete);
  done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void is_registered(pmix_status_t status, size_t id, void* data) {
  (void)id, (void)data;
  must(status, "PMIx_Register_event_handler");
  set(&registered);
}

static void invite(const char* name) {
  pmix_proc_t members[kMaxMembers];
  pmix_info_t* results = NULL;
  size_t result_count = 0;
  const uint32_t size = job_size(&me);
  for (uint32_t rank = 0; rank < size && rank < kMaxMembers; ++rank)
    members[rank] = name_of(&me, rank);
  const pmix_status_t status =
      PMIx_Group_invite(name, members, size, NULL, 0, &results, &result_count);
  printf("invite: %s\n", PMIx_Error_string(status));
}

int main(int argc, char** argv) {
  pmix_status_t codes[] = {PMIX_GROUP_INVITED, PMIX_GROUP_CONSTRUCT_COMPLETE};
  if (argc < 2) return 2;
  must(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  PMIx_Register_event_handler(codes, 2, NULL, 0, heard, is_registered, NULL);
  wait_for(&registered, "registration");
  const pmix_proc_t all = name_of(&me, PMIX_RANK_WILDCARD);
  must(PMIx_Fence(&all, 1, NULL, 0), "PMIx_Fence");
  if (me.rank == 0) invite(argv[1]);
  wait_for(&complete, "the group");
  printf("joined\n");
  fflush(stdout);
  must(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
  return 0;
}
