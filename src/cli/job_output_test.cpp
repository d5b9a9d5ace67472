#include "cli/job_output.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace tide::cli {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

// A pipe with both ends open; what was written so far can be read without waiting.
class TestPipe {
 public:
  TestPipe() {
    std::array<int, 2> ends{};
    TIDE_CHECK(pipe2(ends.data(), O_CLOEXEC) == 0);
    read_fd_ = ends[0];
    write_fd_ = ends[1];
    fcntl(read_fd_, F_SETFL, O_NONBLOCK);
    std::signal(SIGPIPE, SIG_IGN);
  }
  TestPipe(const TestPipe&) = delete;
  TestPipe& operator=(const TestPipe&) = delete;
  ~TestPipe() {
    close_reader();
    close(write_fd_);
  }
  void close_reader() {
    if (read_fd_ >= 0) close(read_fd_);
    read_fd_ = -1;
  }
  [[nodiscard]] int write_fd() const { return write_fd_; }
  [[nodiscard]] std::string take() const {
    std::string text(1 << 20, '\0');
    const ssize_t got = read(read_fd_, text.data(), text.size());
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
  }

 private:
  int read_fd_ = -1;
  int write_fd_ = -1;
};

Bytes bytes(std::string text) {
  return Bytes(std::move(text));
}

class JobOutputTest : public testing::Test {
 protected:
  TestPipe out_;
  TestPipe err_;
  JobOutput plain_{{}, out_.write_fd(), err_.write_fd()};
  JobOutput tagged_{{true, false}, out_.write_fd(), err_.write_fd()};
  JobOutput merged_{{true, true}, out_.write_fd(), err_.write_fd()};
};

TEST_F(JobOutputTest, BytesGoWhereTheyBelongUnchanged) {
  plain_.take({1, 0, wire::STDOUT}, bytes(std::string("a\0b\n", 4)), false);
  plain_.take({1, 0, wire::STDERR}, bytes("oops"), true);
  plain_.take({1, 1, wire::STDOUT}, bytes("c"), true);
  ASSERT_TRUE(plain_.write().ok());
  EXPECT_EQ(out_.take(), std::string("a\0b\nc", 5));
  EXPECT_EQ(err_.take(), "oops");
  EXPECT_TRUE(plain_.empty());
}

TEST_F(JobOutputTest, TagsWholeLinesOfEachStream) {
  tagged_.take({7, 0, wire::STDOUT}, bytes("one\ntw"), false);
  tagged_.take({7, 1, wire::STDOUT}, bytes("eins\n"), false);
  tagged_.take({7, 0, wire::STDOUT}, bytes("o\n\nlast"), false);
  tagged_.take({7, 0, wire::STDERR}, bytes("bad\n"), false);
  tagged_.take({7, 0, wire::STDOUT}, bytes(""), true);
  ASSERT_TRUE(tagged_.write().ok());
  EXPECT_EQ(out_.take(),
            "[7,0]<stdout>: one\n[7,1]<stdout>: eins\n[7,0]<stdout>: two\n"
            "[7,0]<stdout>: \n[7,0]<stdout>: last\n");
  EXPECT_EQ(err_.take(), "[7,0]<stderr>: bad\n");
}

TEST_F(JobOutputTest, WhatIsHeldAtTheEndOfTheJobIsShown) {
  tagged_.take({7, 2, wire::STDOUT}, bytes("half"), false);
  tagged_.finish();
  ASSERT_TRUE(tagged_.write().ok());
  EXPECT_EQ(out_.take(), "[7,2]<stdout>: half\n");
}

TEST_F(JobOutputTest, MergesAndKeepsTheNameOfTheStream) {
  merged_.take({7, 0, wire::STDERR}, bytes("bad\n"), true);
  ASSERT_TRUE(merged_.write().ok());
  EXPECT_EQ(out_.take(), "[7,0]<stderr>: bad\n");
  EXPECT_EQ(err_.take(), "");
}

TEST_F(JobOutputTest, CreditIsGrantedForWhatWasWritten) {
  plain_.take({1, 3, wire::STDOUT}, bytes(std::string(3000, 'x')), false);
  EXPECT_THAT(plain_.grants(), IsEmpty());
  ASSERT_TRUE(plain_.write().ok());
  const std::vector<CreditGrant> grants = plain_.grants();
  ASSERT_THAT(grants, SizeIs(1));
  EXPECT_EQ(grants[0].key, (StreamKey{1, 3, wire::STDOUT}));
  EXPECT_EQ(grants[0].bytes, 3000U);
  EXPECT_THAT(plain_.grants(), IsEmpty());
}

