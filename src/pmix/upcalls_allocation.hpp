// The function that libpmix calls when a process or tool wants more nodes, or gives some back, as
// those of upcalls.hpp.
#pragma once

#include <pmix_server.h>

namespace tide::pmix {

pmix_status_t allocation_asked(const pmix_proc_t* proc, pmix_alloc_directive_t directive,
                               const pmix_info_t info[], size_t info_count, pmix_info_cbfunc_t done,
                               void* done_data);

}  // namespace tide::pmix
