#include "cli/job_targets.hpp"

#include <algorithm>
#include <vector>

#include "base/text.hpp"
#include "say/reserving.hpp"

namespace tide::cli {
namespace {

bool means_default_session(std::string_view word) {
  constexpr std::string_view kWord = "default";
  return std::ranges::equal(word, kWord, [](char c, char wanted) {
    return (c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c) == wanted;
  });
}

// Each once.
void add_target(const std::string& id, wire::Targets& targets) {
  if (std::ranges::find(targets.allocations(), id) == targets.allocations().end()) {
    targets.add_allocations(id);
  }
}

}  // namespace

Status take_targets(const CommandLine& line, wire::JobSpec& job) {
  const GivenOption* given = line.find(Option::kTarget);
  if (given == nullptr) return ok_status();
  wire::Targets& targets = *job.mutable_targets();
  for (const std::string& word : split(given->value, ',')) {
    if (word.empty()) return say::target_without_name(given->spelling, given->value);
    if (means_default_session(word)) {
      targets.set_default_session(true);
    } else {
      add_target(word, targets);
    }
  }
  return ok_status();
}

Status aim_at_request(const wire::StatusReply& status, const std::string& request,
                      wire::JobSpec& job) {
  std::vector<std::string> reserved;
  std::string shared;
  for (const wire::AllocationStatus& one : status.allocations()) {
    if (one.request_id() != request) continue;
    if (one.reserved()) {
      reserved.push_back(one.name());
    } else {
      shared = one.name();
    }
  }
  if (reserved.size() > 1) return say::several_reservations_of_request(request, reserved);
  if (reserved.empty()) {
    return shared.empty() ? say::no_reservation_of_request(request)
                          : say::request_is_shared(request, shared);
  }
  add_target(reserved.front(), *job.mutable_targets());
  return ok_status();
}

}  // namespace tide::cli
