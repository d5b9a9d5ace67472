#include "pmix/job_info.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "pmix/test_support.hpp"

namespace tide::pmix {
namespace {

// Two apps on two nodes.
JobDescription good_job() {
  JobDescription job;
  job.nspace = "dvm@1";
  job.apps = {{0, 1, {"a"}, "/"}, {1, 3, {"b"}, "/"}};
  job.nodes = {{"v1", {0, 2}}, {"v2", {1, 3}}};
  job.this_node = "v2";
  job.session_directory = "/tmp";
  return job;
}

bool refused(const std::function<void(JobDescription&)>& change) {
  JobDescription job = good_job();
  change(job);
  const Status status = check_job(job);
  return !status && status.error().code == ErrorCode::kInvalidArgument;
}

std::ptrdiff_t count(const InfoArray& info, const std::string& key) {
  return std::count_if(info.data(), info.data() + info.size(),
                       [&](const pmix_info_t& entry) { return key == entry.key; });
}

TEST(PmixJobInfo, AGoodJobIsTaken) {
  EXPECT_TRUE(check_job(good_job()).ok());
}

// libpmix makes maps only while it runs.
class PmixJobInfoInServer : public testing::ServerFixture {};

TEST_F(PmixJobInfoInServer, EveryAppNodeAndProcessIsInIt) {
  on_node("v2", [&] {
    const auto info = job_info(good_job());
    ASSERT_TRUE(info.ok()) << info.error().message;
    EXPECT_EQ(count(*info, PMIX_APP_INFO_ARRAY), 2);
    EXPECT_EQ(count(*info, PMIX_NODE_INFO_ARRAY), 2);
    EXPECT_EQ(count(*info, PMIX_PROC_DATA), 4);
    for (const char* key : {PMIX_NODE_MAP, PMIX_PROC_MAP, PMIX_UNIV_SIZE, PMIX_JOB_SIZE,
                            PMIX_MAX_PROCS, PMIX_NUM_NODES, PMIX_JOB_NUM_APPS, PMIX_TMPDIR,
                            PMIX_NSDIR, PMIX_LOCAL_SIZE, PMIX_LOCAL_PEERS}) {
      EXPECT_EQ(count(*info, key), 1) << key;
    }
    EXPECT_EQ(count(*info, PMIX_PARENT_ID), 0);
  });
}

TEST(PmixJobInfo, BadNamesAreRefused) {
  EXPECT_TRUE(refused([](JobDescription& job) { job.nspace = ""; }));
  EXPECT_TRUE(refused([](JobDescription& job) { job.nspace = std::string(300, 'x'); }));
  EXPECT_TRUE(refused([](JobDescription& job) { job.parent = ProcName{"", 0}; }));
  EXPECT_TRUE(refused([](JobDescription& job) { job.session_directory = ""; }));
  for (const char* name : {"", "v1,v2", "v;1", "v2"}) {
    EXPECT_TRUE(refused([&](JobDescription& job) { job.nodes[0].name = name; })) << name;
  }
}

TEST(PmixJobInfo, CpusAreOfAllRanksOrOfNone) {
  EXPECT_TRUE(refused([](JobDescription& job) { job.nodes[0].cpus.assign(17, "0"); }));
}

TEST(PmixJobInfo, RanksHaveOnePlaceEach) {
  EXPECT_TRUE(refused([](JobDescription& job) { job.nodes[0].ranks = {}; }));
  EXPECT_TRUE(refused([](JobDescription& job) { job.nodes[0].ranks = {0}; }));
  EXPECT_TRUE(refused([](JobDescription& job) { job.nodes[0].ranks = {0, 1}; }));
  EXPECT_TRUE(refused([](JobDescription& job) { job.nodes[0].ranks = {2, 0}; }));
  EXPECT_TRUE(refused([](JobDescription& job) { job.nodes[0].ranks = {0, 0}; }));
  EXPECT_TRUE(refused([](JobDescription& job) { job.nodes[0].ranks = {0, 4}; }));
  EXPECT_TRUE(refused([](JobDescription& job) { job.nodes.clear(); }));
}

TEST(PmixJobInfo, AppsHaveTheirRanksInARow) {
  EXPECT_TRUE(refused([](JobDescription& job) { job.apps.clear(); }));
  EXPECT_TRUE(refused([](JobDescription& job) { job.apps[0].size = 0; }));
  EXPECT_TRUE(refused([](JobDescription& job) { job.apps[1].first_rank = 2; }));
  EXPECT_TRUE(refused([](JobDescription& job) { job.apps[1].size = UINT32_MAX; }));
}

}  // namespace
}  // namespace tide::pmix
