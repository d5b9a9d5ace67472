#include "cli/job_request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_files.hpp"
#include "wire/client.pb.h"

namespace tide::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr const char* kEnvironment[] = {"HOME=/home/me", nullptr};

Result<JobRequest> request(std::vector<std::string> words) {
  Result<CommandLine> line = parse_command_line({"prun", Command::kRun, std::move(words)});
  if (!line) return line.error();
  return make_job_request(*line, Environment(kEnvironment), "/here");
}

TEST(MakeJobRequest, DefaultsAreOnePerSlotHereAndInputToRankZero) {
  const Result<JobRequest> made = request({"hostname", "-f"});
  ASSERT_TRUE(made.ok());
  const wire::JobSpec& job = made->job;
  ASSERT_EQ(job.apps_size(), 1);
  EXPECT_THAT(job.apps(0).argv(), ElementsAre("hostname", "-f"));
  EXPECT_EQ(job.apps(0).processes(), 0U);
  EXPECT_EQ(job.apps(0).working_directory(), "/here");
  EXPECT_EQ(job.apps(0).hosts_size(), 0);
  EXPECT_EQ(job.map_by(), wire::JobSpec::SLOT);
  EXPECT_FALSE(job.oversubscribe());
  EXPECT_EQ(job.stdin_rank(), 0);
  EXPECT_EQ(job.timeout_ms(), 0U);
  EXPECT_EQ(made->output, OutputStyle{});
}

TEST(MakeJobRequest, StacksMayBeWantedWithoutATimeLimit) {
  EXPECT_FALSE(request({"p"})->job.runtime().get_stack_traces());
  EXPECT_TRUE(request({"--get-stack-traces", "p"})->job.runtime().get_stack_traces());
}

// A head that can't read a request drops the client without a word about the reason.
TEST(MakeJobRequest, WordsNeedNotBeUtf8) {
  const Result<JobRequest> made = request({"--wdir", "\xfe", "p\xff", "\x80"});
  ASSERT_TRUE(made.ok());
  wire::JobSpec received;
  ASSERT_TRUE(received.ParseFromString(made->job.SerializeAsString()));
  EXPECT_EQ(received.apps(0).argv(0), "p\xff");
  wire::JobRef ref;
  ref.set_nspace("\xff@1");
  EXPECT_TRUE(wire::JobRef().ParseFromString(ref.SerializeAsString()));
}

// row:E17
TEST(MakeJobRequest, NodesToAdd) {
  const testing::TemporaryDirectory directory;
  const auto file = directory.file("more");
  testing::write_text(file, "c slots=3\n");
  const auto made = request({"--add-host", "a,me@b:2", "p", ":", "--add-hostfile", file, "q"});
  ASSERT_TRUE(made.ok()) << made.error().message;
  ASSERT_EQ(made->job.add_hosts_size(), 3);
  EXPECT_EQ(made->job.add_hosts(1).node(), "b");
  EXPECT_EQ(made->job.add_hosts(1).user(), "me");
  EXPECT_EQ(made->job.add_hosts(2).slots(), 3U);
  EXPECT_EQ(made->job.apps(0).hosts_size(), 0) << "they choose nothing";
  EXPECT_FALSE(made->job.has_activate());

  EXPECT_EQ(request({"--activate", "+n12", "p"})->job.activate().count(), 12U);
  EXPECT_TRUE(request({"--activate", "+All", "p"})->job.activate().all());
  EXPECT_EQ(request({"--activate", "v3,v4", "p"})->job.activate().hosts(1).node(), "v4");
  EXPECT_EQ(request({"--activate", "file=" + file, "p"})->job.activate().hosts(0).node(), "c");
  for (const char* bad : {"+two", "+n0", "+n", "+", "+n1,v2", "+e", "+n9999999"}) {
    EXPECT_THAT(request({"--activate", bad, "p"}).error().message, HasSubstr(bad));
  }
  EXPECT_THAT(request({"--activate", "v1,+n0", "p"}).error().message, HasSubstr("'+n0'"));
  EXPECT_THAT(request({"--add-host", "^a", "p"}).error().message, HasSubstr("'^a'"));
  EXPECT_FALSE(request({"--activate", "+n1", "--activate", "+n2", "p"}).ok());
}

