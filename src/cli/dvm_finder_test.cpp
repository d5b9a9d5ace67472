#include "cli/dvm_finder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/dvm_directory.hpp"
#include "cli/fake_head.hpp"

namespace tide::cli {
namespace {

using testing::HasSubstr;
using Kind = DvmChoice::Kind;

constexpr std::uint64_t kNow = 1'000'000'000'000;

class DvmFinder : public testing::Test {
 protected:
  // A DVM whose head is this test, started a minute ago.
  DvmInfo add(const std::string& name, const std::string& dvm_id) {
    DvmInfo info;
    info.name = name;
    info.dvm_id = dvm_id;
    info.nodes = 8;
    info.started_unix_ms = kNow - 60'000;
    info.uri = dvm_id + ".0;tcp4://127.0.0.1:4711";
    Result<NewDvm> made = create_dvm_directory(base_, info);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return made->info;
  }

  void add_dead(const std::string& name) {
    DvmInfo info = add(name, "tide-dead-1-1");
    info.pid_start_ticks += 1;
    ASSERT_TRUE(DvmDirectory::open(info.directory)->write_info(info).ok());
  }

  [[nodiscard]] std::string found(const DvmChoice& choice) const {
    const Result<DvmInfo> dvm = find_dvm(base_, choice, kNow);
    return dvm.ok() ? dvm->name : "error: " + dvm.error().message;
  }

  std::string file(const std::string& content) {
    const std::string path = scratch_.path() + "/file";
    std::ofstream(path) << content;
    return path;
  }

