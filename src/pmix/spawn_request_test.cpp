#include "pmix/spawn_request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pmix.h>
#include <tide/pmix_keys.h>

#include "base/test_files.hpp"
#include "pmix/info_list.hpp"
#include "pmix/left_out_keys.hpp"

namespace tide::pmix {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// One app, and the infos that a test gives to it and to the job.
class SpawnRequest : public ::testing::Test {
 public:
  ~SpawnRequest() override { PMIX_APP_DESTRUCT(&app_); }

 protected:
  SpawnRequest() {
    PMIX_APP_CONSTRUCT(&app_);
    app_.cmd = ::strdup("/bin/program");
    app_.maxprocs = 3;
    set(app_.argv, {"program", "argument"});
  }
  static void set(char**& list, const std::vector<std::string>& texts) {
    for (const auto& text : texts) {
      pmix_status_t status = PMIX_SUCCESS;
      PMIX_ARGV_APPEND(status, list, text.c_str());
      ASSERT_EQ(status, PMIX_SUCCESS);
    }
  }
  pmix_status_t read() {
    request_ = {};
    const auto job_info = job_.finish();
    const auto app_info = of_app_.finish();
    app_.info = app_info->data();
    app_.ninfo = app_info->size();
    const pmix_status_t status = read_spawn(job_info->data(), job_info->size(), &app_, 1, request_);
    app_.info = nullptr;
    app_.ninfo = 0;
    return status;
  }
  void envar(InfoList& list, const char* key, std::string name, std::string value, char separator) {
    pmix_envar_t variable{name.data(), value.data(), separator};
    pmix_info_t info{};
    PMIX_INFO_LOAD(&info, key, &variable, PMIX_ENVAR);
    list.take(info);
  }
  void require(const char* key) {
    pmix_info_t info{};
    PMIX_INFO_LOAD(&info, key, "text", PMIX_STRING);
    info.flags |= PMIX_INFO_REQD;
    job_.take(info);
  }
  // Texts as an array; null ones as libpmix has them.
  static void texts(InfoList& list, const char* key, const std::vector<const char*>& all) {
    auto** names = static_cast<char**>(list.new_array(key, all.size(), PMIX_STRING));
    for (std::size_t index = 0; index < all.size(); ++index) {
      if (all[index] != nullptr) names[index] = ::strdup(all[index]);
    }
  }
  // What a single entry for the job comes to.
  pmix_status_t read_text(const char* key, const std::string& value) {
    job_.text(key, value);
    return read();
  }
  [[nodiscard]] const wire::JobSpec& job() const { return request_.spawn().job(); }
  [[nodiscard]] const wire::AppSpec& app() const { return job().apps(0); }

