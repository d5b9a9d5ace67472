// For tests: the head's end of the local socket, played by the test step by step.
#pragma once

#include <csignal>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "cli/signal_source.hpp"
#include "net/frame.hpp"
#include "wire/client.pb.h"

namespace tide::cli {

// A directory of its own that goes away with the test.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  ~ScratchDirectory();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Signals taken from a source for the length of a test, and then as before.
class TestSignals {
 public:
  TestSignals();
  TestSignals(const TestSignals&) = delete;
  TestSignals& operator=(const TestSignals&) = delete;
  ~TestSignals();
  SignalSource& source() { return *source_; }

 private:
  sigset_t mask_{};
  std::optional<SignalSource> source_;
};

class FakeHead {
 public:
  struct Request {
    wire::ClientRequest message;
    std::string payload;
  };

  // Listens at `path`.
  explicit FakeHead(const std::string& path);
  FakeHead(const FakeHead&) = delete;
  FakeHead& operator=(const FakeHead&) = delete;
  ~FakeHead();

  // Takes one client and answers its greeting.
  void accept();

  // The next request; ends the test program if none comes for a long time.
  Request receive();

  void reply(const wire::ClientReply& reply, std::string_view payload = {});
  // Until the client has hung up, whatever it says before.
  void await_end();
  void close_client();

  // ---- what a head says to a job's client ----
  void accepted(std::uint32_t request, std::uint32_t job);
  // A job that the client's own has spawned; what follows is said of `job`.
  void spawned(std::uint32_t job, std::uint32_t parent);
  void speak_of(std::uint32_t job) { job_ = job; }
  void output(std::uint32_t rank, wire::Stream stream, std::string_view bytes, bool eof = false);
  void input_credit(std::uint32_t bytes);
  void ended(int exit_status, std::string_view message = {});

 private:
  int listen_fd_ = -1;
  int client_fd_ = -1;
  std::uint32_t job_ = 0;
  net::FrameDecoder decoder_;
  std::deque<net::RawMessage> inbox_;
};

}  // namespace tide::cli
