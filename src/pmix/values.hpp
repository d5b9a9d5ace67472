// What is in the values that callers of PMIx give us, where nothing can be relied upon.
#pragma once

#include <pmix_common.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pmix/server.hpp"

namespace tide::pmix {

std::string_view key_of(const pmix_info_t& info);
// Who gives it wants to fail rather than be without.
bool is_required(const pmix_info_t& info);

// Nothing where the type is another one. A flag that is named without a value is meant.
std::optional<bool> flag_in(const pmix_value_t& value);
std::optional<std::int64_t> integer_in(const pmix_value_t& value);
std::optional<std::string> text_in(const pmix_value_t& value);
std::optional<ProcName> proc_in(const pmix_value_t& value);

}  // namespace tide::pmix
