/* pmix_publish WHAT [ARGUMENT...]: publishes and looks up, one step per argument, in this order:
 *
 *   KEY=VALUE     publish a text        range=N, persist=N, wait=N, timeout=N   for all further
 * steps KEY?          look it up            user=N        who else may read what is published
 * further A?B?          look several up       to=RANK       for range=6: whom it is for -KEY
 * unpublish it          -             unpublish all number:KEY=N  publish a number      many:KEY=N
 * publish, look up and unpublish it N times    bytes:KEY=N   publish a text of N letters
 *
 * Prints "KEY = VALUE from RANK" for what it found and "WHAT: status" for what failed; ends with
 * status 0 unless it cannot talk to its server. */
#include "pmix_check.h"

enum { kMaxKeys = 16 };

static pmix_info_t directives[8];
static size_t directive_count;
static pmix_proc_t me;

static void complain(const char* what, pmix_status_t status) {
  if (status != PMIX_SUCCESS) printf("%s: %s\n", what, PMIx_Error_string(status));
}

static pmix_info_t* directive(const char* key) {
  for (size_t i = 0; i < directive_count; ++i) {
    if (strcmp(directives[i].key, key) == 0) return &directives[i];
  }
  return &directives[directive_count++];
}

static void set_user(uint32_t user) {
  pmix_info_t users;
  pmix_data_array_t array = {.type = PMIX_UINT32, .size = 1, .array = &user};
  PMIX_INFO_LOAD(&users, PMIX_ACCESS_USERIDS, &array, PMIX_DATA_ARRAY);
  pmix_data_array_t outer = {.type = PMIX_INFO, .size = 1, .array = &users};
  PMIX_INFO_LOAD(directive(PMIX_ACCESS_PERMISSIONS), PMIX_ACCESS_PERMISSIONS, &outer,
                 PMIX_DATA_ARRAY);
}

/* True if the argument was a directive. */
static bool set_directive(const char* argument) {
  const char* sign = strchr(argument, '=');
  if (sign == NULL) return false;
  const int number = atoi(sign + 1);
  const uint8_t byte = (uint8_t)number;
  const size_t length = (size_t)(sign - argument);
  const pmix_proc_t target = name_of(&me, (pmix_rank_t)number);
  if (strncmp(argument, "range", length) == 0) {
    PMIX_INFO_LOAD(directive(PMIX_RANGE), PMIX_RANGE, &byte, PMIX_DATA_RANGE);
  } else if (strncmp(argument, "persist", length) == 0) {
    PMIX_INFO_LOAD(directive(PMIX_PERSISTENCE), PMIX_PERSISTENCE, &byte, PMIX_PERSIST);
  } else if (strncmp(argument, "wait", length) == 0) {
    PMIX_INFO_LOAD(directive(PMIX_WAIT), PMIX_WAIT, &number, PMIX_INT);
  } else if (strncmp(argument, "timeout", length) == 0) {
    PMIX_INFO_LOAD(directive(PMIX_TIMEOUT), PMIX_TIMEOUT, &number, PMIX_INT);
  } else if (strncmp(argument, "to", length) == 0) {
    PMIX_INFO_LOAD(directive(PMIX_EVENT_CUSTOM_RANGE), PMIX_EVENT_CUSTOM_RANGE, &target, PMIX_PROC);
  } else if (strncmp(argument, "user", length) == 0) {
    set_user((uint32_t)number);
  } else {
    return false;
  }
  return true;
}

/* Those that say something about data; a lookup does not know the others. */
static pmix_status_t publish(const char* key, const void* value, pmix_data_type_t type) {
  pmix_info_t info[9];
  memset(info, 0, sizeof info);
  size_t count = 0;
  for (size_t i = 0; i < directive_count; ++i) {
    if (strcmp(directives[i].key, PMIX_WAIT) != 0) info[count++] = directives[i];
  }
  PMIX_INFO_LOAD(&info[count++], key, value, type);
  return PMIx_Publish(info, count);
}

static pmix_status_t look_up(pmix_pdata_t* data, size_t count) {
  pmix_info_t info[8];
  size_t used = 0;
  for (size_t i = 0; i < directive_count; ++i) {
    const char* key = directives[i].key;
    const bool known = strcmp(key, PMIX_WAIT) == 0 || strcmp(key, PMIX_TIMEOUT) == 0 ||
                       strcmp(key, PMIX_RANGE) == 0;
    if (known) info[used++] = directives[i];
  }
  return PMIx_Lookup(data, count, info, used);
}

static void print_found(const char* keys) {
  pmix_pdata_t data[kMaxKeys];
  size_t count = 0;
  char copy[1024];
  snprintf(copy, sizeof copy, "%s", keys);
  memset(data, 0, sizeof data);
  for (char* key = strtok(copy, "?"); key != NULL && count < kMaxKeys; key = strtok(NULL, "?")) {
    PMIX_LOAD_KEY(data[count++].key, key);
  }
  complain(keys, look_up(data, count));
  for (size_t i = 0; i < count; ++i) {
    const pmix_value_t* value = &data[i].value;
    if (value->type == PMIX_STRING)
      printf("%s = %s from %u\n", data[i].key, value->data.string, data[i].proc.rank);
    if (value->type == PMIX_INT)
      printf("%s = %d from %u\n", data[i].key, value->data.integer, data[i].proc.rank);
  }
}

static pmix_status_t unpublish(const char* key) {
  char copy[256];
  char* keys[] = {copy, NULL};
  snprintf(copy, sizeof copy, "%s", key);
  return PMIx_Unpublish(key[0] != '\0' ? keys : NULL, NULL, 0);
}

static void many(const char* key, int times) {
  for (int i = 0; i < times; ++i) {
    pmix_pdata_t data;
    memset(&data, 0, sizeof data);
    PMIX_LOAD_KEY(data.key, key);
    must(publish(key, &i, PMIX_INT), "PMIx_Publish");
    must(look_up(&data, 1), "PMIx_Lookup");
    if (data.value.type != PMIX_INT || data.value.data.integer != i)
      must(PMIX_ERROR, "another number");
    must(unpublish(key), "PMIx_Unpublish");
  }
  printf("%s: %d times\n", key, times);
}

static void publish_bytes(const char* key, size_t size) {
  char* text = malloc(size + 1);
  memset(text, 'x', size);
  text[size] = '\0';
  complain(key, publish(key, text, PMIX_STRING));
  free(text);
}

static void step(char* argument) {
  char* sign = strchr(argument, '=');
  if (set_directive(argument)) return;
  if (sign != NULL) *sign = '\0';
  const int number = sign != NULL ? atoi(sign + 1) : 0;
  if (argument[0] == '-') {
    complain(argument, unpublish(argument + 1));
  } else if (strchr(argument, '?') != NULL) {
    print_found(argument);
  } else if (strncmp(argument, "many:", 5) == 0) {
    many(argument + 5, number);
  } else if (strncmp(argument, "bytes:", 6) == 0) {
    publish_bytes(argument + 6, (size_t)number);
  } else if (strncmp(argument, "number:", 7) == 0) {
    complain(argument, publish(argument + 7, &number, PMIX_INT));
  } else if (sign != NULL) {
    complain(argument, publish(argument, sign + 1, PMIX_STRING));
  }
}

int main(int argc, char** argv) {
  must(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  for (int i = 1; i < argc; ++i) {
    step(argv[i]);
    fflush(stdout);
  }
  must(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
  return 0;
}
