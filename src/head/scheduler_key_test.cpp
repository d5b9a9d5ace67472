#include "head/scheduler_key.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "base/test_files.hpp"

namespace tide::head {
namespace {

class SchedulerKey : public ::testing::Test {
 protected:
  std::string written(const std::string& text, mode_t mode = 0600) {
    const auto path = directory_.path() + "/key";
    std::filesystem::remove(path);
    testing::write_text(path, text);
    chmod(path.c_str(), mode);
    return path;
  }
  testing::TemporaryDirectory directory_;
};

TEST_F(SchedulerKey, IsWhatIsInTheFile) {
  EXPECT_EQ(*read_scheduler_key(written("0123456789abcdef\n")), "0123456789abcdef");
  EXPECT_EQ(*read_scheduler_key(""), "") << "none is wanted";
}

TEST_F(SchedulerKey, OfOthersOrTooShortIsNone) {
  EXPECT_FALSE(read_scheduler_key(written("0123456789abcdef", 0640)));
  EXPECT_FALSE(read_scheduler_key(written("0123456789abcdef", 0604)));
  EXPECT_FALSE(read_scheduler_key(written("short\n")));
  EXPECT_FALSE(read_scheduler_key(written(std::string(5000, 'x'))));
  EXPECT_FALSE(read_scheduler_key("/nowhere/at/all"));
  EXPECT_FALSE(read_scheduler_key("/dev/null"));
}

}  // namespace
}  // namespace tide::head
