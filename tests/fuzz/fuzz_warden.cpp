// What a warden and a daemon are told through pipes, and what /proc says.
#include <cstring>
#include <map>
#include <utility>

#include "base/failpoints.hpp"
#include "base/params.hpp"
#include "exec/process_scan.hpp"
#include "exec/warden_protocol.hpp"
#include "tests/fuzz/fuzz_input.hpp"
#include "wire/link.pb.h"

namespace tide::fuzz {
namespace {

constexpr std::size_t kLengthBytes = 4;

// What was understood says the same when it is written again.
void read_frame(std::string_view frame) {
  if (const auto command = exec::decode_command(frame)) {
    FUZZ_REQUIRE(std::string_view(exec::encode(*command).text()).substr(kLengthBytes) == frame);
  }
  if (const auto report = exec::decode_report(frame)) {
    const std::string again = exec::encode(*report);
    FUZZ_REQUIRE(std::string_view(again).substr(kLengthBytes) == frame);
  }
}

void read_stream(Input input) {
  Cuts cuts(input.number());
  std::string_view bytes = input.rest();
  exec::WardenFrameReader reader;
  while (!bytes.empty()) {
    std::string_view piece = cuts.next(bytes);
    while (!piece.empty()) {
      const auto space = reader.free_space();
      const std::size_t count = std::min(space.size(), piece.size());
      std::memcpy(space.data(), piece.data(), count);
      piece.remove_prefix(count);
      if (!reader.filled(count)) return;
      if (const auto frame = reader.take_frame()) read_frame(frame->text());
    }
  }
}

void read_blob(Input input) {
  wire::DaemonBlob blob;
  if (!blob.ParseFromString(std::string(input.rest()))) return;
  const auto params = Params::from_map({blob.parameters().begin(), blob.parameters().end()});
  if (params) static_cast<void>(Failpoints::parse(params->get_string("tide_failpoint")));
}

void read_process_line(Input input) {
  const auto entry = exec::parse_process_stat(input.rest());
  if (entry) exec::descends_from({*entry}, entry->pid, 1);
}

}  // namespace
}  // namespace tide::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tide::fuzz::Input input(tide::fuzz::as_text(data, size));
  switch (input.byte()) {
    case 'b':
      tide::fuzz::read_blob(input);
      break;
    case 'p':
      tide::fuzz::read_process_line(input);
      break;
    case 'f':
      tide::fuzz::read_frame(input.rest());
      break;
    default:
      tide::fuzz::read_stream(input);
  }
  return 0;
}
