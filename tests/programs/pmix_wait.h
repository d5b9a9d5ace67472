// For programs whose callbacks come on another thread: flags that are set there and awaited here.
#pragma once

#include <pthread.h>
#include <time.h>

#include "pmix_check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static inline void set(bool* what) {
  pthread_mutex_lock(&mutex);
  *what = true;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&mutex);
}

static inline void wait_for(const bool* what, const char* name) {
  const int limit_s = 15;
  struct timespec limit;
  clock_gettime(CLOCK_REALTIME, &limit);
  limit.tv_sec += limit_s;
  pthread_mutex_lock(&mutex);
  while (!*what) {
    if (pthread_cond_timedwait(&changed, &mutex, &limit) != 0) must(PMIX_ERR_TIMEOUT, name);
  }
  pthread_mutex_unlock(&mutex);
}
