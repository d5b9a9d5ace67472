#include "cli/private_head.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>

#include "cli/fake_head.hpp"

namespace tide::cli {
namespace {

using Kind = PrivateHead::Start::Kind;

constexpr std::uint32_t kLongMs = 20'000;

// Shell scripts play the head: $2 is the keepalive descriptor, $4 the one for the ready word.
class PrivateHeadTest : public testing::Test {
 protected:
  PrivateHead start(const std::string& body) {
    const std::string path = scratch_.path() + "/head";
    std::ofstream(path) << "#!/bin/bash\n" << body << "\n";
    chmod(path.c_str(), 0700);
    Result<PrivateHead> head = PrivateHead::start(path, {"prte"});
    TIDE_CHECK(head.ok());
    return std::move(head).value();
  }
  SignalSource& signals() { return signals_.source(); }

  ScratchDirectory scratch_;
  TestSignals signals_;
};

TEST_F(PrivateHeadTest, GetsReadyAndEndsWhenWeLetGo) {
  PrivateHead head = start("printf K >&$4; read -r -u $2 || exit 0");
  EXPECT_EQ(head.wait_ready(kLongMs, signals()).kind, Kind::kReady);
  EXPECT_TRUE(head.end(kLongMs));
}

TEST_F(PrivateHeadTest, ThatEndsInsteadHasFailed) {
  PrivateHead head = start("exit 3");
  EXPECT_EQ(head.wait_ready(kLongMs, signals()).kind, Kind::kFailed);
  EXPECT_TRUE(head.end(kLongMs));
}

TEST_F(PrivateHeadTest, IsKilledWhereItDoesNotEnd) {
  PrivateHead head = start("printf K >&$4; exec sleep 1000");
  EXPECT_EQ(head.wait_ready(kLongMs, signals()).kind, Kind::kReady);
  EXPECT_FALSE(head.end(50));
}

TEST_F(PrivateHeadTest, IsGivenUpAfterATime) {
  PrivateHead head = start("read -r -u $2 || exit 0");
  EXPECT_EQ(head.wait_ready(50, signals()).kind, Kind::kTimedOut);
}

TEST_F(PrivateHeadTest, ASignalEndsTheWait) {
  PrivateHead head = start("read -r -u $2 || exit 0");
  kill(getpid(), SIGINT);
  const PrivateHead::Start outcome = head.wait_ready(kLongMs, signals());
  EXPECT_EQ(outcome.kind, Kind::kSignalled);
  EXPECT_EQ(outcome.signal, SIGINT);
}

TEST_F(PrivateHeadTest, StartsWithCleanSignalsInItsOwnSession) {
  PrivateHead head = start(
      "read -r -a stat </proc/$$/stat; [ ${stat[5]} = $$ ] || exit 1\n"
      "while read -r key value; do [ $key = SigBlk: ] && blocked=$value; done </proc/$$/status\n"
      "[ $blocked = 0000000000000000 ] || exit 1\n"
      "printf K >&$4");
  EXPECT_EQ(head.wait_ready(kLongMs, signals()).kind, Kind::kReady);
}

TEST(PrivateHead, ProgramThatCannotBeStarted) {
  EXPECT_FALSE(PrivateHead::start("/does/not/exist", {"prte"}).ok());
}

}  // namespace
}  // namespace tide::cli
