#include "pmix/allocation_request.hpp"

#include <tide/pmix_keys.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "hosts/hostfile.hpp"
#include "hosts/wire_words.hpp"
#include "pmix/own_keys.hpp"
#include "pmix/reading.hpp"
#include "pmix/values.hpp"

namespace tide::pmix {
namespace {

using wire::AllocationRequest;

std::optional<AllocationRequest::What> what_of(pmix_alloc_directive_t directive) {
  if (directive == PMIX_ALLOC_NEW) return AllocationRequest::NEW;
  if (directive == PMIX_ALLOC_EXTEND) return AllocationRequest::EXTEND;
  if (directive == PMIX_ALLOC_RELEASE) return AllocationRequest::RELEASE;
  if (directive == alloc_req_cancel_directive()) return AllocationRequest::CANCEL;
  return std::nullopt;
}

pmix_status_t read_count(const pmix_value_t& value, AllocationRequest& request) {
  const auto number = integer_in(value);
  if (!number || *number <= 0) return PMIX_ERR_BAD_PARAM;
  // More than anybody has: refused as such.
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  request.set_count(static_cast<std::uint32_t>(std::min(*number, kMost)));
  return PMIX_SUCCESS;
}

pmix_status_t read_nodes(const pmix_value_t& value, AllocationRequest& request) {
  const auto text = text_in(value);
  const auto words = text ? hosts::parse_host_list(*text, PMIX_ALLOC_NODE_LIST)
                          : Result<std::vector<hosts::HostWord>>(Error{});
  if (!words || words->empty()) return PMIX_ERR_BAD_PARAM;
  request.clear_hosts();
  for (const auto& word : *words) *request.add_hosts() = hosts::to_wire(word);
  return PMIX_SUCCESS;
}

pmix_status_t read_id(const pmix_value_t& value, std::string& id) {
  auto text = text_in(value);
  if (!text || text->empty()) return PMIX_ERR_BAD_PARAM;
  id = std::move(*text);
  return PMIX_SUCCESS;
}

pmix_status_t read_share(const pmix_value_t& value, AllocationRequest& request) {
  const auto flag = flag_in(value);
  if (!flag) return PMIX_ERR_BAD_PARAM;
  request.set_share(*flag);
  return PMIX_SUCCESS;
}

pmix_status_t read_target(const pmix_value_t& value, AllocationRequest& request) {
  return read_id(value, *request.mutable_target());
}

// Whatever is not one of those we know would be another end of the allocation than is believed.
pmix_status_t read_inheritance(const pmix_value_t& value, AllocationRequest& request) {
  const auto named = inheritance_in(value);
  if (!named) return PMIX_ERR_NOT_SUPPORTED;
  request.set_inheritance(static_cast<std::uint32_t>(*named));
  return PMIX_SUCCESS;
}

pmix_status_t read_time(const pmix_value_t& value, AllocationRequest& request) {
  std::uint32_t time_ms = 0;
  const pmix_status_t status = read_clock_ms(value, time_ms);
  request.set_time_ms(time_ms);
  return status;
}

pmix_status_t read_warning(const pmix_value_t& value, AllocationRequest& request) {
  std::uint32_t warn_ms = 0;
  const pmix_status_t status = read_span_ms(value, warn_ms);
  request.set_warn_ms(warn_ms);
  return status;
}

using Reader = pmix_status_t (*)(const pmix_value_t&, AllocationRequest&);

// Of what is said about an allocation as long as it is there. Null for everything else.
Reader reader_of_lasting(std::string_view key) {
  if (key == alloc_target_key()) return read_target;
  if (key == alloc_inheritance_key()) return read_inheritance;
  if (key == PMIX_ALLOC_TIME) return read_time;
  if (key == alloc_warn_timeout_key()) return read_warning;
  return nullptr;
}

pmix_status_t read_entry(const pmix_info_t& info, wire::ServiceRequest& request) {
  const std::string_view key = key_of(info);
  AllocationRequest& wanted = *request.mutable_allocation();
  if (key == PMIX_ALLOC_NUM_NODES) return read_count(info.value, wanted);
  if (key == PMIX_ALLOC_NODE_LIST) return read_nodes(info.value, wanted);
  if (key == PMIX_ALLOC_ID) return read_id(info.value, *wanted.mutable_allocation());
  if (key == PMIX_ALLOC_REQ_ID) return read_id(info.value, *wanted.mutable_request_id());
  if (key == TIDE_SCHEDULER_KEY) return read_id(info.value, *wanted.mutable_scheduler_key());
  if (key == alloc_share_key()) return read_share(info.value, wanted);
  if (key == PMIX_TIMEOUT) {
    std::uint32_t timeout_ms = 0;
    const pmix_status_t status = read_timeout_ms(info.value, timeout_ms);
    request.set_timeout_ms(timeout_ms);
    return status;
  }
  if (const Reader read = reader_of_lasting(key)) {
    const bool lasts =
        wanted.what() == AllocationRequest::NEW || wanted.what() == AllocationRequest::EXTEND;
    return lasts ? read(info.value, wanted) : PMIX_SUCCESS;
  }
  return is_required(info) ? PMIX_ERR_NOT_SUPPORTED : PMIX_SUCCESS;
}

// By nodes or by time, or what becomes of it, or when to be told of its end.
bool extends(const AllocationRequest& request, int nodes) {
  const int by = nodes + static_cast<int>(request.time_ms() > 0);
  return by == 1 || (by == 0 && (request.inheritance() > 0 || request.warn_ms() > 0));
}

// Which nodes: in one way, and for what is released or extended which allocation that is about. Who
// may ask for it is nothing that can be told here.
bool says_enough(const AllocationRequest& request) {
  const int nodes =
      static_cast<int>(request.count() > 0) + static_cast<int>(!request.hosts().empty());
  const bool named = !request.allocation().empty();
  const bool called = !request.request_id().empty();
  switch (request.what()) {
    case AllocationRequest::NEW:
      return nodes == 1;
    case AllocationRequest::EXTEND:
      return (named || called) && extends(request, nodes);
    case AllocationRequest::RELEASE:
      return nodes + static_cast<int>(named) == 1 || (nodes == 0 && called);
    case AllocationRequest::CANCEL:
      return called;
    default:
      return false;
  }
}

}  // namespace

pmix_status_t read_allocation(pmix_alloc_directive_t directive, const pmix_info_t* info,
                              std::size_t count, wire::ServiceRequest& request) {
  const auto what = what_of(directive);
  if (!what) return PMIX_ERR_NOT_SUPPORTED;
  request.mutable_allocation()->set_what(*what);
  for (std::size_t index = 0; index < count; ++index) {
    const pmix_status_t status = read_entry(info[index], request);
    if (status != PMIX_SUCCESS) return status;
  }
  return says_enough(request.allocation()) ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
}

Result<InfoArray> allocation_answer(const wire::AllocationAnswer& answer) {
  InfoList list;
  if (!answer.allocation().empty()) list.text(PMIX_ALLOC_ID, answer.allocation());
  if (!answer.request_id().empty()) list.text(PMIX_ALLOC_REQ_ID, answer.request_id());
  list.flag(TIDE_ALLOC_COMPLETE, answer.complete());
  return list.finish();
}

}  // namespace tide::pmix
