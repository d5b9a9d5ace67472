#include "exec/unpack.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "base/test_files.hpp"
#include "exec/unique_fd.hpp"

namespace tide::exec {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

struct Entry {
  std::string name;
  std::string text = "x";
  unsigned type = AE_IFREG;
  unsigned mode = 0644;
  std::string hardlink = {};
};

class Unpack : public ::testing::Test {
 protected:
  Unpack() { fs::create_directory(in_); }

  void pack(const std::vector<Entry>& entries, int filter = ARCHIVE_FILTER_NONE,
            int format = ARCHIVE_FORMAT_TAR_PAX_RESTRICTED) {
    archive* out = archive_write_new();
    archive_write_add_filter(out, filter);
    archive_write_set_format(out, format);
    ASSERT_EQ(archive_write_open_filename(out, (in_ / "it").c_str()), ARCHIVE_OK);
    for (const Entry& each : entries) {
      archive_entry* entry = archive_entry_new();
      archive_entry_set_pathname(entry, each.name.c_str());
      archive_entry_set_filetype(entry, each.type);
      archive_entry_set_perm(entry, each.mode);
      const bool file = each.type == AE_IFREG && each.hardlink.empty();
      archive_entry_set_size(entry, file ? static_cast<la_int64_t>(each.text.size()) : 0);
      if (each.type == AE_IFLNK) archive_entry_set_symlink(entry, each.text.c_str());
      if (!each.hardlink.empty()) archive_entry_set_hardlink(entry, each.hardlink.c_str());
      EXPECT_EQ(archive_write_header(out, entry), ARCHIVE_OK) << archive_error_string(out);
      if (file) archive_write_data(out, each.text.data(), each.text.size());
      archive_entry_free(entry);
    }
    archive_write_close(out);
    archive_write_free(out);
  }
  std::optional<std::string> run(const UnpackLimits& limits = {}) {
    const UniqueFd at(::open(in_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return unpack(at.get(), "it", limits);
  }
  std::string refusal() { return run().value_or("it was unpacked"); }
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ostringstream out;
    out << std::ifstream(in_ / name).rdbuf();
    return out.str();
  }

  tide::testing::TemporaryDirectory folder_;
  fs::path in_ = folder_.file("in");
};

TEST_F(Unpack, WhatIsDamagedOrCutOffIsRefused) {
  std::string noise;
  for (unsigned value = 1; noise.size() < 100'000;) {
    value = value * 1664525U + 1013904223U;
    noise += static_cast<char>(value >> 24U);
  }
  for (const auto& [filter, format] :
       {std::pair(ARCHIVE_FILTER_GZIP, ARCHIVE_FORMAT_TAR_PAX_RESTRICTED),
        std::pair(ARCHIVE_FILTER_BZIP2, ARCHIVE_FORMAT_TAR_PAX_RESTRICTED),
        std::pair(ARCHIVE_FILTER_XZ, ARCHIVE_FORMAT_TAR_PAX_RESTRICTED),
        std::pair(ARCHIVE_FILTER_NONE, ARCHIVE_FORMAT_ZIP)}) {
    pack({{"noise", noise}}, filter, format);
    const std::string whole = text("it");
    std::ofstream(in_ / "it", std::ios::binary) << whole.substr(0, whole.size() - 20);
    EXPECT_THAT(refusal(), Not(HasSubstr("it was unpacked"))) << filter;
    std::string flipped = whole;
    flipped[whole.size() / 2] = static_cast<char>(~flipped[whole.size() / 2]);
    std::ofstream(in_ / "it", std::ios::binary) << flipped;
    fs::remove(in_ / "noise");
    EXPECT_THAT(refusal(), Not(HasSubstr("it was unpacked"))) << filter;
    std::ofstream(in_ / "it", std::ios::binary) << whole;
    fs::remove(in_ / "noise");
    EXPECT_EQ(refusal(), "it was unpacked") << filter;
  }
}

TEST_F(Unpack, TheSameLinkOnceMoreIsTheSame) {
  pack({{"l", "there", AE_IFLNK}, {"l", "there", AE_IFLNK}});
  EXPECT_EQ(run(), std::nullopt);
  pack({{"l", "elsewhere", AE_IFLNK}});
  EXPECT_THAT(refusal(), HasSubstr("'l'"));
}

TEST_F(Unpack, FilesFoldersLinksAndModesInEachFormat) {
  for (const int filter :
       {ARCHIVE_FILTER_NONE, ARCHIVE_FILTER_GZIP, ARCHIVE_FILTER_BZIP2, ARCHIVE_FILTER_XZ}) {
    fs::remove_all(in_);
    fs::create_directory(in_);
    pack({{"./", "", AE_IFDIR, 0755},
          {"./run.sh", "go", AE_IFREG, 0755},
          {"a/b/c.txt", "deep"},
          {"empty", "", AE_IFDIR, 0755},
          {"a/up", "../run.sh", AE_IFLNK},
          {"hard", "", AE_IFREG, 0755, "run.sh"}},
         filter);
    EXPECT_EQ(refusal(), "it was unpacked");
    EXPECT_EQ(text("a/b/c.txt"), "deep");
    EXPECT_EQ(text("a/up"), "go");
    EXPECT_EQ(text("hard"), "go");
    EXPECT_TRUE(fs::is_directory(in_ / "empty"));
    struct stat found{};
    ASSERT_EQ(::stat((in_ / "run.sh").c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777U, 0755U);
  }
  fs::remove_all(in_);
  fs::create_directory(in_);
  pack({{"a/x.txt", "zipped"}}, ARCHIVE_FILTER_NONE, ARCHIVE_FORMAT_ZIP);
  EXPECT_EQ(refusal(), "it was unpacked");
  EXPECT_EQ(text("a/x.txt"), "zipped");
}

TEST_F(Unpack, NothingLandsOutside) {
  for (const std::string name : {"../evil", "a/../../evil", "/tmp/evil-of-tide"}) {
    pack({{name}});
    EXPECT_THAT(refusal(), HasSubstr("leads out of the directory")) << name;
  }
  for (const std::string target : {"/etc", "..", "a/../..", "../../x"}) {
    pack({{"link", target, AE_IFLNK}});
    EXPECT_THAT(refusal(), HasSubstr("leads out of the directory")) << target;
  }
  pack({{"d", "", AE_IFDIR}, {"link", "d", AE_IFLNK}, {"link/file"}});
  EXPECT_NE(refusal(), "it was unpacked") << "not even through a link that stays inside";
  pack({{"hard", "", AE_IFREG, 0644, "../../x"}});
  EXPECT_THAT(refusal(), HasSubstr("leads out of the directory"));
  EXPECT_FALSE(fs::exists(folder_.file("evil")));
}

TEST_F(Unpack, WhatIsThereStaysAsItIs) {
  std::ofstream(in_ / "same") << "x";
  std::ofstream(in_ / "other") << "old";
  pack({{"same"}, {"other", "new"}});
  EXPECT_THAT(refusal(), HasSubstr("another file than the one that is there"));
  EXPECT_EQ(text("other"), "old");
  EXPECT_EQ(text("same"), "x");
}

TEST_F(Unpack, IsBounded) {
  pack({{"a", std::string(1000, 'x')}, {"b"}, {"c"}});
  EXPECT_THAT(*run({.entries = 2}), HasSubstr("more than 2 entries"));
  EXPECT_THAT(*run({.entries = 9, .bytes = 500}), HasSubstr("it has more than"));
}

TEST_F(Unpack, BrokenAndOddOnesAreRefused) {
  std::ofstream(in_ / "it") << "this is no archive at all";
  EXPECT_THAT(refusal(), HasSubstr("no whole archive"));
  pack({{"big", std::string(100'000, 'x')}});
  fs::resize_file(in_ / "it", 50'000);
  EXPECT_THAT(refusal(), HasSubstr("no whole archive"));
  pack({{"pipe", "", AE_IFIFO}});
  EXPECT_THAT(refusal(), HasSubstr("neither a file nor"));
}

}  // namespace
}  // namespace tide::exec
