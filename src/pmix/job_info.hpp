// What PMIx is told about a job.
#pragma once

#include "base/result.hpp"
#include "pmix/info_list.hpp"
#include "pmix/server.hpp"

namespace tide::pmix {

// Whether the description is one that libpmix can make sense of: it believes what it is told.
Status check_job(const JobDescription& job);

// All of it: maps, sizes, every node, app and process. Of a job that was checked.
Result<InfoArray> job_info(const JobDescription& job);

// What strangers may know of one process: all of job_info() but how near it is to its neighbours.
Result<InfoArray> process_info(const JobDescription& job, std::uint32_t rank);

// The node of the job that has this name, or null.
const JobDescription::Node* find_node(const JobDescription& job, const std::string& name);

// More processes of the job on this host than it has processors. On a shared host all count.
bool is_crowded(const JobDescription& job, bool shared_host);

}  // namespace tide::pmix
