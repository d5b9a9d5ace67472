#include "say/allocations.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace tide::say {

Error unknown_allocation_request() {
  return Error{ErrorCode::kNotSupported, "an allocation request of a kind that is not known here"};
}

Error too_many_allocations(std::size_t limit) {
  return Error{ErrorCode::kOutOfResources,
               fmt::format("there are {} allocations already{}some of them released", limit, kTry)};
}

Error too_many_asks(std::size_t limit) {
  return Error{
      ErrorCode::kOutOfResources,
      fmt::format("{} requests for nodes wait already{}again when some were answered; tide status "
                  "shows them, and tide alloc cancel NAME takes one back",
                  limit, kTry)};
}

Error extend_of_what() {
  return invalid(fmt::format(
      "an allocation is to be extended, but not said which{}PMIX_ALLOC_ID or PMIX_ALLOC_REQ_ID",
      kTry));
}

Error no_allocation_to_extend(std::string_view id) {
  return Error{ErrorCode::kNotFound,
               fmt::format("there is no allocation {} to extend", quoted(id))};
}

Error allocation_of_others(std::string_view id) {
  return Error{ErrorCode::kPermissionDenied,
               fmt::format("allocation {} belongs to somebody else", quoted(id))};
}

Error nodes_of_others(std::string_view who) {
  return Error{ErrorCode::kPermissionDenied,
               fmt::format("{} may not release nodes that belong to others", who)};
}

Error node_is_reserved(std::string_view node, std::string_view allocation) {
  return Error{ErrorCode::kPermissionDenied,
               fmt::format("node {} is reserved by allocation {}", node, allocation)};
}

Error node_is_still_starting(std::string_view node) {
  return Error{
      ErrorCode::kUnavailable,
      fmt::format("node {} is still starting and can't be reserved{}again when tide status "
                  "says that it is up",
                  node, kTry)};
}

Error node_is_gone(std::string_view node) {
  return Error{ErrorCode::kNotFound, fmt::format("node {} is gone from the DVM", node)};
}

Error cancel_of_what() {
  return invalid(
      fmt::format("a request is to be cancelled, but not said which{}PMIX_ALLOC_REQ_ID", kTry));
}

Error no_request_to_cancel(std::string_view request) {
  return Error{ErrorCode::kNotFound,
               fmt::format("no request {} waits for nodes: there is none, or they are granted",
                           quoted(request))};
}

Error request_was_cancelled(std::string_view request) {
  return Error{ErrorCode::kUnavailable, fmt::format("request {} was cancelled", quoted(request))};
}

}  // namespace tide::say
