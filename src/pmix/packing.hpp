// Values of PMIx as bytes that travel, and back. Only we can read the bytes; whoever stores or
// sends them need not.
#pragma once

#include <pmix_common.h>

#include <optional>
#include <string>
#include <string_view>

#include "pmix/info_list.hpp"

namespace tide::pmix {

// Nothing for what can't travel: pointers, topologies, what is nested too deeply, and types that
// are unknown here.
std::optional<std::string> pack_value(const pmix_value_t& value);
// The bytes of two arrays, one after the other, read as one array of both.
std::optional<std::string> pack_info(const pmix_info_t* info, std::size_t count);

// Both ways no function of libpmix is called.

// False for bytes that are not ours or ask for absurd amounts of memory; `value` is then empty. To
// be released.
bool unpack_value(std::string_view bytes, pmix_value_t& value);
// Adds all, or nothing and false.
bool unpack_info(std::string_view bytes, InfoList& list);
bool unpack_info(const wire::InfoEntries& entries, InfoList& list);

// What the value points to, for all types that travel; it is empty afterwards. libpmix's own
// function needs a running server for some of them.
void release(pmix_value_t& value);
void release(pmix_data_array_t& array);

}  // namespace tide::pmix
