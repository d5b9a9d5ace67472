// Which messages go by the channel for bulk data. What belongs behind such data goes with it.
#pragma once

#include "wire/link.pb.h"

namespace tide::core {

inline bool is_bulk(const wire::UpBody& body) {
  return body.has_stream() || body.has_output_complete() || body.has_stack_trace() ||
         body.has_traces_complete();
}

inline bool is_bulk(const wire::DownBody& body) {
  return body.has_input() || body.has_tool_output() || body.has_file_chunk() ||
         body.has_remove_files() || (body.has_event() && body.event().after_output());
}

}  // namespace tide::core
