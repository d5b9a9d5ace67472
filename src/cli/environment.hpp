// What -x, --set-env and their kin say about the environment of the processes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cli/command_line.hpp"
#include "wire/job.pb.h"

namespace tide::cli {

// The client's own environment: a null-terminated array such as environ.
class Environment {
 public:
  explicit Environment(const char* const* entries) : entries_(entries) {}

  [[nodiscard]] std::optional<std::string_view> get(std::string_view name) const;
  // "NAME=VALUE" of all whose name begins with `prefix`, in the order of the environment.
  [[nodiscard]] std::vector<std::string_view> with_prefix(std::string_view prefix) const;

 private:
  const char* const* entries_;
};

// The directives of one program in the order given; other options are passed over. A variable that
// -x names and that is not set gets no directive and a line in `warnings`.
// In -x a list ends at the first '=': `A,B=1,2` forwards A and sets B to "1,2".
Result<std::vector<wire::EnvDirective>> environment_directives(
    const std::vector<GivenOption>& options, const Environment& environment,
    std::vector<std::string>& warnings);

}  // namespace tide::cli