  ScratchDirectory scratch_;
  std::string base_ = run_base_path(scratch_.path());
};

TEST_F(DvmFinder, NoneRunning) {
  const Result<DvmInfo> dvm = find_dvm(base_, {}, kNow);
  EXPECT_EQ(dvm.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(dvm.error().message, HasSubstr("try: tide up"));
}

TEST_F(DvmFinder, TheOnlyOneIsTheDefaultAndDeadOnesDoNotCount) {
  add_dead("a");
  add("night", "tide-h-1-2");
  EXPECT_EQ(found({}), "night");
  EXPECT_EQ(found({Kind::kSystemFirst, {}, 0}), "night");
  EXPECT_EQ(running_dvms(base_)->size(), 1U);
}

TEST_F(DvmFinder, TheSystemsComesFirstWhereItIsAskedFor) {
  add("day", "tide-h-1-1");
  DvmInfo info = add("night", "tide-h-1-2");
  info.system = true;
  ASSERT_TRUE(DvmDirectory::open(info.directory)->write_info(info).ok());
  EXPECT_EQ(found({Kind::kSystem, {}, 0}), "night");
  EXPECT_EQ(found({Kind::kSystemFirst, {}, 0}), "night");
}

TEST_F(DvmFinder, SeveralAreListedAndRefused) {
  add("day", "tide-h-1-1");
  add("night", "tide-h-1-2");
  const Result<DvmInfo> dvm = find_dvm(base_, {}, kNow);
  EXPECT_EQ(dvm.error().code, ErrorCode::kInvalidArgument);
  const std::string pid = std::to_string(getpid());
  EXPECT_EQ(dvm.error().message,
            "several DVMs are running and none was chosen:\n"
            "  NAME   AGE    NODES  PID" +
                std::string(pid.size() - 1, ' ') +
                "URI\n"
                "  day    1 min  8      " +
                pid +
                "  tide-h-1-1.0;tcp4://127.0.0.1:4711\n"
                "  night  1 min  8      " +
                pid + "  tide-h-1-2.0;tcp4://127.0.0.1:4711\n  try: --dvm day, or another of them");
}

TEST_F(DvmFinder, EveryWayToChoose) {
  add("day", "tide-h-1-1");
  const DvmInfo night = add("night", "tide-h-1-2");
  EXPECT_EQ(found({Kind::kName, "day", 0}), "day");
  EXPECT_EQ(found({Kind::kUri, night.uri, 0}), "night");
  EXPECT_EQ(found({Kind::kUriFile, file(night.uri + "\n"), 0}), "night");
  EXPECT_EQ(found({Kind::kNamespace, "tide-h-1-2", 0}), "night");
  EXPECT_EQ(found({Kind::kNamespace, "tide-h-1-1@17", 0}), "day");
  // Both are of this process; the first is taken.
  const auto pid = static_cast<std::uint32_t>(getpid());
  EXPECT_EQ(found({Kind::kPid, {}, pid}), "day");
  EXPECT_EQ(found({Kind::kPidFile, file(std::to_string(pid) + "\n"), 0}), "day");
}

TEST_F(DvmFinder, ChoicesThatFitNothing) {
  add_dead("gone");
  add("day", "tide-h-1-1");
  EXPECT_THAT(found({Kind::kName, "gone", 0}), HasSubstr("no DVM named gone is running"));
  EXPECT_THAT(found({Kind::kName, "night", 0}), HasSubstr("tide up --dvm night"));
  EXPECT_THAT(found({Kind::kPid, {}, 1}), HasSubstr("process number 1"));
  EXPECT_THAT(found({Kind::kNamespace, "x", 0}), HasSubstr("namespace x"));
  EXPECT_THAT(found({Kind::kUriFile, "/does/not/exist", 0}), HasSubstr("cannot read"));
  EXPECT_THAT(found({Kind::kUriFile, file("nonsense"), 0}), HasSubstr("error: "));
  EXPECT_THAT(found({Kind::kPidFile, file("nonsense"), 0}), HasSubstr("holds no process number"));
  EXPECT_THAT(found({Kind::kSystem, {}, 0}), HasSubstr("no system DVM"));
}

DvmChoice parsed(std::string_view text) {
  const Result<DvmChoice> choice = parse_dvm_choice(text);
  EXPECT_TRUE(choice.ok()) << text;
  return choice.ok() ? *choice : DvmChoice{};
}

TEST(ParseDvmChoice, EveryForm) {
  EXPECT_EQ(parsed("night"), (DvmChoice{Kind::kName, "night", 0}));
  EXPECT_EQ(parsed("4711"), (DvmChoice{Kind::kPid, {}, 4711}));
  EXPECT_EQ(parsed("pid:4711"), (DvmChoice{Kind::kPid, {}, 4711}));
  EXPECT_EQ(parsed("pid:file:p"), (DvmChoice{Kind::kPidFile, "p", 0}));
  EXPECT_EQ(parsed("uri:d.0;tcp4://127.0.0.1:1"),
            (DvmChoice{Kind::kUri, "d.0;tcp4://127.0.0.1:1", 0}));
  EXPECT_EQ(parsed("file:f"), (DvmChoice{Kind::kUriFile, "f", 0}));
  EXPECT_EQ(parsed("ns:x@1"), (DvmChoice{Kind::kNamespace, "x@1", 0}));
  EXPECT_EQ(parsed("search"), DvmChoice{});
  EXPECT_EQ(parsed("system").kind, Kind::kSystem);
  EXPECT_EQ(parsed("system-first").kind, Kind::kSystemFirst);
}

TEST(ParseDvmChoice, Refusals) {
  for (const char* text :
       {"", "Night", "-x", "pid:0", "pid:x", "12x", "uri:x", "ns:", "foo:bar", "../up"}) {
    EXPECT_FALSE(parse_dvm_choice(text).ok()) << text;
  }
}

Result<DvmChoice> chosen(std::vector<std::string> words) {
  words.emplace_back("prog");
  return dvm_choice(*parse_command_line({"prun", Command::kRun, std::move(words)}));
}

TEST(DvmChoiceOfCommandLine, OneOptionAtMost) {
  EXPECT_EQ(*chosen({}), DvmChoice{});
  EXPECT_EQ(*chosen({"--pid", "17"}), (DvmChoice{Kind::kPid, {}, 17}));
  EXPECT_EQ(*chosen({"--pid", "file:p"}), (DvmChoice{Kind::kPidFile, "p", 0}));
  EXPECT_EQ(*chosen({"--dvm-uri", "file:u"}), (DvmChoice{Kind::kUriFile, "u", 0}));
  EXPECT_EQ(*chosen({"--namespace", "x"}), (DvmChoice{Kind::kNamespace, "x", 0}));
  EXPECT_EQ(chosen({"--system-server-first"})->kind, Kind::kSystemFirst);
  EXPECT_EQ(chosen({"--system-server-only"})->kind, Kind::kSystem);
  EXPECT_THAT(chosen({"--dvm", "a", "--pid", "1"}).error().message,
              HasSubstr("--dvm and --pid both choose the DVM"));
}

}  // namespace
}  // namespace tide::cli
