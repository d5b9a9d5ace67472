#include "daemon/remote_start.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <utility>

#include "daemon/node_start.hpp"
#include "daemon/session_input.hpp"
#include "exec/warden_protocol.hpp"
#include "launch/remote_session.hpp"
#include "wire/link.pb.h"

namespace tide::daemon {
namespace {

// People read it as it is: the last lines of a session.
class RemoteVoice : public NodeVoice {
 public:
  int fail(const std::string& text) override {
    std::fprintf(stderr, "prted: %s\n", text.c_str());
    return launch::kRemoteFailed;
  }
  void last_words(const std::string& line) override { std::fprintf(stderr, "%s\n", line.c_str()); }
  void joined(pid_t pid) override { write_all(STDOUT_FILENO, launch::joined_text(pid)); }
};

Result<wire::DaemonBlob> read_blob() {
  auto text = read_framed(exec::kMaxBlobBytes);
  if (!text) return text.error();
  wire::DaemonBlob blob;
  if (!blob.ParseFromString(text->text()) || blob.rank() == 0 || blob.node().empty()) {
    return Error{ErrorCode::kProtocol, "standard input does not hold what a head sends"};
  }
  return blob;
}

}  // namespace

int run_remote(const std::string& version) {
  RemoteVoice voice;
  if (auto guarded = guard_session(); !guarded) return voice.fail(guarded.error().message);
  if (!write_all(STDOUT_FILENO, launch::greeting_text({launch::kRemoteProtocol, version}))) {
    return voice.fail("nobody reads standard output");
  }
  auto blob = read_blob();
  if (!blob) return voice.fail(blob.error().message);
  return start_node(std::move(*blob), voice).status;
}

}  // namespace tide::daemon
