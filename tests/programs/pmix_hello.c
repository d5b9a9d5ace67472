/* pmix_hello: what a process is told about its job and about every other process of it.
 *
 * One line about the job, then one per process:
 *   <namespace> rank R of N, universe U, nodes K, apps A, local peers L
 *   peer R app A apprank B global G local L noderank M node I host H
 * "parent NAMESPACE RANK" if it has one. With the argument "places" also, per process:
 *   place R cpuset C, shares WHAT
 * where WHAT is "node" and more of hwthread, core, l1, l2, l3, package, numa, or "nothing" elsewhere. */
#include "pmix_check.h"

static void print_job(const pmix_proc_t *me, uint32_t size) {
  const pmix_proc_t job = name_of(me, PMIX_RANK_WILDCARD);
  char peers[256];
  must_get_text(&job, PMIX_LOCAL_PEERS, peers, sizeof peers);
  printf("%s rank %u of %u, universe %u, nodes %u, apps %u, local peers %s\n", me->nspace, me->rank, size,
         must_get_u32(&job, PMIX_UNIV_SIZE), must_get_u32(&job, PMIX_NUM_NODES),
         must_get_u32(&job, PMIX_JOB_NUM_APPS), peers);
}

static void print_parent(const pmix_proc_t *me) {
  pmix_value_t *parent = NULL;
  if (PMIx_Get(me, PMIX_PARENT_ID, NULL, 0, &parent) != PMIX_SUCCESS) return;
  printf("parent %s %u\n", parent->data.proc->nspace, parent->data.proc->rank);
  PMIX_VALUE_RELEASE(parent);
}

/* Where the host is in the list of the job's nodes, which are numbered in that order. */
static uint32_t place_in_list(const pmix_proc_t *peer, const char *host) {
  char *list = NULL;
  uint32_t place = 0;
  must(PMIx_Resolve_nodes(peer->nspace, &list), "PMIx_Resolve_nodes");
  char *rest = list, *name = strsep(&rest, ",");
  for (; name != NULL && strcmp(name, host) != 0; name = strsep(&rest, ",")) ++place;
  if (name == NULL) must(PMIX_ERR_NOT_FOUND, host);
  free(list);
  return place;
}

/* libpmix 4.2 takes this key for one of nodes, and knows it of our own node only. */
static uint32_t node_id(const pmix_proc_t *peer, const char *host) {
  pmix_value_t *value = NULL;
  const uint32_t place = place_in_list(peer, host);
  if (PMIx_Get(peer, PMIX_NODEID, NULL, 0, &value) != PMIX_SUCCESS) return place;
  const uint32_t id = value->data.uint32;
  PMIX_VALUE_RELEASE(value);
  return id;
}

static void print_peer(const pmix_proc_t *peer) {
  char host[256];
  must_get_text(peer, PMIX_HOSTNAME, host, sizeof host);
  printf("peer %u app %u apprank %u global %u local %u noderank %u node %u host %s\n", peer->rank,
         must_get_u32(peer, PMIX_APPNUM), must_get_rank(peer, PMIX_APP_RANK),
         must_get_rank(peer, PMIX_GLOBAL_RANK), must_get_u16(peer, PMIX_LOCAL_RANK),
         must_get_u16(peer, PMIX_NODE_RANK), node_id(peer, host), host);
}

/* libpmix 4.2.2 understands the strings that it makes only with their source in front, and then has the right
 * result with a wrong status. */
static pmix_locality_t relative_locality(const char *first, const char *second) {
  char with_source[2][1040];
  pmix_locality_t locality = PMIX_LOCALITY_UNKNOWN;
  if (PMIx_Get_relative_locality(first, second, &locality) == PMIX_SUCCESS) return locality;
  snprintf(with_source[0], sizeof with_source[0], "hwloc:%s", first);
  snprintf(with_source[1], sizeof with_source[1], "hwloc:%s", second);
  const pmix_status_t status = PMIx_Get_relative_locality(with_source[0], with_source[1], &locality);
  if (locality == PMIX_LOCALITY_UNKNOWN) must(status, "PMIx_Get_relative_locality");
  return locality;
}

static void print_shared(const pmix_proc_t *me, const pmix_proc_t *peer) {
  static const struct {
    pmix_locality_t bit;
    const char *name;
  } kinds[] = {{PMIX_LOCALITY_SHARE_NODE, "node"},       {PMIX_LOCALITY_SHARE_NUMA, "numa"},
               {PMIX_LOCALITY_SHARE_PACKAGE, "package"}, {PMIX_LOCALITY_SHARE_L3CACHE, "l3"},
               {PMIX_LOCALITY_SHARE_L2CACHE, "l2"},      {PMIX_LOCALITY_SHARE_L1CACHE, "l1"},
               {PMIX_LOCALITY_SHARE_CORE, "core"},       {PMIX_LOCALITY_SHARE_HWTHREAD, "hwthread"}};
  char mine[1024], theirs[1024], my_host[256], their_host[256];
  must_get_text(me, PMIX_HOSTNAME, my_host, sizeof my_host);
  must_get_text(peer, PMIX_HOSTNAME, their_host, sizeof their_host);
  if (strcmp(my_host, their_host) != 0) {
    printf(" nothing");
    return;
  }
  must_get_text(me, PMIX_LOCALITY_STRING, mine, sizeof mine);
  must_get_text(peer, PMIX_LOCALITY_STRING, theirs, sizeof theirs);
  const pmix_locality_t locality = relative_locality(mine, theirs);
  for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; ++kind) {
    if (locality & kinds[kind].bit) printf(" %s", kinds[kind].name);
  }
}

static void print_place(const pmix_proc_t *me, const pmix_proc_t *peer) {
  char cpuset[1024];
  must_get_text(peer, PMIX_CPUSET, cpuset, sizeof cpuset);
  printf("place %u cpuset %s, shares", peer->rank, cpuset);
  print_shared(me, peer);
  printf("\n");
}

int main(int argc, char **argv) {
  const bool places = argc > 1 && strcmp(argv[1], "places") == 0;
  pmix_proc_t me;
  must(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  const uint32_t size = job_size(&me);
  print_job(&me, size);
  print_parent(&me);
  for (pmix_rank_t rank = 0; rank < size; ++rank) {
    const pmix_proc_t peer = name_of(&me, rank);
    print_peer(&peer);
    if (places) print_place(&me, &peer);
  }
  must(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
  return 0;
}
