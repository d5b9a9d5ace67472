// The function that libpmix calls when a process or tool starts a job, as those of upcalls.hpp.
#pragma once

#include <pmix_server.h>

namespace tide::pmix {

pmix_status_t spawn_asked(const pmix_proc_t* proc, const pmix_info_t info[], size_t info_count,
                          const pmix_app_t apps[], size_t app_count, pmix_spawn_cbfunc_t done,
                          void* done_data);

}  // namespace tide::pmix
