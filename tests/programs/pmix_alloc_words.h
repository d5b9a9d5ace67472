// What pmix_alloc is told on a line, as PMIx has it: KEY=VALUE. KEY.text and KEY.u32 give the value
// that type, whatever it should be.
#pragma once

#include <tide/pmix_keys.h>

#include "pmix_check.h"

enum { kMostInfos = 12, kMostTargets = 16 };

typedef struct {
  char name[64];
  pmix_info_t info[kMostInfos];
  size_t count;
  pmix_alloc_directive_t directive; /* of a request */
  pmix_app_t app;                   /* of a spawn */
} Request;

typedef struct {
  const char* word;
  const char* key;
  pmix_data_type_t type;
} Word;

/* Those that libpmix may not have, and this build of the DVM either, by what they are. */
static const Word kWords[] = {
    {"nodes", PMIX_ALLOC_NUM_NODES, PMIX_UINT64},
    {"list", PMIX_ALLOC_NODE_LIST, PMIX_STRING},
    {"id", PMIX_ALLOC_ID, PMIX_STRING},
    {"req", PMIX_ALLOC_REQ_ID, PMIX_STRING},
    {"time", PMIX_ALLOC_TIME, PMIX_UINT32},
    {"left", PMIX_TIME_REMAINING, PMIX_UINT32},
    {"share", "pmix.alloc.share", PMIX_BOOL},
    {"target", "pmix.alloc.tgt", PMIX_STRING},
    {"inherit", "pmix.alloc.inhrt", PMIX_UINT8},
    {"warn", "pmix.alloc.wtmo", PMIX_UINT32},
    {"key", TIDE_SCHEDULER_KEY, PMIX_STRING},
    {"mapby", PMIX_MAPBY, PMIX_STRING},
    {"host", PMIX_HOST, PMIX_STRING},
    {"stdout", PMIX_FWD_STDOUT, PMIX_BOOL},
    {"nohup", PMIX_NOHUP, PMIX_BOOL},
};

static inline Word word_of(const char* name) {
  for (size_t i = 0; i < sizeof kWords / sizeof *kWords; ++i) {
    if (strcmp(kWords[i].word, name) == 0) return kWords[i];
  }
  return (Word){name, name, PMIX_STRING};
}

static inline uint64_t number_of(const char* value) {
  static const char* const kInheritances[] = {"", "none", "child", "default", "child_default"};
  for (size_t i = 1; i < sizeof kInheritances / sizeof *kInheritances; ++i) {
    if (strcmp(kInheritances[i], value) == 0) return i;
  }
  return strtoull(value, NULL, 10);
}

static inline void add_value(Request* request, const char* key, const void* value,
                             pmix_data_type_t type) {
  if (request->count == kMostInfos) exit(2);
  PMIX_INFO_LOAD(&request->info[request->count], key, value, type);
  ++request->count;
}

/* KEY=VALUE. */
static inline void add_word(Request* request, char* text) {
  char* value = strchr(text, '=');
  if (value == NULL) exit(2);
  *value++ = '\0';
  char* type = strchr(text, '.');
  const bool as_text = type != NULL && strcmp(type, ".text") == 0;
  const bool as_u32 = type != NULL && strcmp(type, ".u32") == 0;
  if (as_text || as_u32) *type = '\0';
  Word word = word_of(text);
  if (as_text) word.type = PMIX_STRING;
  if (as_u32) word.type = PMIX_UINT32;
  const uint64_t u64 = number_of(value);
  const uint32_t u32 = (uint32_t)u64;
  const uint8_t u8 = (uint8_t)u64;
  const bool flag = strcmp(value, "true") == 0;
  const void* data = word.type == PMIX_UINT64   ? (const void*)&u64
                     : word.type == PMIX_UINT32 ? (const void*)&u32
                     : word.type == PMIX_UINT8  ? (const void*)&u8
                     : word.type == PMIX_BOOL   ? (const void*)&flag
                                                : value;
  add_value(request, word.key, data, word.type);
}

/* "a1,default": one as text, several as an array; what is called default has no name. */
static inline void add_targets(Request* request, char* list) {
  char* names[kMostTargets];
  char* rest = NULL;
  size_t count = 0;
  for (char* name = strtok_r(list, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest)) {
    if (count == kMostTargets) exit(2);
    names[count++] = strcmp(name, "default") == 0 ? "" : name;
  }
  pmix_data_array_t array = {.type = PMIX_STRING, .size = count, .array = names};
  const bool one = count == 1;
  add_value(request, "pmix.spwn.tgt", one ? (void*)names[0] : &array,
            one ? PMIX_STRING : PMIX_DATA_ARRAY);
}
