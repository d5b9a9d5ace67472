// The functions that libpmix calls when data is published, looked up and taken back, as those of
// upcalls.hpp.
#pragma once

#include <pmix_server.h>

namespace tide::pmix {

pmix_status_t data_published(const pmix_proc_t* proc, const pmix_info_t info[], size_t info_count,
                             pmix_op_cbfunc_t done, void* done_data);
pmix_status_t data_wanted(const pmix_proc_t* proc, char** keys, const pmix_info_t info[],
                          size_t info_count, pmix_lookup_cbfunc_t done, void* done_data);
pmix_status_t data_unpublished(const pmix_proc_t* proc, char** keys, const pmix_info_t info[],
                               size_t info_count, pmix_op_cbfunc_t done, void* done_data);

}  // namespace tide::pmix
