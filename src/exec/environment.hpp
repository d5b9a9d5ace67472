// The environment of a process: that of the daemon, changed by the directives of its job.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wire/job.pb.h"

namespace tide::exec {

using Environment = std::vector<std::string>;  // "NAME=value" each

// The environment of this program as it is now.
Environment current_environment();

// `base` changed by `directives` in their order. PREPEND and APPEND put value and separator
// (default ':') before or after what is there; where nothing is there they set the value.
Environment apply_directives(const Environment& base,
                             std::span<const wire::EnvDirective> directives);

// An environment in the form that execve() takes.
class EnvironmentBlock {
 public:
  // Refers to the strings of `base`, which must outlive it.
  explicit EnvironmentBlock(const Environment& base);
  explicit EnvironmentBlock(Environment&& base) = delete;
  EnvironmentBlock(const EnvironmentBlock&) = delete;
  EnvironmentBlock& operator=(const EnvironmentBlock&) = delete;
  EnvironmentBlock(EnvironmentBlock&&) noexcept = default;
  EnvironmentBlock& operator=(EnvironmentBlock&&) noexcept = default;
  ~EnvironmentBlock() = default;

  void apply(const wire::EnvDirective& directive);
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const;
  // Ends with a null pointer. Valid until the next apply().
  [[nodiscard]] char* const* pointers() const { return entries_.data(); }
  [[nodiscard]] Environment strings() const;

 private:
  [[nodiscard]] std::size_t index_of(std::string_view name) const;
  [[nodiscard]] std::size_t size() const { return entries_.size() - 1; }
  void set(std::string_view name, std::string_view value);

  std::vector<char*> entries_;     // null-terminated
  std::deque<std::string> owned_;  // what directives made; a deque's elements stay where they are
};

// Environments for many processes of the same job: what their directives have in common is applied
// once, not once per process.
class EnvironmentCache {
 public:
  explicit EnvironmentCache(Environment base);

  // The base changed by `directives`. Valid until the next call.
  EnvironmentBlock build(std::span<const wire::EnvDirective> directives);

  [[nodiscard]] std::size_t rebuilds() const { return rebuilds_; }

 private:
  Environment base_;
  std::vector<wire::EnvDirective> known_;  // the directives of the last rebuild
  std::size_t applied_ = 0;                // so many of them are in prefix_
  Environment prefix_;
  std::size_t rebuilds_ = 0;
};

}  // namespace tide::exec
