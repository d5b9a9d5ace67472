#include "cli/alloc_request.hpp"

#include <array>
#include <utility>
#include <vector>

#include "cli/change.hpp"
#include "cli/values.hpp"
#include "hosts/wire_words.hpp"
#include "say/campaigns.hpp"
#include "say/command_line.hpp"
#include "say/pool.hpp"
#include "say/reserving.hpp"

namespace tide::cli {
namespace {

// By AllocWord.
constexpr std::array<std::string_view, 5> kWords = {"new", "extend", "release", "list", "cancel"};
// By the numbers that PMIx gives them, from 1.
constexpr std::array<std::string_view, 4> kInheritances = {"none", "child", "default",
                                                           "child-default"};

using WordSet = std::uint32_t;
constexpr WordSet only(AllocWord word) {
  return static_cast<WordSet>(1U << static_cast<unsigned>(word));
}

constexpr WordSet kMakers = only(AllocWord::kNew) | only(AllocWord::kExtend);
constexpr WordSet kChangers = kMakers | only(AllocWord::kRelease);

// Who takes which of the options that not all take.
constexpr std::array kTakers = {
    std::pair{Option::kCount, kChangers},
    std::pair{Option::kHost, kChangers},
    std::pair{Option::kRequestId, kChangers},
    std::pair{Option::kWait, kChangers},
    std::pair{Option::kAllocation, kChangers & ~only(AllocWord::kNew)},
    std::pair{Option::kShare, only(AllocWord::kNew)},
    std::pair{Option::kOwner, kMakers},
    std::pair{Option::kInherit, kMakers},
    std::pair{Option::kLeaseTime, kMakers},
    std::pair{Option::kLeaseWarn, kMakers},
};

std::vector<std::string> names_of(WordSet words) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < kWords.size(); ++i) {
    if ((words & only(static_cast<AllocWord>(i))) != 0) out.emplace_back(kWords[i]);
  }
  return out;
}

Status check_options(const CommandLine& line, AllocWord word) {
  for (const auto& [option, takers] : kTakers) {
    const GivenOption* given = line.find(option);
    if (given == nullptr || (takers & only(word)) != 0) continue;
    return say::only_for_alloc(given->spelling, alloc_word_name(word), names_of(takers));
  }
  return ok_status();
}

Result<std::uint32_t> inheritance_of(const CommandLine& line) {
  const GivenOption* given = line.find(Option::kInherit);
  if (given == nullptr) return 0U;
  const auto index =
      match_word(given->value, kInheritances, "value of --inherit", kInheritances.size());
  if (!index) return index.error();
  return static_cast<std::uint32_t>(*index) + 1;
}

Status check_option_values(const CommandLine& line) {
  for (const auto& [option, name] : {std::pair{Option::kAllocation, "ID"},
                                     {Option::kRequestId, "NAME"},
                                     {Option::kOwner, "NAMESPACE"}}) {
    const GivenOption* given = line.find(option);
    if (given != nullptr && given->value.empty()) return say::empty_value(given->spelling, name);
  }
  const auto inheritance = inheritance_of(line);
  return inheritance ? ok_status() : Status(inheritance.error());
}

// The one that is given; null if none is.
Result<const GivenOption*> one_of(const CommandLine& line, std::initializer_list<Option> options) {
  const GivenOption* found = nullptr;
  for (const Option option : options) {
    const GivenOption* given = line.find(option);
    if (given == nullptr) continue;
    if (found != nullptr) return say::change_by_two(found->spelling, given->spelling);
    found = given;
  }
  return found;
}

Status check_new(const CommandLine& line) {
  const auto which = one_of(line, {Option::kCount, Option::kHost});
  if (!which) return which.error();
  if (*which == nullptr) return say::change_of_nothing("tide alloc new", false);
  return ok_status();
}

// Named by its id or by the name of the request; with an id the name is this request's
Status check_extend(const CommandLine& line) {
  if (!line.has(Option::kAllocation) && !line.has(Option::kRequestId)) {
    return say::extension_of_what();
  }
  const auto which = one_of(line, {Option::kCount, Option::kHost});
  if (!which) return which.error();
  const GivenOption* time = line.find(Option::kLeaseTime);
  if (*which != nullptr && time != nullptr) {
    return say::extended_by_nodes_and_time((*which)->spelling, time->spelling);
  }
  const bool changes_terms = line.has(Option::kInherit) || line.has(Option::kLeaseWarn);
  if (*which == nullptr && time == nullptr && !changes_terms) return say::extended_by_nothing();
  return ok_status();
}