  pmix_app_t app_{};
  InfoList job_;
  InfoList of_app_;
  wire::ServiceRequest request_;
};

TEST_F(SpawnRequest, AnAppWithoutAnyDirective) {
  set(app_.env, {"NAME=value=more", "EMPTY="});
  app_.cwd = ::strdup("/tmp");
  ASSERT_EQ(read(), PMIX_SUCCESS);
  EXPECT_THAT(app().argv(), ElementsAre("/bin/program", "argument"));
  EXPECT_EQ(app().processes(), 3U);
  EXPECT_EQ(app().working_directory(), "/tmp");
  ASSERT_THAT(app().environment(), SizeIs(2));
  EXPECT_EQ(app().environment(0).kind(), wire::EnvDirective::SET);
  EXPECT_EQ(app().environment(0).name(), "NAME");
  EXPECT_EQ(app().environment(0).value(), "value=more");
  EXPECT_EQ(app().environment(1).value(), "");
  EXPECT_THAT(app().hosts(), IsEmpty());
  EXPECT_EQ(job().stdin_rank(), -1);
  EXPECT_EQ(job().timeout_ms(), 0U);
  EXPECT_FALSE(job().oversubscribe());
}

TEST_F(SpawnRequest, DebuggerDaemonsBelongToAJob) {
  of_app_.flag(PMIX_DEBUGGER_DAEMONS, true);
  EXPECT_EQ(read(), PMIX_ERR_BAD_PARAM) << "whose?";
  of_app_.flag(PMIX_DEBUGGER_DAEMONS, true);
  job_.proc(PMIX_DEBUG_TARGET, {"other@1", kAllRanks});
  ASSERT_EQ(read(), PMIX_SUCCESS);
  EXPECT_EQ(job().beside(), "other@1");
  EXPECT_EQ(job().per_node(), 1U);
  of_app_.flag(PMIX_DEBUGGER_DAEMONS, true);
  of_app_.u16(PMIX_DEBUG_DAEMONS_PER_NODE, 2);
  job_.proc(PMIX_DEBUG_TARGET, {"other@1", kAllRanks});
  ASSERT_EQ(read(), PMIX_SUCCESS);
  EXPECT_EQ(job().per_node(), 2U);
  job_.proc(PMIX_DEBUG_TARGET, {"other@1", 3});
  EXPECT_EQ(read(), PMIX_ERR_NOT_SUPPORTED);
}

TEST_F(SpawnRequest, WhatBecomesOfItWhenAProcessFails) {
  job_.flag(PMIX_JOB_RECOVERABLE, true);
  job_.u32(PMIX_MAX_RESTARTS, 4);
  ASSERT_EQ(read(), PMIX_SUCCESS);
  EXPECT_TRUE(job().runtime().recoverable());
  EXPECT_EQ(job().runtime().max_restarts(), 4U);
  job_.flag(PMIX_JOB_CONTINUOUS, true);
  ASSERT_EQ(read(), PMIX_SUCCESS);
  EXPECT_TRUE(job().runtime().recoverable());
  EXPECT_GT(job().runtime().max_restarts(), 1'000'000U);
  EXPECT_EQ(read_text(PMIX_MAX_RESTARTS, "many"), PMIX_ERR_BAD_PARAM);
}

TEST_F(SpawnRequest, AppsThatCannotBe) {
  wire::ServiceRequest request;
  EXPECT_EQ(read_spawn(nullptr, 0, nullptr, 0, request), PMIX_ERR_BAD_PARAM);
  app_.maxprocs = -1;
  EXPECT_EQ(read(), PMIX_ERR_BAD_PARAM);
  app_.maxprocs = 1'000'000'000;
  EXPECT_EQ(read(), PMIX_ERR_BAD_PARAM);
  app_.maxprocs = 1;
  set(app_.env, {"without a sign"});
  EXPECT_EQ(read(), PMIX_ERR_BAD_PARAM);
  pmix_app_t nothing{};
  EXPECT_EQ(read_spawn(nullptr, 0, &nothing, 1, request), PMIX_ERR_BAD_PARAM);
}

TEST_F(SpawnRequest, HostsOfTheJobAndOfAnApp) {
  job_.text(PMIX_HOST, "a");
  of_app_.text(PMIX_HOST, "a, b:2,b");
  ASSERT_EQ(read(), PMIX_SUCCESS);
  ASSERT_THAT(app().hosts(), SizeIs(3));
  EXPECT_EQ(app().hosts(0).node(), "a");
  EXPECT_EQ(app().hosts(0).slots(), 0U);
  EXPECT_EQ(app().hosts(1).node(), "b");
  EXPECT_EQ(app().hosts(1).slots(), 2U);
  EXPECT_EQ(app().hosts(2).node(), "b");
  EXPECT_EQ(read_text(PMIX_HOST, "a,,b"), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(read_text(PMIX_HOST, "a:0"), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(read_text(PMIX_HOST, "a:many"), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(read_text(PMIX_HOST, "+n1:2"), PMIX_SUCCESS);
  EXPECT_EQ(app().hosts(0).kind(), wire::HostRequest::INDEX);
  EXPECT_EQ(app().hosts(0).number(), 1U);
  EXPECT_EQ(app().hosts(0).slots(), 2U);
}

// row:E17
TEST_F(SpawnRequest, HostsThatTheDvmIsToGet) {
  const testing::TemporaryDirectory directory;
  const auto file = directory.file("hosts");
  testing::write_text(file, "c slots=3\n");
  of_app_.text(PMIX_ADD_HOST, "a,b:2");
  job_.text(PMIX_ADD_HOSTFILE, file);
  ASSERT_EQ(read(), PMIX_SUCCESS);
  ASSERT_THAT(job().add_hosts(), SizeIs(3));
  EXPECT_EQ(job().add_hosts(0).node(), "c");
  EXPECT_EQ(job().add_hosts(0).slots(), 3U);
  EXPECT_EQ(job().add_hosts(1).node(), "a");
  EXPECT_EQ(job().add_hosts(2).slots(), 2U);
  EXPECT_EQ(read_text(PMIX_ADD_HOST, "a,,b"), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(read_text(PMIX_ADD_HOST, ""), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(read_text(PMIX_ADD_HOSTFILE, file + "x"), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(read_text(PMIX_ADD_HOSTFILE, "/dev/null"), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(read_text(PMIX_ADD_HOSTFILE, "hosts"), PMIX_ERR_BAD_PARAM) << "relative to what?";
  app_.cwd = ::strdup(directory.path().c_str());
  EXPECT_EQ(read_text(PMIX_ADD_HOSTFILE, "hosts"), PMIX_SUCCESS);
}

TEST_F(SpawnRequest, HowItIsMapped) {
  EXPECT_EQ(read_text(PMIX_MAPBY, "node:OVERSUBSCRIBE"), PMIX_SUCCESS);
  EXPECT_EQ(job().map_by(), wire::JobSpec::NODE);
  EXPECT_TRUE(job().oversubscribe());
  EXPECT_EQ(read_text(PMIX_MAPBY, "Slot:NoOversubscribe"), PMIX_SUCCESS);
  EXPECT_EQ(job().map_by(), wire::JobSpec::SLOT);
  EXPECT_FALSE(job().oversubscribe());
  EXPECT_EQ(read_text(PMIX_MAPBY, ":oversubscribe"), PMIX_SUCCESS);
  EXPECT_TRUE(job().oversubscribe());
  EXPECT_EQ(read_text(PMIX_MAPBY, "core"), PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(read_text(PMIX_MAPBY, "slot:PE=2"), PMIX_ERR_NOT_SUPPORTED);
  job_.flag(PMIX_MAPBY, true);
  EXPECT_EQ(read(), PMIX_ERR_BAD_PARAM);
}

TEST_F(SpawnRequest, ChangesOfTheEnvironment) {
  set(app_.env, {"A=1"});
  envar(job_, PMIX_SET_ENVAR, "B", "2", ' ');
  envar(of_app_, PMIX_ADD_ENVAR, "C", "3", ' ');
  envar(of_app_, PMIX_PREPEND_ENVAR, "D", "4", ':');
  envar(of_app_, PMIX_APPEND_ENVAR, "E", "5", ';');
  of_app_.text(PMIX_UNSET_ENVAR, "F");
  ASSERT_EQ(read(), PMIX_SUCCESS);
  using Directive = wire::EnvDirective;
  std::vector<Directive::Kind> kinds;
  std::string all;
  for (const auto& one : app().environment()) {
    kinds.push_back(one.kind());
    all += one.name() + one.value() + one.separator();
  }
  EXPECT_THAT(kinds, ElementsAre(Directive::SET, Directive::SET, Directive::DEFAULT,
                                 Directive::PREPEND, Directive::APPEND, Directive::UNSET));
  EXPECT_EQ(all, "A1B2C3D4:E5;F");
  EXPECT_EQ(read_text(PMIX_SET_ENVAR, "B=2"), PMIX_ERR_BAD_PARAM);
  envar(job_, PMIX_SET_ENVAR, "A=B", "2", ' ');
  EXPECT_EQ(read(), PMIX_ERR_BAD_PARAM);
}

TEST_F(SpawnRequest, OutputInputTimeAndNotice) {
  job_.flag(PMIX_FWD_STDOUT, true);
  job_.flag(PMIX_FWD_STDERR, true);
  job_.flag(PMIX_FWD_STDIN, true);
  job_.flag(PMIX_MERGE_STDERR_STDOUT, true);
  job_.flag(PMIX_NOTIFY_COMPLETION, true);
  job_.text(PMIX_PERSONALITY, "ompi");
  job_.flag(PMIX_NOHUP, true);
  job_.u32(PMIX_TIMEOUT, 5);
  job_.u32(PMIX_JOB_TIMEOUT, 7);
  of_app_.text(PMIX_WDIR, "/somewhere");
  ASSERT_EQ(read(), PMIX_SUCCESS);
  EXPECT_TRUE(request_.spawn().forward_stdout());
  EXPECT_TRUE(request_.spawn().forward_stderr());
  EXPECT_TRUE(request_.spawn().notify_completion());
  EXPECT_TRUE(request_.spawn().outlives_tool());
  EXPECT_EQ(request_.timeout_ms(), 5000U);
  EXPECT_EQ(job().timeout_ms(), 7000U);
  EXPECT_EQ(job().stdin_rank(), 0);
  EXPECT_TRUE(job().merge_output());
  EXPECT_EQ(app().working_directory(), "/somewhere");
}

TEST_F(SpawnRequest, WhoReadsStandardInput) {
  job_.proc(PMIX_STDIN_TGT, {"any", 2});
  job_.flag(PMIX_FWD_STDIN, true);
  ASSERT_EQ(read(), PMIX_SUCCESS);
  EXPECT_EQ(job().stdin_rank(), 2);
  job_.proc(PMIX_STDIN_TGT, {"any", kAllRanks});
  EXPECT_EQ(read(), PMIX_ERR_NOT_SUPPORTED);
}

// row:L14
TEST_F(SpawnRequest, WhereItIsHeldForADebugger) {
  job_.flag(PMIX_DEBUG_STOP_ON_EXEC, false);
  job_.rank(PMIX_DEBUG_STOP_IN_INIT, PMIX_RANK_WILDCARD);
  ASSERT_EQ(read(), PMIX_SUCCESS);
  EXPECT_EQ(job().runtime().stop_at(), wire::STOP_IN_INIT);
  job_.flag(PMIX_DEBUG_STOP_IN_APP, true);
  ASSERT_EQ(read(), PMIX_SUCCESS);
  EXPECT_EQ(job().runtime().stop_at(), wire::STOP_IN_APP);
  of_app_.flag(PMIX_DEBUG_STOP_ON_EXEC, true);
  ASSERT_EQ(read(), PMIX_SUCCESS);
  EXPECT_EQ(job().runtime().stop_at(), wire::STOP_ON_EXEC);
}

TEST_F(SpawnRequest, AllOfAJobAreHeldAtOnePlaceOrNone) {
  job_.rank(PMIX_DEBUG_STOP_IN_INIT, 1);
  EXPECT_EQ(read(), PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(read_text(PMIX_DEBUG_STOP_IN_INIT, "all"), PMIX_ERR_BAD_PARAM);
  job_.flag(PMIX_DEBUG_STOP_IN_INIT, true);
  job_.flag(PMIX_DEBUG_STOP_IN_APP, true);
  EXPECT_EQ(read(), PMIX_ERR_BAD_PARAM);
}

// Which sessions a job may use: allocations by their ids, and the default one by a name that is
// none.
class SpawnTargets : public SpawnRequest {
 protected:
  static constexpr const char* kKey = "pmix.spwn.tgt";

  void SetUp() override {
    if (is_left_out("SPAWN_TARGET")) GTEST_SKIP() << "this build is without";
  }
  [[nodiscard]] const auto& allocations() const { return job().targets().allocations(); }
  [[nodiscard]] bool has_default() const { return job().targets().default_session(); }
};

// row:R6
TEST_F(SpawnTargets, AreOneOrSeveralOrTheDefaultSession) {
  struct Case {
    std::vector<const char*> given;
    std::vector<std::string> allocations;
    bool default_session;
  };
  const std::vector<Case> cases = {
      {{"a1"}, {"a1"}, false},
      {{"a1", "a7"}, {"a1", "a7"}, false},
      {{"a7", "a1", "a7"}, {"a7", "a1"}, false},
      {{""}, {}, true},
      {{nullptr}, {}, true},
      {{"", "a1"}, {"a1"}, true},
      {{"a1", nullptr, "a2", "", "a2"}, {"a1", "a2"}, true},
      {{"default"}, {"default"}, false},
  };
  for (const auto& one : cases) {
    texts(job_, kKey, one.given);
    ASSERT_EQ(read(), PMIX_SUCCESS);
    EXPECT_THAT(allocations(), ::testing::ElementsAreArray(one.allocations));
    EXPECT_EQ(has_default(), one.default_session);
    if (one.given.size() > 1 || one.given[0] == nullptr) continue;
    ASSERT_EQ(read_text(kKey, one.given[0]), PMIX_SUCCESS) << "not in an array";
    EXPECT_THAT(allocations(), ::testing::ElementsAreArray(one.allocations));
    EXPECT_EQ(has_default(), one.default_session);
  }
}

// row:R6
TEST_F(SpawnTargets, AreOfTheJobWhereverTheyAreGiven) {
  ASSERT_EQ(read(), PMIX_SUCCESS);
  EXPECT_FALSE(job().has_targets()) << "nothing was said";
  of_app_.text(kKey, "a2");
  ASSERT_EQ(read(), PMIX_SUCCESS);
  EXPECT_THAT(allocations(), ElementsAre("a2"));
  job_.text(kKey, "a1");
  of_app_.text(kKey, "");
  texts(of_app_, kKey, {"a2", "a1"});
  ASSERT_EQ(read(), PMIX_SUCCESS);
  EXPECT_THAT(allocations(), ElementsAre("a1", "a2"));
  EXPECT_TRUE(has_default());
}

TEST_F(SpawnTargets, ThatAreNoneAreRefused) {
  texts(job_, kKey, {});
  EXPECT_EQ(read(), PMIX_ERR_BAD_PARAM);
  job_.u32(kKey, 1);
  EXPECT_EQ(read(), PMIX_ERR_BAD_PARAM);
  job_.flag(kKey, true);
  EXPECT_EQ(read(), PMIX_ERR_BAD_PARAM);
  static_cast<std::uint32_t*>(job_.new_array(kKey, 1, PMIX_UINT32))[0] = 1;
  EXPECT_EQ(read(), PMIX_ERR_BAD_PARAM);
  of_app_.u32(kKey, 1);
  EXPECT_EQ(read(), PMIX_ERR_BAD_PARAM);
}

TEST_F(SpawnTargets, AreNotWithoutEnd) {
  std::vector<std::string> names;
  for (int number = 0; number < 1025; ++number) names.push_back("a" + std::to_string(number));
  std::vector<const char*> given;
  for (const auto& name : names) given.push_back(name.c_str());
  texts(job_, kKey, given);
  EXPECT_EQ(read(), PMIX_ERR_BAD_PARAM);
  given.pop_back();
  given.push_back("a0");
  texts(job_, kKey, given);
  ASSERT_EQ(read(), PMIX_SUCCESS);
  EXPECT_THAT(allocations(), SizeIs(1024));
}

TEST_F(SpawnRequest, TheSchedulerProvesWhoItIs) {
  ASSERT_EQ(read(), PMIX_SUCCESS);
  EXPECT_EQ(request_.spawn().scheduler_key(), "");
  ASSERT_EQ(read_text(TIDE_SCHEDULER_KEY, "0123456789abcdef"), PMIX_SUCCESS);
  EXPECT_EQ(request_.spawn().scheduler_key(), "0123456789abcdef");
  EXPECT_EQ(read_text(TIDE_SCHEDULER_KEY, ""), PMIX_ERR_BAD_PARAM);
  job_.flag(TIDE_SCHEDULER_KEY, true);
  EXPECT_EQ(read(), PMIX_ERR_BAD_PARAM);
}

TEST_F(SpawnRequest, WhatIsUnknownMattersOnlyIfItIsRequired) {
  EXPECT_EQ(read_text("some.key", "text"), PMIX_SUCCESS);
  require("some.key");
  EXPECT_EQ(read(), PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(read_text(PMIX_HOSTFILE, "/file"), PMIX_ERR_NOT_SUPPORTED);
  job_.flag(PMIX_DO_NOT_LAUNCH, true);
  EXPECT_EQ(read(), PMIX_ERR_NOT_SUPPORTED);
  job_.flag(PMIX_DO_NOT_LAUNCH, false);
  EXPECT_EQ(read(), PMIX_SUCCESS);
}

}  // namespace
}  // namespace tide::pmix
