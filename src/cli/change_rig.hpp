// For tests: a command that changes the size of a DVM, and a head that answers as the test says.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/dvm_directory.hpp"
#include "cli/fake_head.hpp"
#include "cli/program.hpp"

namespace tide::cli {

inline wire::ClientReply begun(std::vector<std::string> nodes, bool complete = false) {
  wire::ClientReply reply;
  reply.mutable_change_begun()->set_allocation("a1");
  for (auto& node : nodes) reply.mutable_change_begun()->add_nodes(std::move(node));
  reply.mutable_change_begun()->set_complete(complete);
  return reply;
}

inline wire::ClientReply news(std::string text) {
  wire::ClientReply reply;
  reply.mutable_change_news()->set_text(std::move(text));
  return reply;
}

inline wire::ClientReply ended(bool done, std::string text) {
  wire::ClientReply reply;
  reply.mutable_change_ended()->set_done(done);
  if (!done) reply.mutable_change_ended()->set_cause("cannot-start");
  reply.mutable_change_ended()->set_text(std::move(text));
  return reply;
}

inline wire::ClientReply error(ErrorCode code, std::string text) {
  wire::ClientReply reply;
  reply.mutable_error()->set_code(static_cast<std::uint32_t>(code));
  reply.mutable_error()->set_message(std::move(text));
  return reply;
}

struct Outcome {
  int status = 0;
  std::string out;
  std::string err;
  wire::ClientRequest request;
};

class ChangeRig : public testing::Test {
 protected:
  // The head gives these answers and hangs up, or sends a signal before; without any answer it
  // hangs up at once.
  Outcome run(std::vector<std::string_view> argv, const std::vector<wire::ClientReply>& answers,
              int signal = 0) {
    return run_with(std::move(argv), [&](FakeHead& head, Outcome& outcome) {
      outcome.request = head.receive().message;
      for (wire::ClientReply reply : answers) {
        reply.set_request(outcome.request.request());
        head.reply(reply);
      }
      if (signal != 0) kill(getpid(), signal);
      if (signal != 0) head.await_end();
    });
  }

  // The head plays as it is told, and hangs up.
  Outcome run_with(std::vector<std::string_view> argv,
                   const std::function<void(FakeHead&, Outcome&)>& play) {
    DvmInfo info;
    info.name = "it";
    info.dvm_id = "tide-test-1-it";
    info.ready = true;
    auto dvm = create_dvm_directory(run_base_path(scratch_.path()), info);
    FakeHead head(*dvm_socket_path(dvm->info.directory));
    Outcome outcome;
    std::thread playing([&] {
      head.accept();
      play(head, outcome);
      head.close_client();
    });
    run_alone(std::move(argv), outcome);
    playing.join();
    EXPECT_TRUE(dvm->directory.remove());
    return outcome;
  }

  Outcome run_alone(std::vector<std::string_view> argv) {
    Outcome outcome;
    run_alone(std::move(argv), outcome);
    return outcome;
  }

 private:
  void run_alone(std::vector<std::string_view> argv, Outcome& outcome) {
    const std::string tmpdir = "PRTE_MCA_prte_tmpdir_base=" + scratch_.path();
    const std::array<const char*, 2> environment = {tmpdir.c_str(), nullptr};
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    outcome.status = run_program(argv, environment.data());
    outcome.out = testing::internal::GetCapturedStdout();
    outcome.err = testing::internal::GetCapturedStderr();
  }

  ScratchDirectory scratch_;
  TestSignals signals_;  // all threads have them blocked
};

}  // namespace tide::cli
