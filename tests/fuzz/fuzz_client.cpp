// The local socket: requests as the head gets them, replies as the client gets and shows them.
#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/job_output.hpp"
#include "cli/json_text.hpp"
#include "cli/status_text.hpp"
#include "cli/watch_json.hpp"
#include "cli/watch_text.hpp"
#include "net/frame.hpp"
#include "net/protocol.hpp"
#include "tests/fuzz/fuzz_input.hpp"
#include "wire/client.pb.h"

namespace tide::fuzz {
namespace {

std::vector<net::RawMessage> take_messages(std::string_view bytes, Cuts cuts, std::size_t limit) {
  net::FrameDecoder decoder(limit);
  std::vector<net::RawMessage> messages;
  while (!bytes.empty() && decoder.feed(cuts.next(bytes), messages)) {
  }
  return messages;
}

void read_requests(Input input) {
  const Cuts cuts(input.number());
  for (const auto& raw : take_messages(input.rest(), cuts, net::kMaxHelloBytes)) {
    wire::ClientRequest request;
    if (!request.ParseFromString(raw.header)) continue;
    static_cast<void>(
        net::check_protocol(request.hello().protocol(), request.hello().protocol_minimum()));
    wire::ClientRequest again;
    FUZZ_REQUIRE(again.ParseFromString(request.SerializeAsString()));
  }
}

bool is_json(const std::string& text) {
  return nlohmann::json::accept(text);
}

void show_status(const wire::StatusReply& status) {
  cli::status_text(status);
  cli::jobs_text(status, true);
  cli::jobs_text(status, false);
  FUZZ_REQUIRE(is_json(cli::status_json(status)));
  FUZZ_REQUIRE(is_json(cli::jobs_json(status)));
}

void show_params(const wire::ParamsReply& reply) {
  std::vector<cli::ShownParam> params;
  for (const auto& param : reply.params()) {
    params.push_back({param.name(), param.value(), param.source(), "string", ""});
  }
  cli::params_text(params);
  cli::params_parsable(params);
  FUZZ_REQUIRE(is_json(cli::params_json(params)));
}

bool is_json_lines(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos || !is_json(text.substr(at, end - at))) return false;
    at = end + 1;
  }
  return true;
}

void show_watched(const wire::ClientReply& reply) {
  cli::explain_text(reply.explain());
  FUZZ_REQUIRE(is_json(cli::explain_json(reply.explain())));
  const std::vector<wire::JobProcs> jobs(reply.procs().jobs().begin(), reply.procs().jobs().end());
  cli::procs_text(jobs);
  FUZZ_REQUIRE(is_json(cli::procs_json(jobs)));
  constexpr std::uint64_t kSomeday = 1'700'000'000'000;
  cli::events_text(reply.events(), kSomeday);
  FUZZ_REQUIRE(is_json_lines(cli::events_json(reply.events(), kSomeday)));
  FUZZ_REQUIRE(is_json_lines(cli::recorder_json(reply.recorder())));
}

// Output of a job, by its real way to a descriptor that takes everything.
class Screen {
 public:
  explicit Screen(std::uint8_t style)
      : fd_(::open("/dev/null", O_WRONLY | O_CLOEXEC)),
        output_({.tag = (style & 1U) != 0, .merge_stderr = (style & 2U) != 0}, fd_, fd_) {
    FUZZ_REQUIRE(fd_ >= 0);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  Screen(Screen&&) = delete;
  Screen& operator=(Screen&&) = delete;
  ~Screen() {
    output_.finish();
    while (!output_.empty()) FUZZ_REQUIRE(output_.write().ok());
    ::close(fd_);
  }

  void take(const wire::ClientReply& reply, Bytes payload) {
    if (reply.has_output()) {
      const auto& chunk = reply.output();
      output_.take({chunk.job(), chunk.rank(), chunk.stream()}, std::move(payload), chunk.eof());
    }
    if (reply.has_ended()) {
      for (const std::string& message : reply.ended().messages()) output_.say(message);
    }
    FUZZ_REQUIRE(output_.write().ok());
    output_.grants();
  }

 private:
  int fd_;
  cli::JobOutput output_;
};

void read_replies(Input input) {
  const Cuts cuts(input.number());
  Screen screen(input.byte());
  for (const auto& raw : take_messages(input.rest(), cuts, std::size_t{1} << 20U)) {
    wire::ClientReply reply;
    if (!reply.ParseFromString(raw.header)) return;
    if (reply.has_status()) show_status(reply.status());
    if (reply.has_params()) show_params(reply.params());
    show_watched(reply);
    if (reply.has_error()) {
      const Error error{static_cast<ErrorCode>(reply.error().code()), reply.error().message()};
      FUZZ_REQUIRE(is_json(cli::error_json(error)));
    }
    screen.take(reply, raw.payload);
  }
}

}  // namespace
}  // namespace tide::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tide::fuzz::Input input(tide::fuzz::as_text(data, size));
  if ((input.byte() & 1U) == 0) {
    tide::fuzz::read_requests(input);
  } else {
    tide::fuzz::read_replies(input);
  }
  return 0;
}
