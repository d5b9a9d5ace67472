// For the PMIx programs of the tests: whatever fails is said, and ends the program with status 1.
#pragma once

#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void must(pmix_status_t status, const char* what) {
  if (status == PMIX_SUCCESS) return;
  fprintf(stderr, "%s: %s\n", what, PMIx_Error_string(status));
  exit(1);
}

static inline pmix_proc_t name_of(const pmix_proc_t* me, pmix_rank_t rank) {
  pmix_proc_t proc = *me;
  proc.rank = rank;
  return proc;
}

/* The value of a key, which must be there and of this type; to be released by the caller. */
static inline pmix_value_t* must_get(const pmix_proc_t* proc, const char* key,
                                     pmix_data_type_t type) {
  pmix_value_t* value = NULL;
  must(PMIx_Get(proc, key, NULL, 0, &value), key);
  if (value->type != type) {
    fprintf(stderr, "%s: type %s instead of %s\n", key, PMIx_Data_type_string(value->type),
            PMIx_Data_type_string(type));
    exit(1);
  }
  return value;
}

static inline uint32_t must_get_u32(const pmix_proc_t* proc, const char* key) {
  pmix_value_t* value = must_get(proc, key, PMIX_UINT32);
  const uint32_t number = value->data.uint32;
  PMIX_VALUE_RELEASE(value);
  return number;
}

static inline uint16_t must_get_u16(const pmix_proc_t* proc, const char* key) {
  pmix_value_t* value = must_get(proc, key, PMIX_UINT16);
  const uint16_t number = value->data.uint16;
  PMIX_VALUE_RELEASE(value);
  return number;
}

static inline pmix_rank_t must_get_rank(const pmix_proc_t* proc, const char* key) {
  pmix_value_t* value = must_get(proc, key, PMIX_PROC_RANK);
  const pmix_rank_t number = value->data.rank;
  PMIX_VALUE_RELEASE(value);
  return number;
}

static inline void must_get_text(const pmix_proc_t* proc, const char* key, char* text,
                                 size_t size) {
  pmix_value_t* value = must_get(proc, key, PMIX_STRING);
  snprintf(text, size, "%s", value->data.string);
  PMIX_VALUE_RELEASE(value);
}

static inline uint32_t job_size(const pmix_proc_t* me) {
  const pmix_proc_t job = name_of(me, PMIX_RANK_WILDCARD);
  return must_get_u32(&job, PMIX_JOB_SIZE);
}

/* For everybody, and to be had from now on. */
static inline void put_number(uint32_t number) {
  pmix_value_t value;
  memset(&value, 0, sizeof value);
  value.type = PMIX_UINT32;
  value.data.uint32 = number;
  must(PMIx_Put(PMIX_GLOBAL, "test.number", &value), "PMIx_Put");
  must(PMIx_Commit(), "PMIx_Commit");
}
