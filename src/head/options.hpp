// The command line of prte.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace tide::head {

struct HeadOptions {
  std::uint32_t nodes = 1;
  std::uint32_t slots = 0;  // 0: from the hardware
  std::string dvm_name;     // empty: made from the pid
  bool daemonize = false;
  bool show_progress = false;
  bool no_ready_message = false;
  bool one_shot = false;
  std::optional<int> keepalive_fd;  // the DVM ends when this pipe closes
  std::optional<int> ready_fd;      // gets a K when the DVM is ready
  std::string report_uri;           // a file, `-` standard output, `+` standard error
  std::string report_pid;
  std::vector<std::pair<std::string, std::string>> params;
};

// What a command line asks for: options, or a text to print (help, version).
struct ParsedOptions {
  HeadOptions options;
  std::optional<std::string> print;
};
Result<ParsedOptions> parse_options(int argc, const char* const* argv);

}  // namespace tide::head
