// What processes log: it comes with their output, and their credit pays for it.
#include "core/local_requests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/services_rig.hpp"

namespace tide::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class LogTest : public ServicesTest {
 public:
  LogTest() {
    one.jobs.handle(JobRegistered{key.job, 1});
    one.jobs.handle(ProcSpawned{key, 5});
    one.ups.clear();
    one.clear();
  }
  bool log(const wire::ProcName& who, const std::string& text, wire::Stream stream = wire::STDOUT) {
    ServiceAsked event;
    event.ticket = 7;
    *event.request.mutable_who() = who;
    event.request.mutable_log()->set_text(text);
    event.request.mutable_log()->set_stream(stream);
    one.clear();
    one.services.handle(event);
    const auto answers = all_of<AnswerService>(one.out);
    EXPECT_THAT(answers, SizeIs(1));
    EXPECT_EQ(answers.at(0).ticket, 7U);
    return answers.at(0).answer.error_code() == 0;
  }
  // What the process may write after so much was read.
  std::vector<std::uint32_t> granted(std::uint32_t bytes, wire::Stream stream = wire::STDOUT) {
    one.clear();
    wire::StreamCredit credit;
    credit.set_job(1);
    credit.set_stream(stream);
    credit.set_bytes(bytes);
    one.jobs.grant(credit);
    std::vector<std::uint32_t> out;
    for (const auto& grant : all_of<GrantOutput>(one.out)) out.push_back(grant.bytes);
    return out;
  }
  const ProcKey key{JobId(1), ProcRank(0)};
  Daemon& one = daemon(1);
};

TEST_F(LogTest, ALongTextIsManyPiecesOfOutput) {
  const std::string text = std::string(200'000, 'x') + "end";
  EXPECT_TRUE(log(name_of("a", 0), text));
  std::string all;
  for (const auto& [body, payload] : one.ups) {
    EXPECT_LE(payload.size(), 65'536U);
    all += payload.view();
  }
  EXPECT_EQ(all, text);
}

TEST_F(LogTest, TheTextIsOutputOfTheProcess) {
  EXPECT_TRUE(log(name_of("a", 0), "text", wire::STDERR));
  ASSERT_THAT(one.ups, SizeIs(1));
  EXPECT_EQ(one.ups[0].first.stream().stream(), wire::STDERR);
  EXPECT_EQ(one.ups[0].first.stream().rank(), 0U);
  EXPECT_EQ(one.ups[0].second.view(), "text");
}

TEST_F(LogTest, OnlyProcessesThatRunHereHaveOutput) {
  EXPECT_FALSE(log(name_of("a", 1), "text"));
  EXPECT_FALSE(log(name_of("tool", 0), "text"));
  one.jobs.handle(ProcExited{key, 0, 0});
  one.jobs.handle(ProcOutputClosed{key, wire::STDOUT});
  one.jobs.handle(ProcOutputClosed{key, wire::STDERR});
  EXPECT_FALSE(log(name_of("a", 0), "late"));
}

TEST_F(LogTest, WhatIsReadPaysForItFirst) {
  log(name_of("a", 0), std::string(30, 'x'));
  log(name_of("a", 0), std::string(30, 'y'));
  EXPECT_THAT(granted(40), IsEmpty());
  EXPECT_THAT(granted(10, wire::STDERR), ElementsAre(10)) << "the other stream owes nothing";
  EXPECT_THAT(granted(50), ElementsAre(30));
  EXPECT_THAT(granted(50), ElementsAre(50));
}

// The process is not given up for a pipe that merely waits: what was logged has used its window.
TEST_F(LogTest, AWindowThatLogsUsedUpIsNotTakenForAHeldPipe) {
  log(name_of("a", 0), std::string(Daemon::kWindow, 'x'));
  one.jobs.handle(ProcExited{key, 0, 0});
  one.jobs.handle_timer(TimerKind::kDrain, 1);
  one.jobs.handle_timer(TimerKind::kDrain, 1);
  EXPECT_THAT(all_of<SignalProc>(one.out), IsEmpty());
}

}  // namespace
}  // namespace tide::core
