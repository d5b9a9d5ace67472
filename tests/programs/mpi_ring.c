/* mpi_ring [ROUNDS]: a number goes around, every rank adds one. Rank 0 prints "ring of N: SUM" and
 * checks it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  int rank = 0, size = 0;
  MPI_Init(&argc, &argv);
  const int rounds = argc > 1 ? atoi(argv[1]) : 10;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int next = (rank + 1) % size;
  const int previous = (rank + size - 1) % size;
  int number = 0;
  for (int round = 0; round < rounds; ++round) {
    if (rank == 0) {
      ++number;
      MPI_Sendrecv_replace(&number, 1, MPI_INT, next, 0, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(&number, 1, MPI_INT, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      ++number;
      MPI_Send(&number, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
    }
  }
  const int wrong = rank == 0 && number != rounds * size;
  if (rank == 0) printf("ring of %d: %d\n", size, number);
  MPI_Finalize();
  return wrong;
}
