/* mpi_spawn CHILDREN [HOSTS]: every rank takes part in the start of CHILDREN more of this program,
 * on HOSTS
 * ("a,b:2") if given. Parents and children add up their ranks over the merged communicator.
 * Rank 0 of the parents prints "spawned C to P: sum S", each child "child on NODE". Exit status 3
 * if the start fails. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* The sum of all ranks in one communicator of both; 0 if it is wrong. */
static int sum_over_both(MPI_Comm between, int is_child) {
  MPI_Comm all;
  int rank = 0, size = 0, sum = 0;
  MPI_Intercomm_merge(between, is_child, &all);
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &size);
  const int mine = rank + 1;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, all);
  MPI_Comm_free(&all);
  return sum == size * (size + 1) / 2 ? sum : 0;
}

static MPI_Comm spawn(char* program, int children, char* hosts) {
  MPI_Comm between = MPI_COMM_NULL;
  MPI_Info info = MPI_INFO_NULL;
  char* child_argv[] = {"child", NULL};
  if (hosts != NULL) {
    MPI_Info_create(&info);
    MPI_Info_set(info, "host", hosts);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int error = MPI_Comm_spawn(program, child_argv, children, info, 0, MPI_COMM_WORLD, &between,
                                   MPI_ERRCODES_IGNORE);
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  if (error == MPI_SUCCESS) return between;
  fprintf(stderr, "MPI_Comm_spawn fails with %d\n", error);
  exit(3);
}

int main(int argc, char** argv) {
  MPI_Comm between;
  int rank = 0, size = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_get_parent(&between);
  const int is_child = between != MPI_COMM_NULL;
  const int children = is_child ? 0 : argc > 1 ? atoi(argv[1]) : 1;
  if (!is_child) between = spawn(argv[0], children, argc > 2 ? argv[2] : NULL);
  const int sum = sum_over_both(between, is_child);
  if (is_child && getenv("TIDE_NODE") != NULL) printf("child on %s\n", getenv("TIDE_NODE"));
  if (!is_child && rank == 0) printf("spawned %d to %d: sum %d\n", children, size, sum);
  MPI_Comm_disconnect(&between);
  MPI_Finalize();
  return sum > 0 ? 0 : 1;
}
