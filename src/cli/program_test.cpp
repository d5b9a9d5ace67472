#include "cli/program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <thread>

#include "base/dvm_directory.hpp"
#include "cli/fake_head.hpp"
#include "wire/exit_status.hpp"

namespace tide::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct Outcome {
  int status = 0;
  std::string out;
  std::string err;
};

class ProgramTest : public testing::Test {
 protected:
  Outcome run(std::vector<std::string_view> argv) {
    const std::string tmpdir = "PRTE_MCA_prte_tmpdir_base=" + scratch_.path();
    const std::array<const char*, 2> environment = {tmpdir.c_str(), nullptr};
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Outcome outcome;
    outcome.status = run_program(argv, environment.data());
    outcome.out = testing::internal::GetCapturedStdout();
    outcome.err = testing::internal::GetCapturedStderr();
    return outcome;
  }

  // A DVM whose head is the test.
  DvmInfo start_dvm(const std::string& name) {
    DvmInfo info;
    info.name = name;
    info.dvm_id = "tide-test-1-" + name;
    info.ready = true;
    return create_dvm_directory(run_base_path(scratch_.path()), info).value().info;
  }

  // Answers one question in the background while the command runs.
  Outcome run_against(const std::string& dvm, std::vector<std::string_view> argv,
                      const std::function<wire::ClientReply(const wire::ClientRequest&)>& answer) {
    FakeHead head(*dvm_socket_path(start_dvm(dvm).directory));
    std::thread playing([&] {
      head.accept();
      const FakeHead::Request request = head.receive();
      wire::ClientReply reply = answer(request.message);
      reply.set_request(request.message.request());
      head.reply(reply);
    });
    Outcome outcome = run(std::move(argv));
    playing.join();
    return outcome;
  }

  ScratchDirectory scratch_;
};

TEST_F(ProgramTest, VersionAndHelpNeedNothing) {
  EXPECT_THAT(run({"tide", "--version"}).out, StartsWith("Tide "));
  EXPECT_THAT(run({"prun", "-V"}).out, StartsWith("Tide "));
  EXPECT_THAT(run({"tide", "--help"}).out, HasSubstr("usage: tide COMMAND"));
  EXPECT_THAT(run({"tide", "help"}).out, HasSubstr("usage: tide COMMAND"));
  EXPECT_THAT(run({"pterm", "-h"}).out, HasSubstr("usage: pterm "));
  EXPECT_THAT(run({"prun", "--help", "map-by"}).out, HasSubstr("OVERSUBSCRIBE"));
  EXPECT_THAT(run({"prun", "--help", "--host"}).out, StartsWith("  --host, -H NODE"));
  EXPECT_THAT(run({"prun", "--help", "-n"}).out, StartsWith("  -n, --np"));
  EXPECT_THAT(run({"prun", "--help", "--map-by=node"}).out, StartsWith("--map-by WHAT"));
  EXPECT_THAT(run({"prun", "--help", "--timeout"}).out, HasSubstr("0: no limit"));
  EXPECT_THAT(run({"prun", "--help", "exit-status"}).out,
              HasSubstr("\n  1        the command could"));
  EXPECT_THAT(run({"prun", "--help", "exit-stats"}).err, HasSubstr("did you mean exit-status?"));
  EXPECT_EQ(run({"prun", "--help", "cooking"}).status, kExitUsage);
}

TEST_F(ProgramTest, BadUseExitsWithTwoAndSaysWhatIsWrong) {
  const std::vector<std::vector<std::string_view>> lines = {
      {"tide"},
      {"tide", "dance"},
      {"prun"},
      {"prun", "--nonsense", "a"},
      {"prun", "-n", "0", "a"},
      {"prun", "--dvm", "Not/A/Name", "a"},
      {"prun", "--prtemca", "rml_radixx", "2", "a"},
      {"prterun", "--nodes", "0", "a"},
      {"tide", "up", "--slots", "x"},
      {"tide", "up", "--dvm", "12"},
      {"tide", "kill"},
      {"tide", "kill", "x"},
      {"tide", "kill", "1", "--signal", "NOPE"},
      {"tide", "debug"},
      {"tide", "debug", "release"},
      {"tide", "logs", "--lines", "0"},
      {"tide", "status", "now"},
      {"tide", "down", "--all", "--dvm", "x"}};
  for (const auto& line : lines) {
    const Outcome outcome = run(line);
    EXPECT_EQ(outcome.status, kExitUsage) << testing::PrintToString(line);
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err, "");
  }
}

TEST_F(ProgramTest, BadUseOfJsonCommandsIsAnErrorObject) {
  const Outcome outcome = run({"tide", "status", "--json", "--nonsense"});
  EXPECT_EQ(outcome.status, kExitUsage);
  EXPECT_THAT(outcome.out, HasSubstr("\"invalid-argument\""));
}

TEST_F(ProgramTest, WithoutADvm) {
  EXPECT_EQ(run({"prun", "true"}).status, kExitNoDvm);
  EXPECT_EQ(run({"pterm"}).status, kExitNoDvm);
  EXPECT_EQ(run({"tide", "down", "--all"}).status, kExitSuccess);
  const Outcome outcome = run({"tide", "status", "--json"});
  EXPECT_EQ(outcome.status, kExitNoDvm);
  EXPECT_THAT(outcome.out, HasSubstr("\"not-found\""));
}

TEST_F(ProgramTest, ADvmThatDoesNotListenYet) {
  start_dvm("night");
  const Outcome outcome = run({"prun", "true"});
  EXPECT_EQ(outcome.status, kExitNoDvm);
  EXPECT_THAT(outcome.err, HasSubstr("the DVM night"));
}

