/* mpi_signal SIGNAL [RANK]: RANK (0) ends by SIGNAL (a number), the others wait for it in a barrier. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == (argc > 2 ? atoi(argv[2]) : 0)) {
    const int number = argc > 1 ? atoi(argv[1]) : SIGKILL;
    signal(number, SIG_DFL); /* Open MPI prints a trace and goes on to the default, for some of them */
    raise(number);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
