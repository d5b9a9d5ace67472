// Parameters from a file, the environment, the command line; and the values themselves.
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "base/failpoints.hpp"
#include "base/params.hpp"
#include "base/text.hpp"
#include "tests/fuzz/fuzz_input.hpp"
#include "wire/link.pb.h"

namespace tide::fuzz {
namespace {

// A file that exists only as long as its descriptor.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view text) : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    FUZZ_REQUIRE(fd_ >= 0);
    FUZZ_REQUIRE(::write(fd_, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  MemoryFile(MemoryFile&&) = delete;
  MemoryFile& operator=(MemoryFile&&) = delete;
  ~MemoryFile() { ::close(fd_); }

  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

void ask_for_all(const Params& params) {
  for (const ParamEntry& entry : params.entries()) {
    const std::string_view name = entry.def->name;
    switch (entry.def->type) {
      case ParamType::kInt:
        static_cast<void>(params.get_int(name));
        break;
      case ParamType::kBool:
        static_cast<void>(params.get_bool(name));
        break;
      case ParamType::kDurationMs:
        human_duration_ms(params.get_duration_ms(name));
        break;
      case ParamType::kSizeBytes:
        static_cast<void>(params.get_size(name));
        break;
      default:
        static_cast<void>(params.get_string(name));
    }
  }
}

// The head passes on what it has taken: a daemon must take it as well, and mean the same.
void read_settings(const ParamInputs& inputs) {
  const auto params = Params::load(inputs);
  if (!params) {
    FUZZ_REQUIRE(!params.error().message.empty());
    return;
  }
  ask_for_all(*params);
  static_cast<void>(Failpoints::parse(params->get_string("tide_failpoint")));
  const auto set = params->explicitly_set();
  wire::DaemonBlob blob;
  blob.mutable_parameters()->insert(set.begin(), set.end());
  wire::DaemonBlob received;
  FUZZ_REQUIRE(received.ParseFromString(blob.SerializeAsString()));
  const auto at_daemon =
      Params::from_map({received.parameters().begin(), received.parameters().end()});
  FUZZ_REQUIRE(at_daemon.ok());
  FUZZ_REQUIRE(at_daemon->explicitly_set() == set);
}

void read_file(std::string_view text) {
  const MemoryFile file(text);
  ParamInputs inputs;
  inputs.user_file = file.path();
  read_settings(inputs);
}

// Lines NAME=VALUE, as variables and as words of a command line by turns.
void read_assignments(std::string_view text) {
  ParamInputs inputs;
  for (const std::string& line : split(text, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos || inputs.environment.size() > inputs.command_line.size()) {
      inputs.command_line.emplace_back(line.substr(0, equals),
                                       equals == std::string::npos ? "" : line.substr(equals + 1));
    } else {
      inputs.environment.push_back("PRTE_MCA_" + line);
    }
  }
  read_settings(inputs);
}

void read_value(std::string_view text) {
  if (const auto number = parse_int(text)) {
    FUZZ_REQUIRE(parse_int(std::to_string(*number)).value() == *number);
  }
  static_cast<void>(parse_bool(text));
  if (const auto duration_ms = parse_duration_ms(text)) human_duration_ms(*duration_ms);
  if (const auto bytes = parse_size_bytes(text)) {
    FUZZ_REQUIRE(parse_size_bytes(std::to_string(*bytes)).value() == *bytes);
  }
}

}  // namespace
}  // namespace tide::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tide::fuzz::Input input(tide::fuzz::as_text(data, size));
  switch (input.byte()) {
    case 'v':
      tide::fuzz::read_value(input.rest());
      break;
    case 'f':
      tide::fuzz::read_file(input.rest());
      break;
    default:
      tide::fuzz::read_assignments(input.rest());
  }
  return 0;
}
