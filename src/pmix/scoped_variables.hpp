// Environment variables that are set for a while.
#pragma once

#include <stdlib.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

namespace tide::pmix {

class ScopedVariables {
 public:
  ScopedVariables() = default;
  ScopedVariables(const ScopedVariables&) = delete;
  ScopedVariables& operator=(const ScopedVariables&) = delete;
  ~ScopedVariables() {
    for (const auto& [name, value] : before_) {
      if (value) {
        ::setenv(name.c_str(), value->c_str(), 1);
      } else {
        ::unsetenv(name.c_str());
      }
    }
  }

  // Each name once.
  void set(const std::string& name, const std::string& value) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): before there are other threads that look at it
    const char* old = std::getenv(name.c_str());
    before_.push_back({name, old != nullptr ? std::optional<std::string>(old) : std::nullopt});
    ::setenv(name.c_str(), value.c_str(), 1);
  }

 private:
  struct Before {
    std::string name;
    std::optional<std::string> value;
  };
  std::vector<Before> before_;
};

}  // namespace tide::pmix
