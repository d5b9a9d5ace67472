// What people see who watch: why a job stands where it stands, processes, events.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "wire/client.pb.h"

namespace tide::cli {

std::string explain_text(const wire::ExplainReply& reply);

// A table of all processes, from all pieces of the answer.
std::string procs_text(std::span<const wire::JobProcs> pieces);

// One line for each; `unix_ms` is the present, as in `now_ms` of the reply.
std::string events_text(const wire::EventsReply& reply, std::uint64_t unix_ms);

// Where a row is and its state, by their names; null: the answer has no such name.
const std::string* node_of(const wire::JobProcs& job, const wire::ListedProc& row);
const std::string* state_of(const wire::JobProcs& job, const wire::ListedProc& row);

// "RUNNING" of PRTE_JOB_STATE_RUNNING.
std::string short_state(std::string_view state);

// "12:01:03.250", where the user is.
std::string clock_time(std::uint64_t unix_ms);

// When something happened that the head's clock says was at `at_ms`.
std::uint64_t unix_time_of(std::uint64_t at_ms, std::uint64_t now_ms, std::uint64_t unix_ms);

}  // namespace tide::cli
