// The thin client's end of the local socket. Nothing here waits except connect() and receive(), and
// both are bounded; a client may send more than the head takes at the moment without a deadlock.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "net/frame.hpp"
#include "wire/client.pb.h"

namespace tide::net {

class LocalChannel {
 public:
  struct Incoming {
    wire::ClientReply reply;
    Bytes payload;
  };

  // Connects to the socket at `path` and introduces the client as `program`. Errors: kNotFound (no
  // such socket), kConnectionRefused (nobody listens), kPermissionDenied, kTimedOut, kProtocol, or
  // what the head answered.
  static Result<LocalChannel> connect(const std::string& path, std::uint32_t timeout_ms,
                                      const std::string& program);

  // Queues the request and writes what the socket takes now; never waits.
  Status send(const wire::ClientRequest& request, std::string_view payload = {});

  // The next reply in order, or nothing when none came within `timeout_ms` (0: do not wait). Writes
  // what is queued meanwhile. After the last reply the end of the connection is kConnectionLost.
  Result<std::optional<Incoming>> receive(std::uint32_t timeout_ms);

  // Writes what is queued and takes in what has arrived, without waiting. For callers that poll
  // fd() themselves: readable always, writable while wants_write(); receive(0) then gives the
  // replies.
  Status pump();

  [[nodiscard]] int fd() const { return fd_.value; }
  [[nodiscard]] bool wants_write() const { return !out_.empty() || !encoder_.empty(); }
  [[nodiscard]] const std::string& dvm_id() const { return dvm_id_; }
  [[nodiscard]] const std::string& dvm_name() const { return dvm_name_; }

 private:
  struct OwnedFd {
    explicit OwnedFd(int fd) : value(fd) {}
    OwnedFd(OwnedFd&& other) noexcept : value(std::exchange(other.value, -1)) {}
    OwnedFd& operator=(OwnedFd&& other) noexcept {
      std::swap(value, other.value);
      return *this;
    }
    OwnedFd(const OwnedFd&) = delete;
    OwnedFd& operator=(const OwnedFd&) = delete;
    ~OwnedFd();
    int value;
  };

  explicit LocalChannel(int fd);

  Status introduce(std::uint32_t timeout_ms, const std::string& program);
  Status write_some();
  void read_some();
  std::optional<Incoming> take_inbox();

  OwnedFd fd_;
  FrameEncoder encoder_;
  FrameDecoder decoder_;
  std::string out_;  // a batch of frames, of which the first `out_written_` bytes are written
  std::size_t out_written_ = 0;
  std::deque<Incoming> inbox_;
  std::optional<Error> end_;  // reading is over, for this reason
  std::string dvm_id_;
  std::string dvm_name_;
};

}  // namespace tide::net
