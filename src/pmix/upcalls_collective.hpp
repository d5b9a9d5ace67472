// The functions that libpmix calls when several processes do something together, as those of
// upcalls.hpp.
#pragma once

#include <pmix_server.h>

namespace tide::pmix {

pmix_status_t connect_entered(const pmix_proc_t procs[], size_t proc_count,
                              const pmix_info_t info[], size_t info_count, pmix_op_cbfunc_t done,
                              void* done_data);
pmix_status_t disconnect_entered(const pmix_proc_t procs[], size_t proc_count,
                                 const pmix_info_t info[], size_t info_count, pmix_op_cbfunc_t done,
                                 void* done_data);
pmix_status_t group_entered(pmix_group_operation_t operation, char* name, const pmix_proc_t procs[],
                            size_t proc_count, const pmix_info_t info[], size_t info_count,
                            pmix_info_cbfunc_t done, void* done_data);

}  // namespace tide::pmix