TEST(MakeJobRequest, EverythingTogether) {
  const Result<JobRequest> made =
      request({"-np", "4", "-H", "a:2,b", "--host", "c", "--wdir", "sub", "-x", "HOME", "--mapby",
               "node:over", "--timeout", "90s", "--stdin", "2", "--output", "tag", "p"});
  ASSERT_TRUE(made.ok()) << made.error().message;
  const wire::AppSpec& app = made->job.apps(0);
  EXPECT_EQ(app.processes(), 4U);
  EXPECT_EQ(app.hosts_size(), 3);
  EXPECT_EQ(app.working_directory(), "/here/sub");
  EXPECT_EQ(app.environment(0).value(), "/home/me");
  EXPECT_EQ(made->job.map_by(), wire::JobSpec::NODE);
  EXPECT_TRUE(made->job.oversubscribe());
  EXPECT_EQ(made->job.timeout_ms(), 90'000U);
  EXPECT_EQ(made->job.stdin_rank(), 2);
  EXPECT_TRUE(made->output.tag);
}

TEST(MakeJobRequest, HostsAreCarriedAsTheyAreMeant) {
  const tide::testing::TemporaryDirectory directory;
  const std::string file = directory.file("nodes");
  tide::testing::write_text(file, "a slots=2 max-slots=3\n^b\n");
  const auto made = request({"--host", "n[1-2]:2,+n3", "-H", "+e:2", "--hostfile", file, "p"});
  ASSERT_TRUE(made.ok()) << made.error().message;
  const wire::AppSpec& app = made->job.apps(0);
  ASSERT_EQ(app.hosts_size(), 4);
  EXPECT_EQ(app.hosts(1).node(), "n2");
  EXPECT_EQ(app.hosts(1).slots(), 2U);
  EXPECT_EQ(app.hosts(2).kind(), wire::HostRequest::INDEX);
  EXPECT_EQ(app.hosts(2).number(), 3U);
  EXPECT_EQ(app.hosts(2).column(), 10U);
  EXPECT_EQ(app.hosts(3).kind(), wire::HostRequest::EMPTY);
  EXPECT_EQ(app.hosts(3).number(), 2U);
  EXPECT_EQ(app.hosts(3).source(), "-H");
  ASSERT_EQ(app.hostfile_size(), 2);
  EXPECT_EQ(app.hostfile(0).max_slots(), 3U);
  EXPECT_TRUE(app.hostfile(1).excluded());
  EXPECT_EQ(app.hostfile(1).line(), 2U);
  EXPECT_EQ(app.hostfile(1).source(), file);
}

TEST(MakeJobRequest, EachProgramHasItsOwnOptions) {
  const Result<JobRequest> made =
      request({"-n", "2", "-x", "A=1", "a", ":", "-n", "1", "--wdir", "/w", "--bynode", "b"});
  ASSERT_TRUE(made.ok());
  ASSERT_EQ(made->job.apps_size(), 2);
  EXPECT_EQ(made->job.apps(0).environment_size(), 1);
  EXPECT_EQ(made->job.apps(0).working_directory(), "/here");
  EXPECT_EQ(made->job.apps(1).processes(), 1U);
  EXPECT_EQ(made->job.apps(1).environment_size(), 0);
  EXPECT_EQ(made->job.apps(1).working_directory(), "/w");
  EXPECT_EQ(made->job.map_by(), wire::JobSpec::NODE);
}

TEST(MakeJobRequest, OldSpellingsMeanTheSame) {
  EXPECT_TRUE(request({"--oversubscribe", "a"})->job.oversubscribe());
  EXPECT_TRUE(request({"--tag-output", "a"})->output.tag);
  EXPECT_TRUE(request({"--merge-stderr-to-stdout", "a"})->output.merge_stderr);
}

TEST(MakeJobRequest, TargetsAreReservationsAndTheDefaultSession) {
  EXPECT_FALSE(request({"p"})->job.has_targets()) << "not said is not the default session";
  const auto made = request({"--target", "a1,a3,Default,a1", "p"});
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_THAT(made->job.targets().allocations(), ElementsAre("a1", "a3"));
  EXPECT_TRUE(made->job.targets().default_session());
  const auto one = request({"--alloc-id", "a2", "--alloc-refid", "ensemble,2", "p"});
  ASSERT_TRUE(one.ok()) << one.error().message;
  EXPECT_THAT(one->job.targets().allocations(), ElementsAre("a2"));
  EXPECT_FALSE(one->job.targets().default_session());
  EXPECT_EQ(one->target_request, "ensemble,2") << "a name of any kind, and one";
  const auto only_default = request({"--target", "default", "p"});
  EXPECT_TRUE(only_default->job.has_targets());
  EXPECT_THAT(only_default->job.targets().allocations(), ::testing::IsEmpty());
  EXPECT_THAT(request({"--target", "a1,", "p"}).error().message,
              HasSubstr("an entry without a name"));
  EXPECT_THAT(request({"--target", "", "p"}).error().message, HasSubstr("without a name"));
  EXPECT_THAT(request({"--alloc-refid", "", "p"}).error().message, HasSubstr("is empty"));
  EXPECT_THAT(request({"--target", "a1", "--alloc-id", "a2", "p"}).error().message,
              HasSubstr("the same option"));
  EXPECT_THAT(request({"--session-id", "7", "p"}).error().message,
              HasSubstr("sessions have no numbers here\n  try: --alloc-id"));
}

TEST(MakeJobRequest, Refusals) {
  EXPECT_THAT(request({"-n", "0", "a"}).error().message, HasSubstr("between 1"));
  EXPECT_THAT(request({"-n", "-4", "a"}).error().message, HasSubstr("between 1"));
  EXPECT_THAT(request({"-n", "two", "a"}).error().message, HasSubstr("'two' is no number"));
  EXPECT_THAT(request({"--wdir", "", "a"}).error().message, HasSubstr("empty directory"));
  EXPECT_THAT(request({"--oversubscribe", "--map-by", ":noover", "a"}).error().message,
              HasSubstr("both"));
  EXPECT_FALSE(request({"--timeout", "x", "a"}).ok());
  EXPECT_FALSE(request({"--stdin", "x", "a"}).ok());
  EXPECT_FALSE(request({"--host", "", "a"}).ok());
  EXPECT_THAT(request({"--host", "v1:0", "a"}).error().message, HasSubstr("--host, column 4"));
  EXPECT_THAT(request({"--hostfile", "/nowhere", "a"}).error().message, HasSubstr("can't be read"));
  EXPECT_FALSE(request({"--set-env", "x", "a"}).ok());
}

TEST(CommandLineParams, InTheOrderGiven) {
  const auto line = parse_command_line(
      {"prun", Command::kRun, {"--prtemca", "a", "1", "p", ":", "--prtemca", "b", "2", "q"}});
  EXPECT_THAT(command_line_params(*line), ElementsAre(Pair("a", "1"), Pair("b", "2")));
  const auto up =
      parse_command_line({"tide up", Command::kUp, {"--set-slots", "2", "--max-vm-size", "3"}});
  EXPECT_THAT(command_line_params(*up),
              ElementsAre(Pair("prte_set_default_slots", "2"), Pair("prte_max_vm_size", "3")));
}

}  // namespace
}  // namespace tide::cli
