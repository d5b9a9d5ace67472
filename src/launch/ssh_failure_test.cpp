#include "launch/ssh_failure.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace tide::launch {
namespace {

using say::LaunchTrouble;
using ::testing::ElementsAre;

constexpr int exited(int status) {
  return status << 8;
}

SessionEnd ended(int status, std::string words) {
  SessionEnd end;
  end.wait_status = exited(status);
  end.error_output = std::move(words);
  return end;
}

// What OpenSSH 9, rsh and shells say.
TEST(SshFailure, IsToldFromTheWordsOfTheOtherSide) {
  const std::vector<std::pair<SessionEnd, LaunchTrouble>> cases = {
      {ended(255, "ssh: Could not resolve hostname n9: Name or service not known\r\n"),
       LaunchTrouble::kNameNotFound},
      {ended(1, "n9: Unknown host\n"), LaunchTrouble::kNameNotFound},
      {ended(255, "ssh: connect to host n1 port 22: Connection refused\n"),
       LaunchTrouble::kRefused},
      {ended(255, "ssh: connect to host n1 port 22: No route to host\n"),
       LaunchTrouble::kUnreachable},
      {ended(255, "ssh: connect to host n1 port 22: Connection timed out\n"),
       LaunchTrouble::kTimedOut},
      {ended(255, "ann@n1: Permission denied (publickey,password).\n"),
       LaunchTrouble::kAuthentication},
      {ended(255, "No ED25519 host key is known for n1\nHost key verification failed.\n"),
       LaunchTrouble::kHostKey},
      {ended(255, "kex_exchange_identification: Connection closed by remote host\n"),
       LaunchTrouble::kClosed},
      {ended(127, "bash: line 1: /opt/prted: No such file or directory\n"),
       LaunchTrouble::kProgramMissing},
      {ended(126, "sh: 1: exec: /opt/prted: Permission denied\n"), LaunchTrouble::kProgramMissing},
      {ended(1, "/opt/prted: Command not found.\n"), LaunchTrouble::kProgramMissing},
      {ended(127, "fish: Unknown command: /opt/prted\n"), LaunchTrouble::kProgramMissing},
      {ended(127,
             "/opt/prted: error while loading shared libraries: libpmix.so.2: cannot open "
             "shared object file: No such file or directory\n"),
       LaunchTrouble::kLibraryMissing},
      {ended(3, "something else\n"), LaunchTrouble::kOther},
      {ended(0, ""), LaunchTrouble::kOther},
  };
  for (const auto& [end, trouble] : cases) EXPECT_EQ(trouble_of(end), trouble) << end.error_output;
}

TEST(SshFailure, WhatWeSawOurselvesCountsBeforeWords) {
  SessionEnd end = ended(71, "connection refused\n");
  end.greeted = true;
  EXPECT_EQ(trouble_of(end), LaunchTrouble::kDaemonEnded);
  end.timed_out = true;
  EXPECT_EQ(trouble_of(end), LaunchTrouble::kTimedOut);
  end.other_protocol = true;
  EXPECT_EQ(trouble_of(end), LaunchTrouble::kVersion);
}

TEST(SshFailure, ADaemonThatDoesNotFindTheHeadIsNoDaemonThatFailed) {
  for (const char* words : {"prted: ending: cannot connect to the head: 10.0.0.1:9: timed out\n",
                            "prted: the daemon did not reach the head within 30 s\n"}) {
    SessionEnd end = ended(71, words);
    end.greeted = true;
    EXPECT_EQ(trouble_of(end), LaunchTrouble::kNoWayBack);
    end.timed_out = true;  // it said why, and took long to end
    EXPECT_EQ(trouble_of(end), LaunchTrouble::kNoWayBack);
    end.timed_out = false;
    end.greeted = false;
    EXPECT_EQ(trouble_of(end), LaunchTrouble::kOther);
  }
}

TEST(SshFailure, TheLastWordsAreTheLastLinesThatSaySomething) {
  EXPECT_THAT(last_words("\r\n one \r\n\n two\n"), ElementsAre("one", "two"));
  EXPECT_THAT(last_words("1\n2\n3\n4\n5\n6\n7\n8"), ElementsAre("3", "4", "5", "6", "7", "8"));
  EXPECT_THAT(last_words(""), ElementsAre());
}

}  // namespace
}  // namespace tide::launch