TEST_F(JobOutputTest, LittleBytesAreNotWorthAGrantButAddUp) {
  for (int i = 0; i < 2; ++i) {
    plain_.take({1, 0, wire::STDOUT}, bytes(std::string(1500, 'x')), false);
    ASSERT_TRUE(plain_.write().ok());
    EXPECT_THAT(plain_.grants(), SizeIs(i));
  }
}

TEST_F(JobOutputTest, CreditOfALineThatIsHeldIsGranted) {
  tagged_.take({1, 0, wire::STDOUT}, bytes(std::string(4000, 'x')), false);
  EXPECT_THAT(tagged_.grants(), SizeIs(1));
}

TEST_F(JobOutputTest, ASlowReaderFillsTheQueueAndLosesNothing) {
  std::string sent;
  while (!plain_.full()) {
    const std::string piece(50'000, static_cast<char>('a' + sent.size() % 23));
    sent += piece;
    plain_.take({1, 0, wire::STDOUT}, bytes(piece), false);
    ASSERT_TRUE(plain_.write().ok());
  }
  EXPECT_THAT(plain_.blocked_fds(), SizeIs(1));
  std::string got;
  while (got.size() < sent.size()) {
    got += out_.take();
    ASSERT_TRUE(plain_.write().ok());
  }
  EXPECT_EQ(got, sent);
  EXPECT_TRUE(plain_.empty());
  // The pipe itself stayed as it was for others.
  EXPECT_EQ(fcntl(out_.write_fd(), F_GETFL) & O_NONBLOCK, 0);
}

TEST_F(JobOutputTest, AReaderThatIsGoneIsToldOnceAndCreditGoesOn) {
  out_.close_reader();
  plain_.take({1, 0, wire::STDOUT}, bytes(std::string(3000, 'x')), false);
  const Status status = plain_.write();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kConnectionLost);
  plain_.take({1, 0, wire::STDOUT}, bytes(std::string(3000, 'x')), false);
  EXPECT_TRUE(plain_.write().ok());
  const std::vector<CreditGrant> grants = plain_.grants();
  ASSERT_THAT(grants, SizeIs(1));
  EXPECT_EQ(grants[0].bytes, 6000U);
}

TEST_F(JobOutputTest, StandardErrorMayBeGoneForOurWords) {
  err_.close_reader();
  plain_.say("a word");
  EXPECT_TRUE(plain_.write().ok());
  plain_.say("another");
  EXPECT_TRUE(plain_.empty());
}

TEST_F(JobOutputTest, StandardErrorMayNotBeGoneForTheJobs) {
  err_.close_reader();
  plain_.take({1, 0, wire::STDERR}, bytes("oops"), false);
  EXPECT_EQ(plain_.write().error().code, ErrorCode::kConnectionLost);
  EXPECT_TRUE(plain_.write().ok()) << "told once";
}

TEST(FdWriterTest, WritesToSocketsWithoutWaiting) {
  std::array<int, 2> pair{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
  FdWriter writer(pair[0]);
  const std::string block(1 << 20, 'x');
  std::size_t total = 0;
  while (true) {
    const Result<std::size_t> taken = writer.write(block);
    ASSERT_TRUE(taken.ok());
    if (*taken == 0) break;
    total += *taken;
  }
  EXPECT_GT(total, 0U);
  close(pair[1]);
  EXPECT_EQ(writer.write(block).error().code, ErrorCode::kConnectionLost);
  close(pair[0]);
}

TEST(FdWriterTest, SaysWhyItCannotWrite) {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  FdWriter writer(full);
  const Result<std::size_t> taken = writer.write("x");
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().code, ErrorCode::kSystem);
  EXPECT_NE(taken.error().message.find("No space left"), std::string::npos);
  close(full);
}

TEST(LineTaggerTest, PassesOnVeryLongLinesInParts) {
  LineTagger tagger("T ");
  const std::string part(LineTagger::kMaxHeldBytes, 'x');
  EXPECT_EQ(tagger.add(part), "");
  EXPECT_EQ(tagger.add("y"), "T " + part + "y");
  EXPECT_EQ(tagger.add("z\nnext"), "z\n");
  EXPECT_EQ(tagger.finish(), "T next\n");
  EXPECT_EQ(tagger.finish(), "");
}

}  // namespace
}  // namespace tide::cli
