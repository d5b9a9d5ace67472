#include "cli/head_arguments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tide::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

CommandLine line_of(Command command, std::vector<std::string> words) {
  const auto line = parse_command_line({"it", command, std::move(words)});
  EXPECT_TRUE(line) << line.error().message;
  return *line;
}

std::vector<std::string> up(std::vector<std::string> words) {
  std::vector<std::string> argv;
  add_head_options(line_of(Command::kUp, std::move(words)), argv);
  return argv;
}

std::vector<std::string> prterun(std::vector<std::string> words) {
  std::vector<std::string> argv;
  add_head_options(line_of(Command::kOneShot, std::move(words)), argv);
  return argv;
}

std::string trouble(Command command, std::vector<std::string> words) {
  const auto status = check_hosts(line_of(command, std::move(words)));
  return status ? "" : status.error().message;
}

TEST(HeadArguments, HostsOfADvmGoToTheHead) {
  EXPECT_THAT(up({"--host", "a,b:2", "-H", "c", "--machinefile", "F", "--set-slots", "2",
                  "--max-vm-size", "3", "--default-hostfile", "D"}),
              ElementsAre("--hostfile", "F", "--host", "a,b:2", "--host", "c", "--set-slots", "2",
                          "--max-vm-size", "3", "--default-hostfile", "D"));
}

TEST(HeadArguments, WhatADvmCanGrowByGoesToTheHead) {
  EXPECT_THAT(up({"--nodes", "2", "--elastic", "--pool", "6"}),
              ElementsAre("--nodes", "2", "--elastic", "--pool", "6"));
  EXPECT_THAT(
      up({"--elastic", "--host", "a", "--pool-hostfile", "P", "--pool-hostfile", "Q"}),
      ElementsAre("--host", "a", "--elastic", "--pool-hostfile", "P", "--pool-hostfile", "Q"));
}

TEST(HeadArguments, ACheckTakesTheHostsAndWaysOfAStart) {
  std::vector<std::string> argv;
  add_head_options(line_of(Command::kCheck, {"--host", "a", "--prefix", "/opt/t", "--noprefix",
                                             "--launch-agent", "x y", "--prtemca", "p", "v"}),
                   argv);
  EXPECT_THAT(argv, ElementsAre("--host", "a", "--prefix", "/opt/t", "--noprefix", "--launch-agent",
                                "x y", "--prtemca", "p", "v"));
  EXPECT_THAT(trouble(Command::kCheck, {}), IsEmpty()) << "a scheduler may have granted some";
  EXPECT_THAT(trouble(Command::kCheck, {"--default-hostfile", "F"}), IsEmpty());
  EXPECT_THAT(trouble(Command::kCheck, {"--host", "a,,b"}), HasSubstr("--host, column 3"));
}

TEST(HeadArguments, APrivateDvmHasTheHostsOfItsJob) {
  EXPECT_THAT(prterun({"--host", "a", "p"}), ElementsAre("--host", "a"));
  EXPECT_THAT(prterun({"--hostfile", "F", "--host", "+n0", "p"}),
              ElementsAre("--hostfile", "F", "--host", "+n0"));
  EXPECT_THAT(prterun({"--host", "a", "p", ":", "--host", "b", "q"}),
              ElementsAre("--host", "a", "--host", "b"));
}

TEST(HeadArguments, SeveralProgramsChooseEachAmongAllHostsOfTheFiles) {
  EXPECT_THAT(prterun({"--hostfile", "F", "--host", "+n0", "p", ":", "--hostfile", "F", "q", ":",
                       "--hostfile", "G", "r"}),
              ElementsAre("--hostfile", "F", "--hostfile", "G"));
  EXPECT_TRUE(hosts_are_the_dvm(line_of(Command::kOneShot, {"--host", "a", "p"})));
  EXPECT_FALSE(hosts_are_the_dvm(line_of(Command::kOneShot, {"--host", "a", "p", ":", "q"})));
}

TEST(HeadArguments, WithNodesHostsChooseAmongThem) {
  const std::vector<std::string> words = {"--nodes", "2", "--host", "v1", "p"};
  EXPECT_THAT(prterun(words), ElementsAre("--nodes", "2"));
  EXPECT_FALSE(hosts_are_the_dvm(line_of(Command::kOneShot, words)));
  EXPECT_FALSE(hosts_are_the_dvm(line_of(Command::kRun, {"--host", "v1", "p"})));
}

TEST(CheckHosts, SaysWhatIsWrongBeforeAnythingStarts) {
  EXPECT_THAT(trouble(Command::kUp, {"--host", "a,,b"}), HasSubstr("--host, column 3"));
  EXPECT_THAT(trouble(Command::kUp, {"--hostfile", "/nowhere"}), IsEmpty());
  EXPECT_THAT(trouble(Command::kUp, {"--nodes", "2", "-H", "a"}),
              HasSubstr("--nodes makes nodes of this machine, and -H names machines"));
  EXPECT_THAT(trouble(Command::kOneShot, {"--nodes", "2", "--default-hostfile", "a", "p"}),
              HasSubstr("and --default-hostfile names machines"));
  EXPECT_THAT(trouble(Command::kOneShot, {"--nodes", "2", "--host", "v1", "p"}), IsEmpty());
  EXPECT_THAT(trouble(Command::kUp, {"--host", "a,b:2"}), IsEmpty());
}

}  // namespace
}  // namespace tide::cli
