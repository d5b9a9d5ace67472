// The commands. Each does its work, says what there is to say, and returns the exit status.
#pragma once

#include "cli/client_context.hpp"

namespace tide::cli {

// Replaces this program by a head that goes to the background when the DVM is ready.
int up_command(const ClientContext& context);

// Replaces this program by a head that tries the hosts and starts no DVM.
int check_command(const ClientContext& context);

int run_command(const ClientContext& context);

// A private head for one job: it ends with us, whatever happens to us.
int one_shot_command(const ClientContext& context);

int status_command(const ClientContext& context);
int jobs_command(const ClientContext& context);
int explain_command(const ClientContext& context);
int ps_command(const ClientContext& context);
int events_command(const ClientContext& context);
// A DVM as it is, until it has ended: a screen on a terminal, else a line when something changed.
int watch_command(const ClientContext& context);
int kill_command(const ClientContext& context);
int grow_command(const ClientContext& context);
int shrink_command(const ClientContext& context);
int pool_command(const ClientContext& context);
int alloc_command(const ClientContext& context);
int down_command(const ClientContext& context);
int params_command(const ClientContext& context);
int logs_command(const ClientContext& context);
int debug_command(const ClientContext& context);

// Replaces this program by tide-sim, with all words as they are.
int sim_command(const Invocation& invocation);

// Errors of use that need no DVM to be found out: operands that the command does not take, values
// that make no sense. Called before anything is contacted.
Status check_use(const CommandLine& line);

}  // namespace tide::cli
