#include "launch/launcher_choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "launch/scheduler_templates.hpp"

namespace tide::launch {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Result<LauncherChoice> choose(const LauncherQuestion& question,
                              const std::set<std::string>& installed = {}) {
  return choose_launcher(question, [&](const std::string& name) -> std::optional<std::string> {
    if (!installed.contains(name)) return std::nullopt;
    return "/usr/bin/" + name;
  });
}

std::string error_of(const LauncherQuestion& question,
                     const std::set<std::string>& installed = {}) {
  const auto choice = choose(question, installed);
  return choice ? "it was chosen: " + choice->why : choice.error().message;
}

TEST(LauncherChoice, TheCommandOfTheJobIsTakenWhereItIsInstalled) {
  const auto choice = choose({.manager = "slurm", .job = "17"}, {"srun"});
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->kind, LauncherKind::kStep);
  EXPECT_TRUE(choice->is_slurms);
  EXPECT_FALSE(choice->pattern.each);
  EXPECT_EQ(choice->why, "srun of Slurm job 17, found at /usr/bin/srun");
}

TEST(LauncherChoice, EachSchedulerHasItsOwn) {
  const auto kind_of = [](const std::string& manager, const std::string& program) {
    const auto choice = choose({.manager = manager}, {program});
    return choice && choice->kind == LauncherKind::kStep && !choice->is_slurms;
  };
  EXPECT_TRUE(kind_of("flux", "flux"));
  EXPECT_TRUE(kind_of("lsf", "blaunch"));
  EXPECT_TRUE(kind_of("gridengine", "qrsh"));
  EXPECT_TRUE(kind_of("pals", "mpiexec"));
  EXPECT_FALSE(template_of("pbs"));
  EXPECT_FALSE(template_of(""));
}

TEST(LauncherChoice, SshIsTakenWhereThereIsNoCommandAndSaysWhy) {
  const auto why = [](const LauncherQuestion& question) {
    const auto choice = choose(question, {"mpiexec"});
    EXPECT_TRUE(choice && choice->kind == LauncherKind::kAgent);
    return choice->why;
  };
  EXPECT_EQ(why({}), "ssh, because this is no scheduler's job");
  EXPECT_EQ(why({.manager = "slurm", .job = "17"}),
            "ssh, because srun of Slurm job 17 is not in the PATH");
  EXPECT_THAT(why({.manager = "pbs", .job = "17"}), StartsWith("ssh, because PBS has no command"));
  EXPECT_EQ(why({.manager = "pals", .plm = "ssh"}), "ssh, as the parameter plm says");
}

TEST(LauncherChoice, WhatTheUserWantsAndCannotBeIsAnError) {
  EXPECT_THAT(error_of({.plm = "slurm"}, {"srun"}),
              StartsWith("the parameter plm wants Slurm, and this is no scheduler's job"));
  EXPECT_THAT(error_of({.manager = "lsf", .job = "4", .plm = "slurm"}, {"srun"}),
              StartsWith("the parameter plm wants Slurm, and this is LSF job 4"));
  EXPECT_THAT(error_of({.manager = "slurm", .plm = "slurm"}),
              HasSubstr("'srun' is not in the PATH"));
  EXPECT_TRUE(choose({.manager = "slurm", .plm = "slurm"}, {"srun"}));
}

TEST(LauncherChoice, ACommandOfTheUserComesFirst) {
  const auto all =
      choose({.manager = "slurm", .command_all = "run -n {count} {command}"}, {"srun", "run"});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->pattern.line, "run -n {count} {command}");
  EXPECT_FALSE(all->pattern.each || all->is_slurms);
  EXPECT_EQ(all->why, "run, as the parameter plm_command_all says");
  EXPECT_TRUE(choose({.command_each = "go {host}"}, {"go"})->pattern.each);
  EXPECT_THAT(error_of({.command_all = "run"}, {"srun"}), HasSubstr("'run' is not in the PATH"));
  EXPECT_THAT(error_of({.command_all = "'"}), HasSubstr("no command"));
  EXPECT_THAT(error_of({.command_all = "a", .command_each = "b"}, {"a", "b"}),
              HasSubstr("plm_command_each"));
  EXPECT_EQ(choose({.plm = "ssh", .command_all = "run"}, {"run"})->kind, LauncherKind::kAgent);
}

}  // namespace
}  // namespace tide::launch