Status check_release(const CommandLine& line) {
  const auto which =
      one_of(line, {Option::kAllocation, Option::kRequestId, Option::kCount, Option::kHost});
  if (!which) return which.error();
  if (*which == nullptr) return say::release_of_what();
  return ok_status();
}

std::string namespace_of(std::string_view owner, const std::string& dvm_id) {
  const Result<JobName> job = parse_job_name(owner);
  if (!job || job->number == 0) return std::string(owner);
  return dvm_id + "@" + std::to_string(job->number);
}

std::string words_of_new(const CommandLine& line, const ShownChange& change) {
  if (line.has(Option::kShare)) {
    return change.complete
               ? say::nodes_are_shared(change.nodes, change.allocation)
               : say::change_begun(false, own_nodes(change), change.allocation, change.already);
  }
  return change.complete
             ? say::nodes_are_reserved(change.nodes, change.allocation)
             : say::nodes_being_reserved(own_nodes(change), change.already, change.allocation);
}

std::string words_of_extend(const ShownChange& change) {
  return change.complete
             ? say::allocation_has_nodes(change.allocation, change.nodes)
             : say::allocation_gets_nodes(change.allocation, own_nodes(change), change.already);
}

}  // namespace

Result<AllocWord> alloc_word(const CommandLine& line) {
  const std::vector<std::string>& operands = line.apps.front().argv;
  if (operands.empty()) return say::needs_alloc_word();
  const auto index = match_word(operands[0], kWords, "word of tide alloc", kWords.size());
  if (!index) return index.error();
  return static_cast<AllocWord>(*index);
}

std::string_view alloc_word_name(AllocWord word) {
  return kWords.at(static_cast<std::size_t>(word));
}

Status check_alloc(const CommandLine& line) {
  const auto word = alloc_word(line);
  if (!word) return word.error();
  if (Status status = check_options(line, *word); !status) return status;
  if (Status status = check_option_values(line); !status) return status;
  const std::vector<std::string>& operands = line.apps.front().argv;
  const std::size_t most = *word == AllocWord::kCancel ? 2 : 1;
  if (operands.size() > most) return say::one_word_too_many(operands[most]);
  switch (*word) {
    case AllocWord::kNew:
      return check_new(line);
    case AllocWord::kExtend:
      return check_extend(line);
    case AllocWord::kRelease:
      return check_release(line);
    case AllocWord::kCancel:
      return operands.size() == 2 && !operands[1].empty() ? ok_status()
                                                          : Status(say::which_request());
    case AllocWord::kList:
      break;
  }
  return ok_status();
}

wire::AllocationRequest make_alloc_request(const CommandLine& line, const std::string& dvm_id) {
  const AllocWord word = alloc_word(line).value();
  wire::AllocationRequest request;
  request.set_what(word == AllocWord::kNew       ? wire::AllocationRequest::NEW
                   : word == AllocWord::kExtend  ? wire::AllocationRequest::EXTEND
                   : word == AllocWord::kRelease ? wire::AllocationRequest::RELEASE
                                                 : wire::AllocationRequest::CANCEL);
  if (word == AllocWord::kCancel) request.set_request_id(line.apps.front().argv.back());
  if (const GivenOption* given = line.find(Option::kRequestId)) {
    request.set_request_id(given->value);
  }
  if (const GivenOption* given = line.find(Option::kAllocation)) {
    request.set_allocation(given->value);
  }
  request.set_count(count_of(line));
  for (const hosts::HostWord& host : words_of(line)) *request.add_hosts() = hosts::to_wire(host);
  request.set_share(line.has(Option::kShare));
  if (const GivenOption* given = line.find(Option::kOwner)) {
    request.set_target(namespace_of(given->value, dvm_id));
  }
  request.set_inheritance(inheritance_of(line).value());
  request.set_time_ms(time_of(line, Option::kLeaseTime));
  request.set_warn_ms(time_of(line, Option::kLeaseWarn));
  return request;
}

std::string alloc_words(const CommandLine& line, const ShownChange& change) {
  const AllocWord word = alloc_word(line).value();
  if (word == AllocWord::kCancel) {
    return say::request_is_taken_back(line.apps.front().argv.back());
  }
  if (word == AllocWord::kRelease) return words_of_shrink(change);
  const bool gets_nodes = line.has(Option::kCount) || line.has(Option::kHost);
  if (line.has(Option::kLeaseTime) && !gets_nodes) {
    return say::lease_extended(change.allocation, change.lease_ms);
  }
  if (!gets_nodes) return say::terms_are_changed(change.allocation);
  std::string text = word == AllocWord::kNew ? words_of_new(line, change) : words_of_extend(change);
  if (change.lease_ms > 0) text += "\n" + say::lease_of_grow(change.lease_ms);
  return text;
}

}  // namespace tide::cli
