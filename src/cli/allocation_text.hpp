// What people see of allocations: who owns them, how long they last, what becomes of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wire/client.pb.h"

namespace tide::cli {

// Nodes of an allocation that a change under way takes out of the DVM.
std::vector<std::string> leaving_of(const wire::AllocationReport& report);
// `now_ms` is the present on the head's clock, as that of the reply.
std::string allocation_report_text(const wire::AllocationReport& report, std::uint64_t now_ms);

// Nodes that did not come with it, and that it reserves.
std::vector<std::string> reserved_by(const wire::AllocationStatus& allocation,
                                     const wire::StatusReply& status);

// For tide status, a table of those that somebody owns or that have to go back after a time; empty
// if there are none.
std::string sessions_text(const wire::StatusReply& status);
// All, and all that is known of each, with requests that wait for an answer.
std::string allocations_text(const wire::StatusReply& status);
std::string asks_text(const google::protobuf::RepeatedPtrField<wire::PendingAsk>& asks,
                      std::string_view indent = "");

// The sessions that a job may use, as --target takes them.
std::vector<std::string> targets_of(const wire::JobStatus& job);
// Others, or more, than the default session.
bool is_aimed(const wire::JobStatus& job);

}  // namespace tide::cli
