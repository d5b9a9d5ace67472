// Messages about allocations that processes and tools ask for. These see a status; the text is in
// the head's log.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/messages.hpp"

namespace tide::say {

Error unknown_allocation_request();
Error too_many_allocations(std::size_t limit);
Error too_many_asks(std::size_t limit);
Error extend_of_what();
Error no_allocation_to_extend(std::string_view id);
Error allocation_of_others(std::string_view id);
Error nodes_of_others(std::string_view who);
Error node_is_reserved(std::string_view node, std::string_view allocation);
Error node_is_still_starting(std::string_view node);
Error node_is_gone(std::string_view node);
Error cancel_of_what();
Error no_request_to_cancel(std::string_view request);
Error request_was_cancelled(std::string_view request);

}  // namespace tide::say
