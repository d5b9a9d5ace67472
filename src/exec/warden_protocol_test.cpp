#include "exec/warden_protocol.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <string>
#include <vector>

namespace tide::exec {
namespace {

using ::testing::ElementsAre;

std::string_view without_length(const std::string& frame) {
  return std::string_view(frame).substr(4);
}

StartDaemon some_start(std::size_t blob_bytes) {
  StartDaemon start;
  start.id = 7;
  start.argv = {"/bin/prted", "--node", "v1", ""};
  start.working_directory = "/tmp";
  start.log_path = "/tmp/v1.log";
  start.blob = Secret(std::string(blob_bytes, '\1'));
  return start;
}

TEST(WardenProtocol, CommandsSurviveTheWay) {
  const Secret frame = encode(WardenCommand(some_start(kMaxBlobBytes)));
  const auto start = decode_command(without_length(frame.text()));
  ASSERT_TRUE(start.ok());
  const auto& read = std::get<StartDaemon>(*start);
  EXPECT_EQ(read.id, 7U);
  EXPECT_THAT(read.argv, ElementsAre("/bin/prted", "--node", "v1", ""));
  EXPECT_EQ(read.working_directory, "/tmp");
  EXPECT_EQ(read.log_path, "/tmp/v1.log");
  EXPECT_EQ(read.blob.text(), std::string(kMaxBlobBytes, '\1'));

  const auto stop = decode_command(without_length(encode(StopDaemon{3, 250}).text()));
  ASSERT_TRUE(stop.ok());
  EXPECT_EQ(std::get<StopDaemon>(*stop).id, 3U);
  EXPECT_EQ(std::get<StopDaemon>(*stop).grace_ms, 250U);

  const auto let_go = decode_command(without_length(encode(LetGo{}).text()));
  ASSERT_TRUE(let_go.ok());
  EXPECT_TRUE(std::holds_alternative<LetGo>(*let_go));
}

TEST(WardenProtocol, ReportsSurviveTheWay) {
  const std::vector<WardenReport> reports = {Started{1, 4711}, StartFailed{2, "no such file"},
                                             DaemonEnded{3, 256, "exit status 1"}};
  for (const auto& report : reports) {
    const auto read = decode_report(without_length(encode(report)));
    ASSERT_TRUE(read.ok());
    EXPECT_TRUE(*read == report);
  }
}

TEST(WardenProtocol, EveryTruncationAndEveryTailIsRefused) {
  const Secret frame = encode(WardenCommand(some_start(20)));
  const std::string_view body = without_length(frame.text());
  for (std::size_t size = 0; size < body.size(); ++size) {
    EXPECT_FALSE(decode_command(body.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(decode_command(std::string(body) + "x").ok());
  EXPECT_FALSE(decode_command("\x63").ok());
  EXPECT_FALSE(decode_report(body).ok());
}

TEST(WardenProtocol, FramesAreCutFromAStreamOfAnyGrain) {
  const std::string stream =
      encode(Started{1, 2}) + encode(StartFailed{3, std::string(500, 'x')}) + encode(Started{4, 5});
  for (const std::size_t grain : {1U, 3U, 7U, 1000U}) {
    WardenFrameReader reader;
    std::vector<WardenReport> read;
    for (std::size_t at = 0; at < stream.size();) {
      const auto space = reader.free_space();
      const std::size_t size = std::min({space.size(), grain, stream.size() - at});
      std::memcpy(space.data(), stream.data() + at, size);
      at += size;
      ASSERT_TRUE(reader.filled(size).ok());
      if (const auto frame = reader.take_frame()) read.push_back(*decode_report(frame->text()));
    }
    ASSERT_EQ(read.size(), 3U);
    EXPECT_TRUE(read[2] == WardenReport(Started{4, 5}));
  }
}

TEST(WardenProtocol, AForbiddenLengthIsRefusedBeforeMemoryIsTaken) {
  for (const std::uint32_t length : {std::uint32_t{0}, ~std::uint32_t{0}}) {
    WardenFrameReader reader;
    std::memcpy(reader.free_space().data(), &length, sizeof(length));
    EXPECT_FALSE(reader.filled(sizeof(length)).ok());
  }
}

TEST(WardenProtocol, AWaitStatusIsPutInWords) {
  EXPECT_EQ(describe_wait_status(3 << 8), "exit status 3");
  EXPECT_EQ(describe_wait_status(SIGKILL), "signal 9 (SIGKILL)");
}

TEST(Secret, IsWipedWhenItIsMovedAway) {
  Secret first(std::string(10, 's'));
  const Secret second = std::move(first);
  EXPECT_EQ(second.text(), std::string(10, 's'));
  EXPECT_EQ(first.text(), "");  // NOLINT(bugprone-use-after-move): what is left is the point
}

}  // namespace
}  // namespace tide::exec
