#include "launch/ssh_agent.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "exec/test_support.hpp"
#include "launch/this_machine.hpp"

namespace tide::launch {
namespace {

using exec::testing::TemporaryDirectory;
using exec::testing::write_text;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SshAgentTest : public ::testing::Test {
 protected:
  void install(const std::string& name) {
    write_text(folder_.file(name), "#!/bin/sh\n");
    ASSERT_EQ(::chmod(folder_.file(name).c_str(), 0755), 0);
  }
  Result<SshAgent> choose(const std::string& agents, const std::string& args = "") {
    return SshAgent::choose({.agents = agents, .args = args, .timeout_ms = 30'000}, folder_.path());
  }
  std::vector<std::string> argv(const std::string& agents, const std::string& args = "",
                                const std::string& user = "") {
    auto agent = choose(agents, args);
    EXPECT_TRUE(agent) << agent.error().message;
    return agent ? agent->argv("n1", user, "exec prted") : std::vector<std::string>{};
  }

  TemporaryDirectory folder_;
};

TEST_F(SshAgentTest, TheFirstThatIsThereIsTaken) {
  install("rsh");
  EXPECT_THAT(argv("ssh : rsh"), ElementsAre("rsh", "n1", "exec prted"));
  EXPECT_THAT(argv("ssh:rsh"), ElementsAre("rsh", "n1", "exec prted"));
  install("ssh");
  EXPECT_EQ(argv("ssh : rsh").front(), "ssh");
}

TEST_F(SshAgentTest, SshAsksForNothingAndTheUsersOptionsComeFirst) {
  install("ssh");
  EXPECT_THAT(
      argv("ssh -p 2222", "-o 'ConnectTimeout=3'", "ann"),
      ElementsAre("ssh", "-p", "2222", "-o", "ConnectTimeout=3", "-T", "-x", "-o", "BatchMode=yes",
                  "-o", "ConnectTimeout=10", "-l", "ann", "n1", "exec prted"));
  EXPECT_EQ(choose(folder_.file("ssh"))->name(), "ssh");
}

TEST_F(SshAgentTest, ByHandItIsCalledWithTheUsersOptionsAndWithoutOurs) {
  install("ssh");
  install("box");
  const auto ssh = choose("ssh -p 2222", "-i 'my key'");
  EXPECT_EQ(ssh->call(), "ssh -p 2222 -i 'my key'");
  EXPECT_EQ(ssh->by_hand("ann@n1", "exec prted"), "ssh -p 2222 -i 'my key' ann@n1 'exec prted'");
  EXPECT_EQ(choose("box %u %h sh -c %c")->by_hand("ann@n1", "exec prted"),
            "box ann n1 sh -c 'exec prted'");
}

TEST_F(SshAgentTest, ATemplateSaysWhereEverythingGoes) {
  install("box");
  EXPECT_THAT(
      argv("box enter --as=%u %h 100%% sh -c %c", "-v", "ann"),
      ElementsAre("box", "-v", "enter", "--as=ann", "n1", "100%", "sh", "-c", "exec prted"));
  EXPECT_THAT(argv("box %h"), ElementsAre("box", "n1", "exec prted"));
  EXPECT_THAT(argv("box %u@%h"), ElementsAre("box", our_user_name() + "@n1", "exec prted"));
}

TEST_F(SshAgentTest, WhatCannotBeUsedIsRefusedWithAReason) {
  install("ssh");
  install("pdsh");
  EXPECT_THAT(choose("rsh : zsh").error().message, HasSubstr("'rsh : zsh'"));
  EXPECT_THAT(choose("").error().message, HasSubstr("plm_ssh_agent PROGRAM"));
  EXPECT_THAT(choose("pdsh -R ssh").error().message, HasSubstr("standard input"));
  EXPECT_THAT(choose("ssh 'x").error().message, HasSubstr("quote is not closed"));
  EXPECT_THAT(choose("ssh", "\"").error().message, HasSubstr("quote is not closed"));
}

TEST(RemoteCommand, IsSafeForShellsOfOtherKinds) {
  EXPECT_EQ(remote_command("/opt/tide-1.0/bin/prted"), "exec /opt/tide-1.0/bin/prted --remote");
  EXPECT_EQ(remote_command("/home/a b/$x/prted"), "exec '/home/a b/$x/prted' --remote");
  EXPECT_EQ(remote_command("/it's/prted"), "exec '/it'\\''s/prted' --remote");
}

TEST(ThisMachine, KnowsItsNamesAndAddresses) {
  const ThisMachine machine({"node1", "node1.cluster", "10.0.0.1", "fd00::1"});
  for (const char* name :
       {"node1", "NODE1.cluster", "10.0.0.1", "127.0.1.1", "fd00:0:0:0:0:0:0:1"}) {
    EXPECT_TRUE(machine.is(name)) << name;
  }
  for (const char* name : {"node2", "node1.elsewhere", "10.0.0.2", "node", ""}) {
    EXPECT_FALSE(machine.is(name)) << name;
  }
}

TEST(ThisMachine, IsFoundOut) {
  const ThisMachine machine = ThisMachine::look();
  std::array<char, 256> name{};
  ASSERT_EQ(::gethostname(name.data(), name.size() - 1), 0);
  EXPECT_TRUE(machine.is(name.data()));
  EXPECT_TRUE(machine.is("localhost"));
  EXPECT_TRUE(machine.is("127.0.0.1"));
  EXPECT_FALSE(machine.is("no-such-machine"));
}

}  // namespace
}  // namespace tide::launch
