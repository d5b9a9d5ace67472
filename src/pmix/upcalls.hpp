// The functions that libpmix calls, on its own thread, where nothing may block. Each copies what it
// is given and passes it on over the bridge. None calls libpmix, not even what only posts: every
// function of it takes a lock that PMIx_server_finalize() holds while it waits for this thread.
#pragma once

#include <pmix_server.h>

namespace tide::pmix {

// What this server can do; for everything that is not in it libpmix answers "not supported".
pmix_server_module_t& server_module();

// A process is gone without saying so. To be registered for PMIX_ERR_LOST_CONNECTION.
void connection_lost(size_t handler, pmix_status_t status, const pmix_proc_t* source,
                     pmix_info_t info[], size_t info_count, pmix_info_t* results,
                     size_t result_count, pmix_event_notification_cbfunc_fn_t done,
                     void* done_data);

// libpmix has done what Bridge::begin() asked for.
void operation_done(pmix_status_t status, void* number);
void registration_done(pmix_status_t status, size_t handler, void* number);
void fetch_done(pmix_status_t status, char* data, size_t size, void* number);

}  // namespace tide::pmix
