/* The least that an MPI program does. */
#include <mpi.h>

int main(int argc, char **argv) {
  return MPI_Init(&argc, &argv) == MPI_SUCCESS && MPI_Finalize() == MPI_SUCCESS ? 0 : 1;
}
