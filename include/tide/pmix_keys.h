// Names of PMIx that elastic DVMs use and that libpmix 4.2 does not have. The values are those of
// later releases, which win where they define a name. For C and C++.
//
// TIDE_NO_PMIX_<NAME> leaves one of them out, TIDE_NO_PMIX_KEYS all.
#pragma once

#include <pmix_common.h>

#ifdef TIDE_NO_PMIX_KEYS
#define TIDE_NO_PMIX_ALLOC_TARGET
#define TIDE_NO_PMIX_ALLOC_SHARE
#define TIDE_NO_PMIX_ALLOC_INHERITANCE
#define TIDE_NO_PMIX_ALLOC_WARN_TIMEOUT
#define TIDE_NO_PMIX_SPAWN_TARGET
#define TIDE_NO_PMIX_ALLOC_TIMEOUT_WARNING
#define TIDE_NO_PMIX_DVM_IS_READY
#define TIDE_NO_PMIX_ERR_DVM_MOD
#define TIDE_NO_PMIX_ALLOC_REQ_CANCEL
#endif

/* (char*) namespace whose reservation the nodes join */
#if !defined(PMIX_ALLOC_TARGET) && !defined(TIDE_NO_PMIX_ALLOC_TARGET)
#define PMIX_ALLOC_TARGET "pmix.alloc.tgt"
#endif

/* (bool) the nodes are shared with the requester's session */
#if !defined(PMIX_ALLOC_SHARE) && !defined(TIDE_NO_PMIX_ALLOC_SHARE)
#define PMIX_ALLOC_SHARE "pmix.alloc.share"
#endif

/* (uint8_t) what becomes of the nodes when their owner ends: one of the four below */
#if !defined(PMIX_ALLOC_INHERITANCE) && !defined(TIDE_NO_PMIX_ALLOC_INHERITANCE)
#define PMIX_ALLOC_INHERITANCE "pmix.alloc.inhrt"
#endif
#ifndef TIDE_NO_PMIX_ALLOC_INHERITANCE
#ifndef PMIX_ALLOC_INHERIT_NONE
#define PMIX_ALLOC_INHERIT_NONE 1
#endif
#ifndef PMIX_ALLOC_INHERIT_CHILD
#define PMIX_ALLOC_INHERIT_CHILD 2
#endif
#ifndef PMIX_ALLOC_INHERIT_DEFAULT
#define PMIX_ALLOC_INHERIT_DEFAULT 3
#endif
#ifndef PMIX_ALLOC_INHERIT_CHILD_DEFAULT
#define PMIX_ALLOC_INHERIT_CHILD_DEFAULT 4
#endif
#endif

/* (uint32_t) seconds before the end of an allocation at which its owner is warned */
#if !defined(PMIX_ALLOC_WARN_TIMEOUT) && !defined(TIDE_NO_PMIX_ALLOC_WARN_TIMEOUT)
#define PMIX_ALLOC_WARN_TIMEOUT "pmix.alloc.wtmo"
#endif

/* (char*, or pmix_data_array_t* of them) ids of the allocations that a job may run in */
#if !defined(PMIX_SPAWN_TARGET) && !defined(TIDE_NO_PMIX_SPAWN_TARGET)
#define PMIX_SPAWN_TARGET "pmix.spwn.tgt"
#endif

/* status codes of events */
#if !defined(PMIX_ALLOC_TIMEOUT_WARNING) && !defined(TIDE_NO_PMIX_ALLOC_TIMEOUT_WARNING)
#define PMIX_ALLOC_TIMEOUT_WARNING (-194)
#endif
#if !defined(PMIX_DVM_IS_READY) && !defined(TIDE_NO_PMIX_DVM_IS_READY)
#define PMIX_DVM_IS_READY (-195)
#endif
#if !defined(PMIX_ERR_DVM_MOD) && !defined(TIDE_NO_PMIX_ERR_DVM_MOD)
#define PMIX_ERR_DVM_MOD (-196)
#endif

/* (pmix_alloc_directive_t) a request that was not granted yet is taken back */
#if !defined(PMIX_ALLOC_REQ_CANCEL) && !defined(TIDE_NO_PMIX_ALLOC_REQ_CANCEL)
#define PMIX_ALLOC_REQ_CANCEL 5
#endif

/* Tide's own, in answers to PMIx_Allocation_request: (bool) nothing is left to be done for the
   request, and no event follows */
#define TIDE_ALLOC_COMPLETE "tide.alloc.complete"

/* (char*) with requests, spawns and warnings: what proves that they are the scheduler's, the
   contents of the file that the DVM was told of by the parameter tide_scheduler_key_file */
#define TIDE_SCHEDULER_KEY "tide.sched.key"