TEST_F(ProgramTest, Status) {
  const auto answer = [](const wire::ClientRequest& request) {
    EXPECT_TRUE(request.status().jobs());
    wire::ClientReply reply;
    reply.mutable_status()->set_dvm_name("night");
    reply.mutable_status()->set_state("ready");
    return reply;
  };
  const Outcome outcome = run_against("night", {"tide", "status"}, answer);
  EXPECT_EQ(outcome.status, kExitSuccess);
  EXPECT_THAT(outcome.out, StartsWith("DVM night is ready"));
}

TEST_F(ProgramTest, KillAJob) {
  const auto answer = [](const wire::ClientRequest& request) {
    EXPECT_EQ(request.kill().job().number(), 3U);
    EXPECT_EQ(request.kill().signal(), SIGUSR1);
    EXPECT_FALSE(request.kill().terminate());
    wire::ClientReply reply;
    reply.mutable_error()->set_code(static_cast<std::uint32_t>(ErrorCode::kNotFound));
    reply.mutable_error()->set_message("there is no job 3");
    return reply;
  };
  const Outcome outcome =
      run_against("night", {"tide", "kill", "--dvm", "night", "3", "--signal", "USR1"}, answer);
  EXPECT_EQ(outcome.status, kExitFailure);
  EXPECT_EQ(outcome.err, "tide kill: there is no job 3\n");
}

TEST_F(ProgramTest, DownSaysWhatTheHeadRefuses) {
  const auto answer = [](const wire::ClientRequest& request) {
    EXPECT_TRUE(request.has_down());
    EXPECT_FALSE(request.down().force());
    wire::ClientReply reply;
    reply.mutable_error()->set_code(static_cast<std::uint32_t>(ErrorCode::kPermissionDenied));
    reply.mutable_error()->set_message("not you");
    return reply;
  };
  const Outcome outcome = run_against("night", {"pterm"}, answer);
  EXPECT_EQ(outcome.status, kExitFailure);
  EXPECT_EQ(outcome.err, "pterm: not you\n");
}

TEST_F(ProgramTest, RecorderOfTheHead) {
  const auto answer = [](const wire::ClientRequest& request) {
    EXPECT_TRUE(request.has_recorder());
    wire::ClientReply reply;
    reply.mutable_recorder()->add_lines("one");
    reply.mutable_recorder()->add_lines("two");
    return reply;
  };
  EXPECT_EQ(run_against("night", {"tide", "debug", "recorder"}, answer).out, "one\ntwo\n");
}

TEST_F(ProgramTest, ParamsHereAndInADvm) {
  const Outcome own =
      run({"prte_info", "--param", "rml_base_radix", "--parsable", "--prtemca", "rml_radix", "3"});
  EXPECT_EQ(own.status, kExitSuccess);
  EXPECT_THAT(own.out, HasSubstr("param:rml_radix:value:3\n"));
  EXPECT_EQ(run({"tide", "params", "nope"}).status, kExitFailure);
  const auto answer = [](const wire::ClientRequest& request) {
    EXPECT_TRUE(request.has_params());
    wire::ClientReply reply;
    wire::ParamValue& param = *reply.mutable_params()->add_params();
    param.set_name("rml_radix");
    param.set_value("2");
    param.set_source("command line");
    return reply;
  };
  const Outcome theirs = run_against("night", {"tide", "params", "--dvm", "night"}, answer);
  EXPECT_THAT(theirs.out, StartsWith("rml_radix = 2  [command line]\n"));
}

TEST_F(ProgramTest, Logs) {
  const DvmInfo dvm = start_dvm("night");
  std::ofstream(dvm_log_path(dvm.directory, "head")) << "h1\nh2\n";
  std::ofstream(dvm_log_path(dvm.directory, "v10")) << "ten\n";
  std::ofstream(dvm_log_path(dvm.directory, "v2")) << "two\n";
  EXPECT_EQ(run({"tide", "logs"}).out, "==> head <==\nh1\nh2\n==> v2 <==\ntwo\n==> v10 <==\nten\n");
  EXPECT_EQ(run({"tide", "logs", "head", "--lines", "1"}).out, "h2\n");
  std::ofstream(dvm_log_path(dvm.directory, "v3")) << "";
  const Outcome empty = run({"tide", "logs", "v3"});
  EXPECT_EQ(empty.status, kExitSuccess);
  EXPECT_EQ(empty.out, "");
  EXPECT_THAT(empty.err, HasSubstr("the log of v3 is empty"));
  const Outcome unknown = run({"tide", "logs", "../../x"});
  EXPECT_EQ(unknown.status, kExitFailure);
  EXPECT_THAT(unknown.err, HasSubstr("there are head, v2, v3, v10"));
}

TEST_F(ProgramTest, RunsAJobFromEndToEnd) {
  FakeHead head(*dvm_socket_path(start_dvm("night").directory));
  std::thread playing([&] {
    head.accept();
    const FakeHead::Request submit = head.receive();
    EXPECT_EQ(submit.message.submit().job().apps(0).processes(), 2U);
    EXPECT_FALSE(submit.message.submit().job().correlation().empty());
    head.accepted(submit.message.request(), 1);
    head.output(0, wire::STDOUT, "hello\n", true);
    head.ended(7);
  });
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  const Outcome outcome =
      run({"prun", "--stdin", "none", "--bynode", "-np", "2", "-x", "NOPE", "hello"});
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  playing.join();
  EXPECT_EQ(outcome.status, 7);
  EXPECT_EQ(outcome.out, "hello\n");
  EXPECT_EQ(outcome.err,
            "prun: --bynode is an old spelling of --map-by node\n"
            "prun: -x NOPE: you have no such variable, and the processes get none\n"
            "  try: -x NOPE=VALUE\n");
}

}  // namespace
}  // namespace tide::cli
