// What people see of a change of the DVM's size, and of nodes that came together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/client.pb.h"

namespace tide::cli {

// `now_ms` is the present on the head's clock, as that of the reply.
std::string change_report_text(const wire::ChangeReport& report, std::uint64_t now_ms);
// Nodes of an allocation that a change under way takes out of the DVM.
std::vector<std::string> leaving_of(const wire::AllocationReport& report);
std::string allocation_report_text(const wire::AllocationReport& report, std::uint64_t now_ms);

// A table of the allocations that have to go back after a time; empty if there are none.
std::string leases_text(const wire::StatusReply& status);

}  // namespace tide::cli
