/* mpi_allreduce [COUNT]: sums vectors of COUNT numbers over all ranks; every rank checks every element.
 * Rank 0 prints "allreduce of N: right". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  int rank = 0, size = 0;
  MPI_Init(&argc, &argv);
  const int count = argc > 1 ? atoi(argv[1]) : 1000;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  long *mine = malloc((size_t)count * sizeof *mine);
  long *sum = malloc((size_t)count * sizeof *sum);
  if (mine == NULL || sum == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int i = 0; i < count; ++i) mine[i] = (long)i * (rank + 1);
  MPI_Allreduce(mine, sum, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  const long ranks = (long)size * (size + 1) / 2;
  int wrong = 0;
  for (int i = 0; i < count; ++i) wrong |= sum[i] != i * ranks;
  free(mine);
  free(sum);
  int any = 0;
  MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) printf("allreduce of %d: %s\n", size, any ? "wrong" : "right");
  MPI_Finalize();
  return any;
}
