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

struct MapPolicy {
  wire::JobSpec::MapBy map_by = wire::JobSpec::SLOT;
  std::optional<bool> oversubscribe;  // not given: no word about it
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

// `a:2,b`: without a number as many slots as the node has.
Result<std::vector<wire::HostRequest>> parse_hosts(std::string_view text);

// A rank, or `none`, which is -1.
Result<std::int32_t> parse_stdin_rank(std::string_view text);

// `TERM`, `SIGTERM`, `15`.
Result<int> parse_signal(std::string_view text);

// A duration that fits the wire.
Result<std::uint32_t> parse_timeout_ms(std::string_view text);

// A job number, or a namespace that ends with `@` and a number.
struct JobName {
  std::uint32_t number = 0;  // 0: by namespace
  std::string_view nspace;
};
Result<JobName> parse_job_name(std::string_view text);

}  // namespace tide::cli
