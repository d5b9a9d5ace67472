#include "base/result.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tide {

const char* error_code_name(ErrorCode code) {
  static constexpr std::array kNames = {
      "ok",          "invalid-argument", "not-found", "already-exists",  "permission-denied",
      "unavailable", "out-of-resources", "timed-out", "connection-lost", "connection-refused",
      "protocol",    "system",           "internal",  "not-supported"};
  const auto index = static_cast<std::size_t>(code);
  return index < kNames.size() ? kNames[index] : "unknown";
}

Error system_error(std::string what, int errnum) {
  std::array<char, 128> text{};
  // The GNU variant returns the text to use, which need not be in our buffer.
  const char* words = strerror_r(errnum, text.data(), text.size());
  what += ": ";
  what += words;
  return Error{ErrorCode::kSystem, std::move(what)};
}

namespace {
void (*check_failure_handler)(const char* text) = nullptr;
}  // namespace

void set_check_failure_handler(void (*handler)(const char* text)) {
  check_failure_handler = handler;
}

void check_failed(const char* condition, const char* file, int line) {
  if (check_failure_handler != nullptr) {
    const std::string text =
        std::string(condition) + " does not hold at " + file + ":" + std::to_string(line);
    check_failure_handler(text.c_str());
  }
  std::fprintf(stderr, "tide: internal error: %s does not hold at %s:%d\n", condition, file, line);
  std::abort();
}

}  // namespace tide
