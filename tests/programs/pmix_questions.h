// For the PMIx programs of the tests: questions from the command line, and their answers as text.
#pragma once

#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The string for what a user writes: "PMIX_QUERY_NAMESPACES" or the string itself. Names that the
 * library does not know stay as they are. */
static inline const char* key_named(const char* name) {
  const char* key = strncmp(name, "PMIX_", 5) == 0 ? PMIx_Get_attribute_string(name) : NULL;
  return key != NULL ? key : name;
}

static inline void print_value(const pmix_value_t* value);

static inline void print_info(const pmix_info_t* info) {
  printf("%s=", info->key);
  print_value(&info->value);
}

static inline void print_process(const pmix_proc_info_t* process) {
  printf("%s:%u host %s pid %d state %s exit %d program %s", process->proc.nspace,
         process->proc.rank, process->hostname ? process->hostname : "-", (int)process->pid,
         PMIx_Proc_state_string(process->state), process->exit_code,
         process->executable_name ? process->executable_name : "-");
}

static inline void print_array(const pmix_data_array_t* array) {
  printf("[");
  for (size_t index = 0; array != NULL && index < array->size; ++index) {
    if (index > 0) printf("; ");
    if (array->type == PMIX_INFO) {
      print_info(&((pmix_info_t*)array->array)[index]);
    } else if (array->type == PMIX_PROC_INFO) {
      print_process(&((pmix_proc_info_t*)array->array)[index]);
    } else if (array->type == PMIX_STRING) {
      printf("%s", ((char**)array->array)[index]);
    } else if (array->type == PMIX_PROC) {
      printf("%s:%u", ((pmix_proc_t*)array->array)[index].nspace,
             ((pmix_proc_t*)array->array)[index].rank);
    } else {
      printf("(%s)", PMIx_Data_type_string(array->type));
    }
  }
  printf("]");
}

static inline void print_value(const pmix_value_t* value) {
  switch (value->type) {
    case PMIX_STRING:
      printf("%s", value->data.string);
      break;
    case PMIX_BOOL:
      printf("%s", value->data.flag ? "true" : "false");
      break;
    case PMIX_UINT32:
      printf("%u", value->data.uint32);
      break;
    case PMIX_SIZE:
      printf("%zu", value->data.size);
      break;
    case PMIX_PROC_RANK:
      printf("%u", value->data.rank);
      break;
    case PMIX_STATUS:
      printf("%s", PMIx_Error_string(value->data.status));
      break;
    case PMIX_JOB_STATE:
      printf("%s", PMIx_Job_state_string(value->data.jstate));
      break;
    case PMIX_PROC:
      printf("%s:%u", value->data.proc->nspace, value->data.proc->rank);
      break;
    case PMIX_DATA_ARRAY:
      print_array(value->data.darray);
      break;
    default:
      printf("(%s)", PMIx_Data_type_string(value->type));
  }
}

/* NSPACE=x, HOSTNAME=x, NODEID=n, PROCID=nspace:rank, or KEY=text. */
static inline void load_qualifier(pmix_info_t* info, char* text) {
  char* value = strchr(text, '=');
  *value++ = '\0';
  if (strcmp(text, "PROCID") == 0) {
    pmix_proc_t proc;
    char* rank = strrchr(value, ':');
    *rank++ = '\0';
    PMIX_LOAD_PROCID(&proc, value, (pmix_rank_t)strtoul(rank, NULL, 10));
    PMIX_INFO_LOAD(info, PMIX_PROCID, &proc, PMIX_PROC);
  } else if (strcmp(text, "NODEID") == 0) {
    const uint32_t id = (uint32_t)strtoul(value, NULL, 10);
    PMIX_INFO_LOAD(info, PMIX_NODEID, &id, PMIX_UINT32);
  } else if (strcmp(text, "NSPACE") == 0) {
    PMIX_INFO_LOAD(info, PMIX_NSPACE, value, PMIX_STRING);
  } else if (strcmp(text, "HOSTNAME") == 0) {
    PMIX_INFO_LOAD(info, PMIX_HOSTNAME, value, PMIX_STRING);
  } else {
    PMIX_INFO_LOAD(info, key_named(text), value, PMIX_STRING);
  }
}

/* Asks for all keys with all qualifiers in one question: words with '=' are qualifiers. Prints a
 * line per answer and at the end "query: STATUS"; the exit status of the program. */
static inline int ask_and_print(char** words, int count) {
  pmix_query_t query;
  pmix_info_t* answers = NULL;
  pmix_status_t status = PMIX_SUCCESS;
  size_t answer_count = 0, qualifier = 0;
  PMIX_QUERY_CONSTRUCT(&query);
  for (int index = 0; index < count; ++index) query.nqual += strchr(words[index], '=') != NULL;
  if (query.nqual > 0) PMIX_INFO_CREATE(query.qualifiers, query.nqual);
  for (int index = 0; index < count; ++index) {
    if (strchr(words[index], '=') != NULL) {
      load_qualifier(&query.qualifiers[qualifier++], words[index]);
    } else {
      PMIX_ARGV_APPEND(status, query.keys, key_named(words[index]));
    }
  }
  status = PMIx_Query_info(&query, 1, &answers, &answer_count);
  for (size_t index = 0; index < answer_count; ++index) {
    print_info(&answers[index]);
    printf("\n");
  }
  printf("query: %s\n", PMIx_Error_string(status));
  if (answers != NULL) PMIX_INFO_FREE(answers, answer_count);
  PMIX_QUERY_DESTRUCT(&query);
  return status == PMIX_SUCCESS || status == PMIX_QUERY_PARTIAL_SUCCESS ? 0 : 3;
}
