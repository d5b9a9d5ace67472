// Directives that several services have.
#pragma once

#include <pmix_common.h>

#include <optional>
#include <string>
#include <vector>

#include "pmix/server.hpp"

namespace tide::pmix {

// PMIX_ERR_BAD_PARAM for values of a wrong type.
pmix_status_t read_range(const pmix_value_t& value, wire::Range& range);
// In seconds; what is too long for the request is as long as it has place for.
pmix_status_t read_timeout_ms(const pmix_value_t& value, std::uint32_t& timeout_ms);
// The same, but none at all is PMIX_ERR_BAD_PARAM.
pmix_status_t read_span_ms(const pmix_value_t& value, std::uint32_t& span_ms);
// Also as text, which later releases send: "90", "1:30", "2:00:00", "1:00:00:00", "1-00:00:00".
pmix_status_t read_clock_ms(const pmix_value_t& value, std::uint32_t& span_ms);

// Nothing if one of them is no process.
std::optional<std::vector<ProcName>> names_of(const pmix_proc_t* procs, std::size_t count);
// Each once.
std::vector<std::string> nspaces_of(const std::vector<ProcName>& names);
// One process, or an array of some; nothing for anything else.
std::optional<wire::ProcNames> procs_in(const pmix_value_t& value);

}  // namespace tide::pmix
