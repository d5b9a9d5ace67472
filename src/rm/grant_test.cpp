#include "rm/grant.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <map>

#include "base/text.hpp"
#include "hosts/host_word.hpp"
#include "say/granting.hpp"

namespace tide::rm {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Variables, files by path, and what commands print.
struct World {
  std::map<std::string, std::string, std::less<>> variables = {};
  std::map<std::string, std::string> files = {};
  std::map<std::string, std::string> commands = {};
};

Surroundings surroundings_of(const World& world) {
  return {.variable = [&world](std::string_view name) -> std::optional<std::string> {
            const auto found = world.variables.find(name);
            if (found == world.variables.end()) return std::nullopt;
            return found->second;
          },
          .file = [&world](const std::string& path) -> Result<std::string> {
            const auto found = world.files.find(path);
            if (found == world.files.end()) return say::grant_file_not_readable(path, ENOENT);
            return found->second;
          },
          .command = [&world](std::span<const std::string> argv) -> Result<std::string> {
            const auto found = world.commands.find(quote_argv(argv));
            if (found == world.commands.end()) {
              return Error{ErrorCode::kNotFound, "there is no flux"};
            }
            return found->second;
          }};
}

Result<std::optional<Grant>> grant_in(const World& world, std::string_view wanted = "auto") {
  return find_grant(wanted, surroundings_of(world));
}

// "slurm 17"
std::string around(const World& world, std::string_view wanted = "auto") {
  const auto found = find_job_around(wanted, surroundings_of(world));
  return found ? found->manager + " " + found->job : "none";
}

// "slurm 17 SLURM_JOB_NODELIST", "node1:4", …
std::vector<std::string> found_in(const World& world, std::string_view wanted = "auto") {
  const auto found = grant_in(world, wanted);
  if (!found) return {"error: " + found.error().message};
  if (!*found) return {"none"};
  const Grant& grant = **found;
  std::vector<std::string> out = {grant.manager + " " + grant.job + " " + grant.source};
  for (const auto& host : grant.hosts) {
    out.push_back(host.name + ":" + std::to_string(host.slots));
  }
  return out;
}

World slurm(const std::string& nodes, const std::string& slots) {
  return {.variables = {{"SLURM_JOB_ID", "17"},
                        {"SLURM_JOB_NODELIST", nodes},
                        {"SLURM_JOB_CPUS_PER_NODE", slots}}};
}

World pbs(const std::string& text) {
  return {.variables = {{"PBS_JOBID", "17.server"}, {"PBS_NODEFILE", "/aux/17"}},
          .files = {{"/aux/17", text}}};
}

World gridengine(const std::string& text) {
  return {.variables = {{"JOB_ID", "17"}, {"SGE_ROOT", "/sge"}, {"PE_HOSTFILE", "/pe/17"}},
          .files = {{"/pe/17", text}}};
}

World flux(const std::string& document) {
  return {.variables = {{"FLUX_URI", "local:///run/flux/local"}},
          .commands = {{"flux resource R -s up", document}}};
}

std::string resources(const std::string& entries, const std::string& nodes) {
  return R"({"version": 1, "execution": {"R_lite": [)" + entries + R"(], "starttime": 0.0,
    "expiration": 0.0, "nodelist": [)" +
         nodes + "]}}\n";
}

TEST(Grant, NobodyAroundIsNone) {
  EXPECT_THAT(found_in({}), ElementsAre("none"));
  EXPECT_THAT(found_in({.variables = {{"SLURM_JOB_ID", ""}, {"JOB_ID", "3"}}}), ElementsAre("none"))
      << "a variable without a value, and one that anybody may set";
  EXPECT_THAT(found_in({.variables = {{"SLURM_JOB_NODELIST", "a"}}}), ElementsAre("none"));
}

TEST(Grant, NoneLeavesTheJobAside) {
  EXPECT_THAT(found_in(slurm("node[1-4]", "4(x4)"), "none"), ElementsAre("none"));
  EXPECT_THAT(found_in(slurm("node[", "?"), "none"), ElementsAre("none"));
}

TEST(Grant, AJobIsAroundWhateverItsNodesAre) {
  const auto in_slurm = slurm("node[", "?");
  EXPECT_EQ(around(in_slurm), "slurm 17");
  EXPECT_EQ(around(in_slurm, "slurm"), "slurm 17");
  EXPECT_EQ(around(in_slurm, "pbs"), "none");
  EXPECT_EQ(around(in_slurm, "none"), "none");
  EXPECT_EQ(around({}), "none");
  EXPECT_EQ(around({.variables = {{"SLURM_JOB_ID", "--yes"}}}), "none") << "no id to show anybody";
}

TEST(Grant, OfSlurmHasTheCoresAsSlots) {
  EXPECT_THAT(found_in(slurm("node[1-2],gpu7", "4(x2),16")),
              ElementsAre("slurm 17 SLURM_JOB_NODELIST", "node1:4", "node2:4", "gpu7:16"));
  World tasks = slurm("node[1-2]", "4(x2)");
  tasks.variables["SLURM_TASKS_PER_NODE"] = "1(x2)";
  EXPECT_THAT(found_in(tasks), ElementsAre("slurm 17 SLURM_JOB_NODELIST", "node1:4", "node2:4"))
      << "how srun would use it is not what was granted";
  EXPECT_THAT(found_in({.variables = {{"SLURM_JOBID", "17"}, {"SLURM_NODELIST", "a,b"}}}),
              ElementsAre("slurm 17 SLURM_NODELIST", "a:0", "b:0"))
      << "in the old words, and without slots";
}

TEST(Grant, OfSlurmIsWhatTheJobHasNow) {
  World smaller = slurm("node[1-2]", "4(x2)");
  const auto asked = quote_argv(std::vector<std::string>{
      "env", "SLURM_TIME_FORMAT=%s", "scontrol", "--details", "--oneliner", "show", "job", "17"});
  smaller.commands[asked] =
      "JobId=17 JobState=RUNNING EndTime=100 NodeList=node2   Nodes=node2 CPU_IDs=0-2 Mem=0";
  EXPECT_THAT(found_in(smaller), ElementsAre("slurm 17 scontrol show job 17", "node2:3"))
      << "the environment is as old as the shell";
  for (const char* other :
       {"garbage", "JobId=18 JobState=RUNNING NodeList=node2 Nodes=node2 CPU_IDs=0",
        "JobId=17 JobState=COMPLETED NodeList=node2"}) {
    smaller.commands[asked] = other;
    EXPECT_THAT(found_in(smaller), ElementsAre("slurm 17 SLURM_JOB_NODELIST", "node1:4", "node2:4"))
        << other;
  }
}

TEST(Grant, OfSlurmSaysWhatDoesNotFit) {
  EXPECT_THAT(found_in(slurm("node[1-3]", "4(x2)")),
              ElementsAre(AllOf(HasSubstr("the nodes of Slurm job 17 can't be told: "
                                          "SLURM_JOB_NODELIST has 3 nodes, and "
                                          "SLURM_JOB_CPUS_PER_NODE has numbers for 2\n"),
                                HasSubstr("try: --prtemca ras none"))));
  EXPECT_THAT(found_in(slurm("node[1-3", "4(x3)")),
              ElementsAre(HasSubstr("SLURM_JOB_NODELIST, column 5: '[1-3' has a '['")));
  EXPECT_THAT(found_in(slurm("node1,--wrap=id", "4(x2)")),
              ElementsAre(HasSubstr("SLURM_JOB_NODELIST, column 7: '--wrap=id' begins with '-'")));
  EXPECT_THAT(found_in(slurm("node[1-2]", "4(x")),
              ElementsAre(HasSubstr("SLURM_JOB_CPUS_PER_NODE, column 1: '4(x'")));
  EXPECT_THAT(found_in(slurm("", "4")), ElementsAre(HasSubstr("SLURM_JOB_NODELIST is not set")));
  World odd = slurm("a", "4");
  odd.variables["SLURM_JOB_ID"] = "--jobid=3 x";
  EXPECT_THAT(found_in(odd), ElementsAre(HasSubstr("'--jobid=3 x' is no id of a job")));
}

TEST(Grant, OfSlurmInPartsIsNoneToUse) {
  World parts = slurm("node1", "4");
  parts.variables["SLURM_HET_SIZE"] = "2";
  EXPECT_THAT(found_in(parts), ElementsAre(HasSubstr("it is a heterogeneous job")));
  EXPECT_THAT(found_in(parts, "none"), ElementsAre("none"));
}

TEST(Grant, OfPbsCountsLines) {
  EXPECT_THAT(found_in(pbs("n1\nn1\nn2\r\n\nn1\n  n3.east  \n")),
              ElementsAre("pbs 17.server PBS_NODEFILE", "n1:3", "n2:1", "n3.east:1"));
  World without_id = pbs("n1");
  without_id.variables.erase("PBS_JOBID");
  EXPECT_THAT(found_in(without_id), ElementsAre("pbs  PBS_NODEFILE", "n1:1"));
}

TEST(Grant, OfPbsSaysWhatDoesNotFit) {
  EXPECT_THAT(found_in(pbs("n1\n-oProxyCommand=x\n")),
              ElementsAre(HasSubstr("PBS job 17.server can't be told: PBS_NODEFILE /aux/17:2:1: "
                                    "'-oProxyCommand=x' begins with '-'")));
  EXPECT_THAT(found_in(pbs("n1 4\n")), ElementsAre(HasSubstr("/aux/17:1:4: '4' is one word too")));
  EXPECT_THAT(found_in(pbs("n[1-2]\n")), ElementsAre(HasSubstr("/aux/17:1:1: 'n[1-2]'")));
  EXPECT_THAT(found_in(pbs("\n\n")), ElementsAre(HasSubstr("/aux/17 names no host")));
  World gone = pbs("");
  gone.files.clear();
  EXPECT_THAT(found_in(gone),
              ElementsAre(HasSubstr("PBS_NODEFILE: '/aux/17' can't be read: No such")));
  gone.variables.erase("PBS_NODEFILE");
  EXPECT_THAT(found_in(gone), ElementsAre(HasSubstr("PBS_NODEFILE is not set")));
  std::string many;
  for (std::size_t i = 0; i <= hosts::kMaxHosts; ++i) many += "n" + std::to_string(i) + "\n";
  EXPECT_THAT(found_in(pbs(many)), ElementsAre(HasSubstr("more than 100000 hosts")));
}

TEST(Grant, OfPalsIsTheFileOfPbs) {
  World world = pbs("n1\nn2\n");
  world.variables["PALS_APID"] = "c0ffee";
  EXPECT_THAT(found_in(world), ElementsAre("pals 17.server PBS_NODEFILE", "n1:1", "n2:1"));
  EXPECT_THAT(found_in(world, "pbs"), ElementsAre("pbs 17.server PBS_NODEFILE", "n1:1", "n2:1"));
  world.variables.erase("PBS_JOBID");
  EXPECT_THAT(found_in(world)[0], "pals c0ffee PBS_NODEFILE");
  world.variables.erase("PBS_NODEFILE");
  EXPECT_THAT(found_in(world), ElementsAre("none"));
  EXPECT_THAT(found_in(world, "pals"), ElementsAre(HasSubstr("PBS_NODEFILE is not set")));
}

TEST(Grant, OfLsfTakesWhateverIsThere) {
  World world{.variables = {{"LSB_JOBID", "17"},
                            {"LSB_MCPU_HOSTS", "h1 4 h2 2 h1 1 "},
                            {"LSB_DJOB_HOSTFILE", "/lsf/17"},
                            {"LSB_HOSTS", "h3 h4 h3"}},
              .files = {{"/lsf/17", "h5\nh5\nh6\n"}}};
  EXPECT_THAT(found_in(world), ElementsAre("lsf 17 LSB_MCPU_HOSTS", "h1:5", "h2:2"));
  world.variables.erase("LSB_MCPU_HOSTS");
  EXPECT_THAT(found_in(world), ElementsAre("lsf 17 LSB_DJOB_HOSTFILE", "h5:2", "h6:1"));
  world.variables.erase("LSB_DJOB_HOSTFILE");
  EXPECT_THAT(found_in(world), ElementsAre("lsf 17 LSB_HOSTS", "h3:2", "h4:1"));
  world.variables.erase("LSB_HOSTS");
  EXPECT_THAT(found_in(world), ElementsAre(HasSubstr("LSB_MCPU_HOSTS is not set")));
}

TEST(Grant, OfLsfSaysWhatDoesNotFit) {
  const auto told = [](const std::string& pairs) {
    return found_in({.variables = {{"LSB_JOBID", "17"}, {"LSB_MCPU_HOSTS", pairs}}})[0];
  };
  EXPECT_THAT(told("h1 4 h2"), HasSubstr("LSB_MCPU_HOSTS, column 8: '' is no number of slots"));
  EXPECT_THAT(told("h1 h2"), HasSubstr("column 4: 'h2' is no number"));
  EXPECT_THAT(told("h1 0"), HasSubstr("column 4: '0' is no number"));
  EXPECT_THAT(told("h1 99999999999"), HasSubstr("is no number"));
  EXPECT_THAT(told("h;1 4"), HasSubstr("column 1: 'h;1'"));
}

TEST(Grant, OfGridEngineAddsUpQueues) {
  EXPECT_THAT(found_in(gridengine("n1.east 4 all.q@n1.east UNDEFINED\n"
                                  "n2.east 2 all.q@n2.east <NULL>\n"
                                  "n1.east 1 fast.q@n1.east UNDEFINED\n")),
              ElementsAre("gridengine 17 PE_HOSTFILE", "n1.east:5", "n2.east:2"));
  EXPECT_THAT(found_in(gridengine("n1\n")), ElementsAre(HasSubstr("/pe/17:1:3: '' is no number")));
  EXPECT_THAT(
      found_in(gridengine("n1 4\nn2 many q\n")),
      ElementsAre(HasSubstr("Grid Engine job 17 can't be told: PE_HOSTFILE /pe/17:2:4: 'many'")));
  EXPECT_THAT(found_in(gridengine("")), ElementsAre(HasSubstr("names no host")));
}

TEST(Grant, OfFluxHasTheCoresOfEachRank) {
  const std::string two = R"({"rank": "0,2", "children": {"core": "0-3", "gpu": "0"}},
                             {"rank": "1", "children": {"core": "[0-6,9]"}})";
  EXPECT_THAT(found_in(flux(resources(two, R"("tux[7-8]", "rome")"))),
              ElementsAre("flux  flux resource R -s up", "tux7:4", "tux8:8", "rome:4"));
  EXPECT_THAT(found_in(flux(resources(two, R"("tux7,rome,tux7")"))),
              ElementsAre("flux  flux resource R -s up", "tux7:8", "rome:8"))
      << "several ranks on one node";
  World inside = flux("");
  inside.variables["FLUX_JOB_ID"] = "\u0192abc";
  inside.commands = {{quote_argv(std::vector<std::string>{"flux", "job", "info", "\u0192abc", "R"}),
                      resources(R"({"rank": "5", "children": {"core": "2"}})", R"("tux5")")}};
  EXPECT_THAT(found_in(inside)[1], "tux5:1");
}

