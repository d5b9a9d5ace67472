// The functions that libpmix calls when something happens, as those of upcalls.hpp.
#pragma once

#include <pmix_server.h>

#include "pmix/bridge.hpp"

namespace tide::pmix {

// Has us told of what only comes to handlers. Nobody can have connected yet.
void begin_to_hear(Bridge& bridge);

// Without these three libpmix refuses clients that want to hear of events at all, and our own
// notifications wait for ever.
pmix_status_t events_registered(pmix_status_t* codes, size_t code_count, const pmix_info_t info[],
                                size_t info_count, pmix_op_cbfunc_t done, void* done_data);
pmix_status_t events_deregistered(pmix_status_t* codes, size_t code_count, pmix_op_cbfunc_t done,
                                  void* done_data);
pmix_status_t event_notified(pmix_status_t code, const pmix_proc_t* source, pmix_data_range_t range,
                             pmix_info_t info[], size_t info_count, pmix_op_cbfunc_t done,
                             void* done_data);

}  // namespace tide::pmix
