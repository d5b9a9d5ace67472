// The same for programs, as described in docs/json.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "wire/client.pb.h"

namespace tide::cli {

std::string explain_json(const wire::ExplainReply& reply);
std::string procs_json(std::span<const wire::JobProcs> pieces);

// One object for each line: events, and lines of a log or of the recorder.
std::string events_json(const wire::EventsReply& reply, std::uint64_t unix_ms);
std::string log_line_json(std::string_view node, std::string_view line);
std::string recorder_json(const wire::RecorderReply& reply);

}  // namespace tide::cli
