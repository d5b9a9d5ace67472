#include "exec/environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace tide::exec {
namespace {

// Up to so many directives that could be shared are applied per process rather than be a reason
// to build the shared part anew.
constexpr std::size_t kUnsharedLimit = 4;

bool same(const wire::EnvDirective& a, const wire::EnvDirective& b) {
  return a.kind() == b.kind() && a.name() == b.name() && a.value() == b.value() &&
         a.separator() == b.separator();
}

bool names(std::string_view entry, std::string_view name) {
  return entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name);
}

}  // namespace

Environment current_environment() {
  Environment result;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    result.emplace_back(*entry);
  }
  return result;
}

Environment apply_directives(const Environment& base,
                             std::span<const wire::EnvDirective> directives) {
  EnvironmentBlock block(base);
  for (const auto& directive : directives) block.apply(directive);
  return block.strings();
}

EnvironmentBlock::EnvironmentBlock(const Environment& base) {
  entries_.reserve(base.size() + 8);
  // execve() takes pointers to non-const characters and does not write to them.
  for (const auto& entry : base) entries_.push_back(const_cast<char*>(entry.c_str()));
  entries_.push_back(nullptr);
}

std::size_t EnvironmentBlock::index_of(std::string_view name) const {
  std::size_t index = 0;
  while (index < size() && !names(entries_[index], name)) ++index;
  return index;
}

std::optional<std::string_view> EnvironmentBlock::find(std::string_view name) const {
  const std::size_t index = index_of(name);
  if (index == size()) return std::nullopt;
  return std::string_view(entries_[index]).substr(name.size() + 1);
}

void EnvironmentBlock::set(std::string_view name, std::string_view value) {
  std::string& entry = owned_.emplace_back();
  entry.reserve(name.size() + value.size() + 1);
  entry.append(name).append("=").append(value);
  const std::size_t index = index_of(name);
  if (index == size()) entries_.push_back(nullptr);
  entries_[index] = entry.data();
}

void EnvironmentBlock::apply(const wire::EnvDirective& directive) {
  const std::string& name = directive.name();
  const std::string separator = directive.separator().empty() ? ":" : directive.separator();
  const auto present = find(name);
  const bool joins = present && !present->empty();
  switch (directive.kind()) {
    case wire::EnvDirective::UNSET:
      std::erase_if(entries_,
                    [&name](const char* entry) { return entry != nullptr && names(entry, name); });
      return;
    case wire::EnvDirective::PREPEND:
      set(name, joins ? directive.value() + separator + std::string(*present) : directive.value());
      return;
    case wire::EnvDirective::APPEND:
      set(name, joins ? std::string(*present) + separator + directive.value() : directive.value());
      return;
    case wire::EnvDirective::DEFAULT:
      if (!present) set(name, directive.value());
      return;
    default:
      set(name, directive.value());
      return;
  }
}

Environment EnvironmentBlock::strings() const {
  return {entries_.begin(), entries_.end() - 1};
}

EnvironmentCache::EnvironmentCache(Environment base) : base_(std::move(base)), prefix_(base_) {}

EnvironmentBlock EnvironmentCache::build(std::span<const wire::EnvDirective> directives) {
  const auto differ = std::ranges::mismatch(known_, directives, same);
  const auto common = static_cast<std::size_t>(differ.in1 - known_.begin());
  // Fewer in common than was applied: another job. Many more: the second process of a job shows
  // what its processes share. In between the shared part serves as it is.
  if (common < applied_ || common > applied_ + kUnsharedLimit ||
      (known_.empty() && !directives.empty())) {
    known_.assign(directives.begin(), directives.end());
    applied_ = common;
    prefix_ = apply_directives(base_, directives.first(common));
    ++rebuilds_;
  }
  EnvironmentBlock block(prefix_);
  for (const auto& directive : directives.subspan(applied_)) block.apply(directive);
  return block;
}

}  // namespace tide::exec
