// Much output through small windows, byte for byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "exec/output_pipe.hpp"
#include "exec/process_table_fixture.hpp"

namespace tide::exec {
namespace {

using testing::key;

// Compares a stream with the numbers 1, 2, 3 … one per line.
class CountingStream {
 public:
  bool accept(std::string_view data) {
    bytes_ += data.size();
    while (!data.empty()) {
      if (rest_.empty()) {
        line_ = std::to_string(++number_) + "\n";
        rest_ = line_;
      }
      const std::size_t size = std::min(rest_.size(), data.size());
      if (data.substr(0, size) != rest_.substr(0, size)) return false;
      data.remove_prefix(size);
      rest_.remove_prefix(size);
    }
    return true;
  }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t last_number() const { return number_; }
  [[nodiscard]] bool at_line_end() const { return rest_.empty(); }

 private:
  std::uint64_t bytes_ = 0;
  std::uint64_t number_ = 0;
  std::string line_;
  std::string_view rest_;
};

class OutputVolumeTest : public testing::ProcessTableFixture {
 protected:
  void on_output(core::ProcKey proc, wire::Stream stream, Bytes data) override {
    ASSERT_LE(data.size(), OutputPipe::kMaxChunkBytes);
    outstanding_bytes_ += data.size();
    ASSERT_LE(outstanding_bytes_, kWindowBytes);
    ASSERT_TRUE(stream_.accept(data.view()));
    // Credit comes back late and in parts, as from a client at the other end of the tree.
    if (outstanding_bytes_ < kWindowBytes / 2) return;
    table_->grant_output(proc, stream, static_cast<std::uint32_t>(outstanding_bytes_));
    outstanding_bytes_ = 0;
  }

  CountingStream stream_;
  std::uint64_t outstanding_bytes_ = 0;
};

// row:L15
TEST_F(OutputVolumeTest, TwoHundredMegabytesArriveCompleteAndInOrder) {
  spawn(0, {"seq", "1", "25000000"});
  ASSERT_TRUE(run_until([this] { return report(0).ended(); }, std::chrono::seconds(120)));
  EXPECT_EQ(report(0).exit, std::pair(0, 0));
  EXPECT_EQ(stream_.last_number(), 25'000'000U);
  EXPECT_TRUE(stream_.at_line_end());
  EXPECT_GT(stream_.bytes(), 200'000'000U);
}

}  // namespace
}  // namespace tide::exec
