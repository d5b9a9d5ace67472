// Which DVM a command means, as said on its command line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "cli/command_line.hpp"

namespace tide::cli {

struct DvmChoice {
  enum class Kind : std::uint8_t {
    kOnlyOne,      // nothing said, or `search`
    kName,         // text
    kPid,          // pid
    kPidFile,      // text: a file that holds the pid
    kUri,          // text
    kUriFile,      // text: a file that holds the URI
    kNamespace,    // text: of the DVM itself or of one of its jobs
    kSystem,       // the machine's own DVM
    kSystemFirst,  // that one if there is one, else the only one running
  };
  Kind kind = Kind::kOnlyOne;
  std::string text;
  std::uint32_t pid = 0;

  bool operator==(const DvmChoice&) const = default;
};

// The value of --dvm. kInvalidArgument: it is none of the forms.
Result<DvmChoice> parse_dvm_choice(std::string_view text);

// From --dvm, --dvm-uri, --pid, --namespace and --system-server-*, of which one may be given.
Result<DvmChoice> dvm_choice(const CommandLine& line);

}  // namespace tide::cli
