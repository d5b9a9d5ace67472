// The values of options as people write them: in any case, shortened to a unique prefix.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "wire/job.pb.h"

namespace tide::cli {

// Position of the one among `words` that `word` is or begins. `what` names the value in messages,
// which offer the first `built` of the words.
Result<std::size_t> match_word(std::string_view word, std::span<const std::string_view> words,
                               std::string_view what, std::size_t built);

// A whole number within bounds; `what` names it in messages.
Result<std::uint32_t> parse_count(std::string_view text, std::string_view what,
                                  std::uint32_t minimum, std::uint32_t maximum);

// A directive or qualifier: `over=no` is word "over", value "no".
struct Directive {
  std::string_view word;
  std::optional<std::string_view> value;
};
Directive split_directive(std::string_view text);
Result<bool> directive_bool(const Directive& directive);  // without a value: yes

struct MapPolicy {
  wire::JobSpec::MapBy map_by = wire::JobSpec::SLOT;
  std::optional<bool> oversubscribe;  // not given: no word about it
  bool only_display = false;          // start nothing
};
// `slot`, `node:OVERSUBSCRIBE`, `:NOOVERSUBSCRIBE`, `slot:over=no`.
Result<MapPolicy> parse_map_by(std::string_view text);

struct OutputStyle {
  bool tag = false;
  bool merge_stderr = false;
  bool operator==(const OutputStyle&) const = default;
};
// Adds the directives in `text`, a list, to `style`.
Status parse_output(std::string_view text, OutputStyle& style);

// A rank, or `none`, which is -1.
Result<std::int32_t> parse_stdin_rank(std::string_view text);

// `TERM`, `SIGTERM`, `15`.
Result<int> parse_signal(std::string_view text);

// Names or numbers; `none` is an empty list.
Result<std::vector<int>> parse_forwarded_signals(std::string_view text);

// What --display may show: the map.
Status parse_display(std::string_view text, wire::JobSpec& job);

// Whether the variables of Open MPI are wanted.
Result<bool> parse_personality(std::string_view text);

// A duration that fits the wire.
Result<std::uint32_t> parse_timeout_ms(std::string_view text, std::string_view option);

// A job number, or a namespace that ends with `@` and a number.
struct JobName {
  std::uint32_t number = 0;  // 0: by namespace
  std::string_view nspace;
};
Result<JobName> parse_job_name(std::string_view text);

// What tide explain is about: a job, a change (`change:4`, `grow:4`, `shrink:4`) or an allocation
// (`a1`).
struct ExplainName {
  std::optional<JobName> job;
  std::uint32_t change = 0;     // 0: none
  std::string_view allocation;  // empty: none
};
Result<ExplainName> parse_explain_name(std::string_view text);

}  // namespace tide::cli
