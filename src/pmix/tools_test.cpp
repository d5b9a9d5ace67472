// Tools that come, find the right server, and go, with libpmix's own idea of a tool.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "pmix/handshake_guard.hpp"
#include "pmix/tool_support.hpp"

namespace tide::pmix {
namespace {

using testing::Client;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::short_host_name;
using ::testing::StartsWith;
using testing::TemporaryDirectory;

class PmixTools : public testing::ToolFixture {
 protected:
  std::string own_name() const { return handler_.tools.at(0).wish->nspace; }
  // Whether a tool that is told where to look finds this server.
  bool finds(const std::vector<std::string>& where, const std::string& directory) {
    std::vector<std::string> words = where;
    words.emplace_back("hello");
    Client& tool = start_tool(words, directory);
    EXPECT_TRUE(run_until_ended(tool));
    return tool.exit_status() == 0 && tool.output().find(" at dvm-test 1\n") != std::string::npos;
  }
  std::string own_pid() const { return std::to_string(::getpid()); }
};

TEST_F(PmixTools, GetANameAndAreToldOfWhenTheyLeave) {
  with_server([&] {
    accept_tools();
    Client& tool = start_attached({"hello"});
    ASSERT_TRUE(run_until_ended(tool));
    EXPECT_EQ(tool.exit_status(), 0) << tool.output();
    ASSERT_EQ(handler_.tools.size(), 1U);
    EXPECT_THAT(own_name(), StartsWith("dvm-test-tool-1-"));
    EXPECT_EQ(tool.output(), "tool " + own_name() + " 0 at dvm-test 1\n");
    ASSERT_TRUE(run_until([&] { return !handler_.gone_tools.empty(); }));
    EXPECT_THAT(handler_.gone_tools, ElementsAre(ProcName{own_name(), 0}));
    EXPECT_THAT(handler_.lost, IsEmpty());
    EXPECT_THAT(handler_.finalized, IsEmpty());
  });
}

TEST_F(PmixTools, KeepTheNameThatTheyCallThemselves) {
  with_server([&] {
    accept_tools();
    for (std::size_t round = 0; round < 3; ++round) {
      Client& tool = start_attached({"as", "debugger", "3", "hello"});
      ASSERT_TRUE(run_until_ended(tool));
      EXPECT_EQ(tool.output(), "tool debugger 3 at dvm-test 1\n") << "in round " << round;
      ASSERT_TRUE(run_until([&] { return handler_.gone_tools.size() == round + 1; }));
    }
    EXPECT_EQ(handler_.tools[0].wish, (ProcName{"debugger", 3}));
    EXPECT_EQ(handler_.gone_tools[2], (ProcName{"debugger", 3}));
  });
}

TEST_F(PmixTools, AreGoneOnceWhenTheyAreKilled) {
  with_server([&] {
    accept_tools();
    Client& first = start_attached({"wait"});
    Client& second = start_attached({"wait"});
    ASSERT_TRUE(run_until(
        [&] { return first.output().find("tool") == 0 && second.output().find("tool") == 0; }));
    first.kill(SIGKILL);
    ASSERT_TRUE(run_until([&] { return handler_.gone_tools.size() == 1; }));
    second.kill(SIGTERM);
    ASSERT_TRUE(run_until([&] { return handler_.gone_tools.size() == 2; }));
    Client& third = start_attached({"hello"});
    ASSERT_TRUE(run_until_ended(third));
    ASSERT_TRUE(run_until([&] { return handler_.gone_tools.size() == 3; }));
    EXPECT_THAT(handler_.lost, IsEmpty());
  });
}

TEST_F(PmixTools, FindTheServerHoweverItIsNamed) {
  with_server([&] {
    accept_tools();
    const std::string file = rendezvous_file();
    ASSERT_TRUE(std::filesystem::exists(file));
    testing::write_text(session_.file("uri"), server_->uri_for_file());
    const std::string parent = std::filesystem::path(directory_.path()).parent_path();
    EXPECT_TRUE(finds({"uri", server_->uri()}, "/nowhere"));
    EXPECT_EQ(std::filesystem::status(directory_.path()).permissions(),
              std::filesystem::perms::owner_all)
        << "libpmix opens it to all";
    EXPECT_TRUE(finds({"file", file}, "/nowhere"));
    EXPECT_TRUE(finds({"attach", file}, "/nowhere"));
    EXPECT_TRUE(finds({"file", session_.file("uri")}, "/nowhere"));
    EXPECT_TRUE(finds({"pid", own_pid()}, directory_.path()));
    EXPECT_TRUE(finds({"pid", own_pid()}, parent)) << "it looks into all directories there";
    EXPECT_TRUE(finds({"nspace", "dvm-test"}, directory_.path()));
    EXPECT_TRUE(finds({"session"}, directory_.path()));
    EXPECT_TRUE(finds({"system-first"}, directory_.path())) << "if there is none, any";
    EXPECT_FALSE(finds({"system"}, directory_.path()));
    EXPECT_FALSE(finds({"pid", "99999999"}, directory_.path()));
    server_.reset();
    EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
  });
}

TEST_F(PmixTools, FindTheServerOfTheSystem) {
  TemporaryDirectory system;
  alone([&] {
    node_ = short_host_name();
    ServerConfig told = config();
    told.system_server = true;
    told.system_directory = system.path();
    auto server = Server::start(told, io_, handler_);
    ASSERT_TRUE(server.ok()) << server.error().message;
    server_ = std::move(server).value();
    accept_tools();
    EXPECT_TRUE(finds({"system"}, system.path()));
    EXPECT_TRUE(finds({"system-first"}, system.path()));
    EXPECT_FALSE(finds({"session"}, system.path())) << "it is not one of those there";
    clients_.clear();
    server_.reset();
    EXPECT_TRUE(std::filesystem::is_empty(system.path()));
  });
}

TEST_F(PmixTools, AreNotConfusedByASecondServerOfTheSystem) {
  TemporaryDirectory system;
  const std::string file = system.file("pmix.sys." + short_host_name());
  const auto start_with_writer = [&](pid_t pid) {
    testing::write_text(file, "dvm.0;tcp4://127.0.0.1:1\n4.2\n" + std::to_string(pid) + "\n");
    ErrorCode code = ErrorCode::kOk;
    node_ = short_host_name();
    ServerConfig told = config();
    told.system_server = true;
    told.system_directory = system.path();
    auto server = Server::start(told, io_, handler_);
    if (!server) code = server.error().code;
    return code;
  };
  alone([&] { EXPECT_EQ(start_with_writer(::getppid()), ErrorCode::kAlreadyExists); });
  alone([&] {
    const pid_t ended = ::fork();
    if (ended == 0) ::_exit(0);
    ASSERT_EQ(::waitpid(ended, nullptr, 0), ended);
    EXPECT_EQ(start_with_writer(ended), ErrorCode::kOk) << "a file that was left behind";
  });
}

TEST_F(PmixTools, OfTwoServersGetTheOneTheyNameOrNone) {
  with_server([&] {
    accept_tools();
    std::filesystem::create_directory(directory_.file("other"));
    // What a second server writes; this one would not answer.
    const std::string name = "pmix." + short_host_name() + ".tool.";
    for (const std::string end : {"99999999", "other-dvm"}) {
      testing::write_text(directory_.file(std::string("other/").append(name).append(end)),
                          "other-dvm.0;tcp4://127.0.0.1:1\n4.2.2\n99999999\n");
    }
    EXPECT_TRUE(finds({"pid", own_pid()}, directory_.path()));
    EXPECT_TRUE(finds({"nspace", "dvm-test"}, directory_.path()));
    EXPECT_FALSE(finds({"session"}, directory_.path()));
  });
}

TEST_F(PmixTools, AreAskedAboutAndCanBeRefused) {
  with_server([&] {
    handler_.when_tool = [this](const ProcName& name, std::uint64_t ticket) {
      server_->name_tool(ticket, Error{ErrorCode::kPermissionDenied, "for a test"}, name);
    };
    Client& tool = start_attached({"kill", "some-job"});
    ASSERT_TRUE(run_until_ended(tool));
    EXPECT_EQ(tool.exit_status(), 3);
    EXPECT_THAT(tool.output(), HasSubstr("kill: NO-PERMISSIONS"));
    EXPECT_THAT(handler_.requests, IsEmpty());
    accept_tools();
    Client& next = start_attached({"hello"});
    ASSERT_TRUE(run_until_ended(next));
    EXPECT_EQ(next.exit_status(), 0);
    ASSERT_TRUE(run_until([&] { return !handler_.gone_tools.empty(); }));
    EXPECT_THAT(handler_.gone_tools, ElementsAre(*handler_.tools[1].wish)) << "of the second only";
  });
}

TEST_F(PmixTools, OfOneNameAtTheSameTimeAreNotBothServed) {
  with_server([&] {
    accept_tools();
    Client& first = start_attached({"as", "debugger", "0", "wait"});
    ASSERT_TRUE(run_until([&] { return first.output().find("tool") == 0; }));
    Client& second = start_attached({"as", "debugger", "0", "kill", "some-job"});
    ASSERT_TRUE(run_until_ended(second));
    EXPECT_THAT(second.output(), HasSubstr("kill: EXISTS"));
    EXPECT_EQ(handler_.tools.size(), 1U);
    EXPECT_THAT(handler_.gone_tools, IsEmpty());
  });
}

TEST_F(PmixTools, AreRefusedByAServerThatIsNotForThem) {
  alone([&] {
    node_ = short_host_name();
    ServerConfig closed = config();
    closed.for_tools = false;
    auto server = Server::start(closed, io_, handler_);
    ASSERT_TRUE(server.ok()) << server.error().message;
    server_ = std::move(server).value();
    EXPECT_FALSE(finds({"uri", server_->uri()}, "/nowhere"));
    EXPECT_THAT(handler_.tools, IsEmpty());
    EXPECT_TRUE(register_job(job("dvm-test@1", 1)).ok()) << "it is as before";
    clients_.clear();
    server_.reset();
  });
}

// libpmix 4.2.2 would end our program when it answers a tool that is gone.
TEST_F(PmixTools, ThatDieWhileTheyWaitForTheirNameDoNoHarm) {
  with_server([&] {
    accept_tools();
    const std::uint16_t port = port_in(server_->uri());
    const pid_t frozen = ::getpid();
    // Stops this process, has a tool connect to it and killed, and lets it go on.
    const auto freeze_and_kill = [&] {
      ::kill(frozen, SIGSTOP);
      ProcEnvironment environment;
      Client tool({testing::program("pmix_tool"), "uri", server_->uri(), "hello"}, environment,
                  session_.file("killed"));
      const bool introduced = testing::waits_for_answer(port);
      tool.kill(SIGKILL);
      while (!tool.ended()) ::usleep(1000);
      ::kill(frozen, SIGCONT);
      ::_exit(introduced ? 0 : 1);
    };
    for (int round = 0; round < 3; ++round) {
      const pid_t helper = ::fork();
      if (helper == 0) freeze_and_kill();
      int status = -1;
      ASSERT_TRUE(run_until([&] { return ::waitpid(helper, &status, WNOHANG) == helper; }));
      ASSERT_EQ(status, 0) << "the tool has not connected";
    }
    Client& next = start_attached({"hello"});
    ASSERT_TRUE(run_until_ended(next));
    EXPECT_EQ(next.exit_status(), 0) << next.output();
    ASSERT_TRUE(run_until([&] { return handler_.gone_tools.size() == handler_.tools.size(); }));
  });
}

TEST_F(PmixTools, ThatAreKilledAtAnyTimeDoNoHarm) {
  with_server([&] {
    accept_tools();
    constexpr int kTools = 60;
    for (int number = 0; number < kTools; ++number) {
      Client& tool = start_attached({"wait"});
      // From before it starts until after it is attached.
      const auto when = std::chrono::steady_clock::now() + number * std::chrono::microseconds(250);
      ASSERT_TRUE(run_until([&] { return std::chrono::steady_clock::now() > when; }));
      tool.kill(SIGKILL);
    }
    clients_.clear();
    Client& last = start_attached({"hello"});
    ASSERT_TRUE(run_until_ended(last));
    EXPECT_EQ(last.exit_status(), 0) << last.output();
    ASSERT_TRUE(run_until([&] { return handler_.gone_tools.size() == handler_.tools.size(); }));
  });
}

TEST_F(PmixTools, ManyDoNotPileUp) {
  with_server([&] {
    accept_tools();
    constexpr std::size_t kRounds = 30;
    std::size_t descriptors = 0;
    for (std::size_t round = 0; round < kRounds; ++round) {
      Client& tool = start_attached({round % 2 == 0 ? "hello" : "wait"});
      ASSERT_TRUE(run_until([&] { return tool.output().find("tool") == 0; }));
      if (round % 2 == 1) tool.kill(SIGKILL);
      ASSERT_TRUE(run_until([&] { return handler_.gone_tools.size() == round + 1; }));
      clients_.clear();
      if (round == 4) descriptors = testing::open_descriptors();
    }
    EXPECT_LE(testing::open_descriptors(), descriptors);
  });
}

TEST_F(PmixTools, AProcessOfAJobMayUseTheFunctionsForTools) {
  with_server([&] {
    accept_tools();
    JobDescription one = job("dvm-test@1", 1);
    one.nodes[0].name = node_;
    ASSERT_TRUE(register_job(one).ok());
    Client& process = start({"dvm-test@1", 0}, {"pmix_tool", "session", "hello"});
    ASSERT_TRUE(run_until_ended(process));
    EXPECT_EQ(process.output(), "tool dvm-test@1 0 at dvm-test 1\n");
    EXPECT_THAT(handler_.connected, ElementsAre(ProcName{"dvm-test@1", 0}));
    EXPECT_THAT(handler_.tools, IsEmpty());
  });
}

}  // namespace
}  // namespace tide::pmix
