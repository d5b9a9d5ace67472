// The functions that libpmix calls for tools and for what they ask, as those of upcalls.hpp.
#pragma once

#include <pmix_server.h>

namespace tide::pmix {

void tool_connected(pmix_info_t* info, size_t info_count, pmix_tool_connection_cbfunc_t done,
                    void* done_data);

pmix_status_t query_asked(pmix_proc_t* proc, pmix_query_t* queries, size_t query_count,
                          pmix_info_cbfunc_t done, void* done_data);

pmix_status_t control_asked(const pmix_proc_t* proc, const pmix_proc_t targets[],
                            size_t target_count, const pmix_info_t info[], size_t info_count,
                            pmix_info_cbfunc_t done, void* done_data);

void log_asked(const pmix_proc_t* proc, const pmix_info_t data[], size_t data_count,
               const pmix_info_t info[], size_t info_count, pmix_op_cbfunc_t done, void* done_data);

pmix_status_t output_pulled(const pmix_proc_t procs[], size_t proc_count, const pmix_info_t info[],
                            size_t info_count, pmix_iof_channel_t channels, pmix_op_cbfunc_t done,
                            void* done_data);

pmix_status_t input_pushed(const pmix_proc_t* proc, const pmix_proc_t targets[],
                           size_t target_count, const pmix_info_t info[], size_t info_count,
                           const pmix_byte_object_t* bytes, pmix_op_cbfunc_t done, void* done_data);

}  // namespace tide::pmix