TEST(Grant, OfFluxSaysWhatDoesNotFit) {
  const std::string one = R"({"rank": "0", "children": {"core": "0-3"}})";
  for (const auto& broken :
       {std::string(), std::string("{"), std::string("[]"), std::string("{\"execution\": 3}"),
        std::string(200'000, '['), resources("3", "\"a\""), resources("{}", "\"a\""),
        resources(R"({"rank": 0, "children": {"core": "0"}})", "\"a\""),
        resources(R"({"rank": "0", "children": {"core": "3-0"}})", "\"a\""),
        resources(R"({"rank": "0", "children": {"core": "0-99999"}})", "\"a\""),
        resources(R"({"rank": "0-99999999999", "children": {"core": "0"}})", "\"a\""),
        resources(R"({"rank": "0-", "children": {"core": "0"}})", "\"a\""), resources(one, "3")}) {
    EXPECT_THAT(found_in(flux(broken)),
                ElementsAre(HasSubstr("what 'flux resource R -s up' prints has no")))
        << broken.substr(0, 200);
  }
  EXPECT_THAT(found_in(flux(resources(one, R"("a[1-2]")"))),
              ElementsAre(HasSubstr("nodelist has 2 nodes, and R_lite has numbers for 1")));
  EXPECT_THAT(found_in(flux(resources(one, "\"$(id)\""))),
              ElementsAre(HasSubstr("flux resource R -s up, column 1: '$'")));
  EXPECT_THAT(found_in(flux(resources("", ""))), ElementsAre(HasSubstr("names no host")));
  World gone = flux("");
  gone.commands.clear();
  EXPECT_THAT(found_in(gone), ElementsAre(HasSubstr("the nodes of the Flux job can't be told: "
                                                    "there is no flux")));
}

TEST(Grant, TheInnermostCounts) {
  World all = flux(resources(R"({"rank": "0", "children": {"core": "0"}})", R"("f")"));
  all.variables.merge(slurm("s", "4").variables);
  all.variables.merge(pbs("").variables);
  all.variables.merge(gridengine("").variables);
  all.variables["LSB_JOBID"] = "17";
  all.variables["LSB_HOSTS"] = "l";
  all.variables["PALS_NODEID"] = "0";
  all.files = {{"/aux/17", "p\n"}, {"/pe/17", "g 1 q\n"}};
  for (const auto* const expected :
       {"flux FLUX_URI", "slurm SLURM_JOB_ID", "pals PALS_NODEID", "pbs PBS_JOBID PBS_NODEFILE",
        "lsf LSB_JOBID", "gridengine PE_HOSTFILE"}) {
    const auto words = split(expected, ' ');
    const auto found = grant_in(all);
    ASSERT_TRUE(found && *found) << expected;
    EXPECT_EQ((*found)->manager, words[0]);
    for (std::size_t i = 1; i < words.size(); ++i) all.variables.erase(words[i]);
  }
  EXPECT_THAT(found_in(all), ElementsAre("none"));
}

TEST(Grant, WhatIsNamedHasToBeThere) {
  World both = slurm("s", "4");
  both.variables.merge(pbs("").variables);
  both.files = {{"/aux/17", "p\n"}};
  EXPECT_THAT(found_in(both, "pbs"), ElementsAre("pbs 17.server PBS_NODEFILE", "p:1"));
  EXPECT_THAT(found_in(both, "slurm"), ElementsAre("slurm 17 SLURM_JOB_NODELIST", "s:4"));
  EXPECT_THAT(
      found_in(both, "lsf"),
      ElementsAre(AllOf(HasSubstr("ras wants LSF, and this is no job of it: LSB_JOBID is not set"),
                        HasSubstr("try: the same from within a job"))));
  EXPECT_THAT(found_in({}, "slurm"), ElementsAre(HasSubstr("SLURM_JOB_ID is not set")));
  EXPECT_THAT(found_in({}, "flux"), ElementsAre(HasSubstr("FLUX_JOB_ID is not set")));
  EXPECT_THAT(found_in({}, "gridengine"), ElementsAre(HasSubstr("PE_HOSTFILE is not set")));
}

}  // namespace
}  // namespace tide::rm
