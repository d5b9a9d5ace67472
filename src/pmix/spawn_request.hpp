// What PMIx_Spawn() is given, as the job that it describes.
#pragma once

#include <pmix_common.h>

#include "pmix/server.hpp"

namespace tide::pmix {

// Everything is copied. PMIX_ERR_BAD_PARAM for values of a wrong type or without sense,
// PMIX_ERR_NOT_SUPPORTED for what would be another job if it were left out and can't be done, and
// for what is unknown and required. Usable inside an upcall.
pmix_status_t read_spawn(const pmix_info_t* info, std::size_t info_count, const pmix_app_t* apps,
                         std::size_t app_count, wire::ServiceRequest& request);

}  // namespace tide::pmix
