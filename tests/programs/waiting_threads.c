/* waiting_threads: two threads beside the main one, each in a function of its own, that wait for ever. */
#include <pthread.h>
#include <unistd.h>

__attribute__((noinline)) static void *listen_for_nothing(void *unused) {
  for (;;) pause();
  return unused;
}

__attribute__((noinline)) static void *compute_nothing(void *unused) {
  for (;;) pause();
  return unused;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, listen_for_nothing, NULL);
  pthread_create(&threads[1], NULL, compute_nothing, NULL);
  pthread_join(threads[0], NULL);
  return 0;
}
