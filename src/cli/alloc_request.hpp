// What tide alloc asks for, from its command line, and what it says when that has begun.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "cli/command_line.hpp"
#include "cli/json_text.hpp"
#include "wire/elastic.pb.h"

namespace tide::cli {

enum class AllocWord : std::uint8_t { kNew, kExtend, kRelease, kList, kCancel };
Result<AllocWord> alloc_word(const CommandLine& line);
std::string_view alloc_word_name(AllocWord word);

// Options that contradict each other, or that the word does not take.
Status check_alloc(const CommandLine& line);

// Of a command line that was checked, and asks for something. `dvm_id` is what the namespaces of
// the DVM's jobs begin with.
wire::AllocationRequest make_alloc_request(const CommandLine& line, const std::string& dvm_id);

std::string alloc_words(const CommandLine& line, const ShownChange& change);

}  // namespace tide::cli
