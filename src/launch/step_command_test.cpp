#include "launch/step_command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "exec/test_support.hpp"
#include "launch/scheduler_templates.hpp"

namespace tide::launch {
namespace {

using exec::testing::TemporaryDirectory;
using exec::testing::write_text;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class StepCommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"srun", "mpiexec"}) {
      write_text(folder_.file(name), "#!/bin/sh\n");
      ASSERT_EQ(::chmod(folder_.file(name).c_str(), 0755), 0);
    }
  }
  Result<StepCommand> choose(const std::string& line, const std::string& args = "") {
    return StepCommand::choose({.pattern = {.line = line, .try_by_hand = ""},
                                .args = args,
                                .program = {"/opt/a b/prted", "--step"}},
                               folder_.path());
  }
  std::vector<std::string> argv(const std::string& line, const std::string& args = "") {
    auto command = choose(line, args);
    if (!command) return {command.error().message};
    auto words = command->argv("17", {"node3", "node1", "node2"});
    return words ? *words : std::vector<std::string>{words.error().message};
  }

  TemporaryDirectory folder_;
};

TEST_F(StepCommandTest, WordsAreFilledInAndStayWords) {
  EXPECT_THAT(argv("mpiexec -n {count} --hosts={hosts} 'a {job}' {args} -- {command}", "-v '-x y'"),
              ElementsAre("mpiexec", "-n", "3", "--hosts=node3,node1,node2", "a 17", "-v", "-x y",
                          "--", "/opt/a b/prted", "--step"));
  EXPECT_THAT(argv("mpiexec {host} {hosts}"),
              ElementsAre("mpiexec", "node3", "node3,node1,node2", "/opt/a b/prted", "--step"));
  EXPECT_THAT(argv("mpiexec {ranges} {other}"),
              ElementsAre("mpiexec", "node[1-3]", "{other}", "/opt/a b/prted", "--step"));
}

TEST_F(StepCommandTest, SlurmsTakesOneTaskForEachNodeOfTheJob) {
  const auto words = argv(template_of("slurm")->line, "--reservation=x");
  for (const char* word : {"--jobid=17", "--nodes=3", "--ntasks=3", "--ntasks-per-node=1",
                           "--nodelist=node[1-3]", "--overlap", "--wait=0", "--kill-on-bad-exit=0",
                           "--no-kill", "--input=all", "--label", "--reservation=x"}) {
    EXPECT_THAT(words, Contains(word));
  }
  EXPECT_EQ(words.back(), "--step");
  const auto command = StepCommand::choose({.pattern = *template_of("slurm")}, folder_.path());
  EXPECT_EQ(command->by_hand("17", "node3"),
            "srun --jobid=17 --overlap --nodelist=node3 --nodes=1 --ntasks=1 hostname");
  const auto other = StepCommand::choose(
      {.pattern = *template_of("slurm"), .args = "--reservation=x"}, folder_.path());
  EXPECT_THAT(other->by_hand("17", "node3"), HasSubstr("--overlap --reservation=x --nodelist"));
}

TEST_F(StepCommandTest, WhatCannotBeAHostOrAJobComesIntoNoCommand) {
  const auto command = choose("mpiexec {hosts}");
  for (const char* host : {"-x", "", "a,b", "node[1-3]", "a b", "a;b", "$x", "a\nb", "../a"}) {
    EXPECT_FALSE(command->argv("17", {"node1", host}).ok()) << host;
  }
  for (const char* job : {"-v", "17 18", "17;ls", "$(x)"}) {
    EXPECT_FALSE(command->argv(job, {"node1"}).ok()) << job;
  }
  for (const char* job : {"", "17", "17.server", "17[3]", "f23X", "\u0192Hd3"}) {
    EXPECT_TRUE(command->argv(job, {"node-1.a_b"}).ok()) << job;
  }
}

TEST_F(StepCommandTest, WithoutAJobThereIsNoWordAboutIt) {
  const auto command = choose("mpiexec --job={job} -n {count} {command}");
  EXPECT_THAT(*command->argv("", {"node1"}),
              ElementsAre("mpiexec", "-n", "1", "/opt/a b/prted", "--step"));
}

TEST_F(StepCommandTest, AListThatIsTooLongIsNamed) {
  std::vector<std::string> hosts;
  for (int i = 0; i < 20'000; ++i) hosts.push_back("node" + std::to_string(i) + "x");
  const auto words = choose("mpiexec {hosts}")->argv("17", hosts);
  ASSERT_FALSE(words.ok());
  EXPECT_THAT(words.error().message, HasSubstr("20000 hosts"));
}

TEST_F(StepCommandTest, WhatCannotBeUsedIsRefusedWithAReason) {
  EXPECT_THAT(choose("aprun {command}").error().message, HasSubstr("'aprun' is not in the PATH"));
  EXPECT_THAT(choose("").error().message, HasSubstr("nothing in it"));
  EXPECT_THAT(choose("mpiexec '").error().message, HasSubstr("a quote is not closed"));
  EXPECT_THAT(choose("mpiexec", "\"").error().message, HasSubstr("a quote is not closed"));
}

}  // namespace
}  // namespace tide::launch
