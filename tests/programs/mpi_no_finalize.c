/* mpi_no_finalize [STATUS]: after MPI_Init and a barrier every rank exits with STATUS, without
 * MPI_Finalize. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  printf("rank %d leaves\n", rank);
  fflush(stdout);
  _exit(argc > 1 ? atoi(argv[1]) : 0);
}
