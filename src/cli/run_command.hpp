// What running a job in a DVM that exists and in a private one have in common.
#pragma once

#include "base/result.hpp"
#include "cli/client_context.hpp"
#include "cli/job_request.hpp"
#include "cli/signal_source.hpp"
#include "net/local_channel.hpp"

namespace tide::cli {

// The job that the command line asks for; warnings are said.
Result<JobRequest> prepare_job(const ClientContext& context);

// Runs it to its end; the exit status.
int run_job(const ClientContext& context, net::LocalChannel& channel, SignalSource& signals,
            JobRequest request);

}  // namespace tide::cli
