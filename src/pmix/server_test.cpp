// The server by itself: its start and end, jobs that come and go, and what is refused.
#include "pmix/server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hwloc.h>
#include <pmix_server.h>
#include <sys/stat.h>

#include <algorithm>
#include <asio/steady_timer.hpp>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <thread>

#include "pmix/test_support.hpp"

namespace tide::pmix {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::open_descriptors;
using ::testing::Pair;

class ServerTest : public testing::ServerFixture {
 protected:
  ErrorCode refusal_of(const JobDescription& job) {
    const Status status = register_job(job);
    return status.ok() ? ErrorCode::kOk : status.error().code;
  }
  ErrorCode start_refusal(const ServerConfig& config) {
    const auto server = Server::start(config, io_, handler_);
    return server.ok() ? ErrorCode::kOk : server.error().code;
  }
};

std::optional<std::string> find(const ProcEnvironment::Variables& variables,
                                const std::string& name) {
  const auto found = std::find_if(variables.begin(), variables.end(),
                                  [&](const auto& entry) { return entry.first == name; });
  return found == variables.end() ? std::nullopt : std::optional(found->second);
}

TEST_F(ServerTest, ThereIsOnePerProcess) {
  on_node("v1", [&] {
    EXPECT_EQ(start_refusal(config()), ErrorCode::kAlreadyExists);
    ASSERT_TRUE(register_job(job("dvm-test@1", 1)).ok()) << "the first one is as before";
    server_.reset();
    EXPECT_EQ(start_refusal(config()), ErrorCode::kAlreadyExists);
  });
}

TEST_F(ServerTest, ADirectoryThatOthersCanEnterIsRefused) {
  alone([&] {
    node_ = "v1";
    ASSERT_EQ(::chmod(directory_.path().c_str(), 0755), 0);
    EXPECT_EQ(start_refusal(config()), ErrorCode::kPermissionDenied);
    ASSERT_EQ(::chmod(directory_.path().c_str(), 0700), 0);
    ServerConfig nowhere = config();
    nowhere.directory = directory_.file("nothing");
    EXPECT_EQ(start_refusal(nowhere), ErrorCode::kNotFound);
    ServerConfig nameless = config();
    nameless.nspace = std::string(1000, 'x');
    EXPECT_EQ(start_refusal(nameless), ErrorCode::kInvalidArgument);
    start_server();
    server_.reset();
    EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
  });
}

TEST_F(ServerTest, TheEnvironmentIsAsBefore) {
  alone([&] {
    node_ = "v1";
    ::setenv("PMIX_MCA_gds", "own", 1);
    ::unsetenv("HWLOC_COMPONENTS");
    start_server();
    EXPECT_STREQ(std::getenv("PMIX_MCA_gds"), "own");
    EXPECT_EQ(std::getenv("HWLOC_COMPONENTS"), nullptr);
    EXPECT_EQ(std::getenv("PMIX_MCA_pmix_event_caching_window"), nullptr);
    server_.reset();
  });
}

TEST_F(ServerTest, ATopologyThatItIsGivenStaysOurs) {
  hwloc_topology_t topology = nullptr;
  ASSERT_EQ(hwloc_topology_init(&topology), 0);
  ASSERT_EQ(hwloc_topology_load(topology), 0);
  hwloc_topology_ = topology;
  on_node("v1", [&] {
    const JobDescription one = job("dvm-test@1", 2);
    ASSERT_TRUE(register_job(one).ok());
    start_all(one, {"pmix_fence"});
    EXPECT_TRUE(run_until([&] { return all_ended(); }));
    EXPECT_EQ(complaints(), "");
    clients_.clear();
    server_.reset();
    EXPECT_GE(hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU), 1);
    hwloc_topology_destroy(topology);
  });
  hwloc_topology_destroy(topology);
}

TEST_F(ServerTest, TheEnvironmentOfAProcessLeadsToTheServer) {
  on_node("v1", [&] {
    ASSERT_TRUE(register_job(job("dvm-test@1", 2)).ok());
    const auto environment = server_->environment_of({"dvm-test@1", 1});
    ASSERT_TRUE(environment.ok());
    EXPECT_EQ(find(environment->required, "PMIX_NAMESPACE"), "dvm-test@1");
    EXPECT_EQ(find(environment->required, "PMIX_RANK"), "1");
    EXPECT_THAT(environment->defaults, ElementsAre(Pair("OMPI_MCA_schizo", "^orte")));
  });
}

TEST_F(ServerTest, OpenMpiYieldsWhereAHostHasMoreProcessesThanProcessors) {
  const auto many = std::thread::hardware_concurrency();
  for (const bool shared : {false, true}) {
    shared_host_ = shared;
    on_node("v1", [&] {
      // Those of the other node count if it is the same host.
      ASSERT_TRUE(register_job(job("dvm-test@1", 1, many)).ok());
      const auto environment = server_->environment_of({"dvm-test@1", 0});
      ASSERT_TRUE(environment.ok());
      EXPECT_EQ(find(environment->defaults, "OMPI_MCA_mpi_yield_when_idle").has_value(), shared);
    });
  }
}

TEST_F(ServerTest, NodesThatShareAHostKeepOpenMpiApart) {
  shared_host_ = true;
  on_node("v1", [&] {
    ASSERT_TRUE(register_job(job("dvm-test@1", 1)).ok());
    const auto environment = server_->environment_of({"dvm-test@1", 0});
    ASSERT_TRUE(environment.ok());
    EXPECT_EQ(find(environment->defaults, "OMPI_MCA_btl_tcp_if_include"), "lo");
    EXPECT_EQ(find(environment->defaults, "OMPI_MCA_btl_vader_backing_directory"), session_.path());
  });
}

TEST_F(ServerTest, WhatIsNotHereIsNotFound) {
  on_node("v1", [&] {
    ASSERT_TRUE(register_job(job("dvm-test@1", 1, 1)).ok());
    for (const ProcName& proc : {ProcName{"dvm-test@2", 0}, ProcName{"dvm-test@1", 1},
                                 ProcName{"dvm-test@1", 7}, ProcName{std::string(999, 'x'), 0}}) {
      const auto environment = server_->environment_of(proc);
      ASSERT_FALSE(environment.ok());
      EXPECT_EQ(environment.error().code, ErrorCode::kNotFound);
      std::optional<Result<std::string>> fetched;
      server_->fetch_modex(proc, Modex::kPut,
                           [&](Result<std::string> result) { fetched = std::move(result); });
      EXPECT_FALSE(fetched) << "from inside the call";
      ASSERT_TRUE(run_until([&] { return fetched.has_value(); }));
      ASSERT_FALSE(fetched->ok());
      EXPECT_EQ(fetched->error().code, ErrorCode::kNotFound);
    }
  });
}

TEST_F(ServerTest, AnswersThatNobodyWaitsForDoNothing) {
  on_node("v1", [&] {
    server_->collective_done(17, ok_status(), "data");
    server_->modex_done(0, ok_status(), "data");
    server_->done(UINT64_MAX, ok_status());
    server_->deregister_job("dvm-test@1");
    EXPECT_TRUE(register_job(job("dvm-test@1", 1)).ok());
  });
}

TEST_F(ServerTest, AJobIsRegisteredOnceAtATime) {
  on_node("v1", [&] {
    ASSERT_TRUE(register_job(job("dvm-test@1", 1)).ok());
    EXPECT_EQ(refusal_of(job("dvm-test@1", 1)), ErrorCode::kAlreadyExists);
    server_->deregister_job("dvm-test@1");
    EXPECT_TRUE(run_until([&] { return register_job(job("dvm-test@1", 1)).ok(); }));
  });
}

TEST_F(ServerTest, ABadJobIsRefusedAndLeavesNoTrace) {
  on_node("v1", [&] {
    EXPECT_EQ(refusal_of(JobDescription{}), ErrorCode::kInvalidArgument);
    JobDescription gap = job("dvm-test@1", 2);
    gap.nodes[0].ranks = {0};
    EXPECT_EQ(refusal_of(gap), ErrorCode::kInvalidArgument);
    EXPECT_TRUE(register_job(job("dvm-test@1", 2)).ok());
  });
}

TEST_F(ServerTest, AJobWithNothingHereCanBeKnown) {
  on_node("v1", [&] {
    JobDescription elsewhere = job("dvm-test@1", 2);
    elsewhere.this_node = "v9";
    ASSERT_TRUE(register_job(elsewhere).ok());
    EXPECT_FALSE(server_->environment_of({"dvm-test@1", 0}).ok());
  });
}

TEST_F(ServerTest, JobsThatComeAndGoLeaveNoDescriptors) {
  on_node("v1", [&] {
    constexpr int kJobs = 30;
    std::size_t before = 0;
    const asio::steady_timer first(io_);  // it opens what all need
    for (int number = 0; number < kJobs; ++number) {
      const JobDescription one = job("dvm-test@" + std::to_string(number), 2);
      ASSERT_TRUE(register_job(one).ok());
      start_all(one, {"pmix_fence"});
      ASSERT_TRUE(run_until([&] { return all_ended() && handler_.finalized.size() == 2; }))
          << complaints();
      EXPECT_EQ(complaints(), "");
      clients_.clear();
      handler_.finalized.clear();
      server_->deregister_job(one.nspace);
      if (number == 4) before = open_descriptors();
    }
    // Closing is libpmix's thread's.
    EXPECT_TRUE(run_until([&] { return open_descriptors() <= before; })) << open_descriptors();
  });
}

// libpmix may be late to see the end of a connection, and would not hear the next client if it were
// to forget the old one before that.
TEST_F(ServerTest, AJobThatGoesAtOnceDoesNotDisturbTheNext) {
  on_node("v1", [&] {
    for (int number = 0; number < 100; ++number) {
      const JobDescription one = job("dvm-test@" + std::to_string(number), 1);
      ASSERT_TRUE(register_job(one).ok());
      start_all(one, {"pmix_hello"});
      ASSERT_TRUE(run_until([&] { return all_ended(); })) << number;
      server_->deregister_job(one.nspace);
      clients_.clear();
    }
  });
}

// Always has something to do for libpmix's thread, which then does not look at its sockets.
class Busy {
 public:
  explicit Busy(std::chrono::milliseconds how_long)
      : thread_([this, until = std::chrono::steady_clock::now() + how_long] {
          pmix_proc_t nobody{};
          std::string_view("nobody").copy(nobody.nspace, PMIX_MAX_NSLEN);
          while (std::chrono::steady_clock::now() < until) {
            if (waiting_ >= 3) continue;
            ++waiting_;
            PMIx_server_deregister_client(&nobody, take_a_while, &waiting_);
          }
          while (waiting_ > 0) std::this_thread::yield();
        }) {}
  ~Busy() { thread_.join(); }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  static void take_a_while(pmix_status_t /*status*/, void* waiting) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --*static_cast<std::atomic<int>*>(waiting);
  }

  std::atomic<int> waiting_ = 0;
  std::thread thread_;
};

TEST_F(ServerTest, AJobThatGoesWhileLibpmixIsBusyDoesNotDisturbTheNext) {
  on_node("v1", [&] {
    ASSERT_TRUE(register_job(job("dvm-test@1", 1)).ok());
    const auto& client = start({"dvm-test@1", 0}, {"pmix_stays"});
    ASSERT_TRUE(run_until([&] { return client.output() == "stays\n"; }));
    ASSERT_TRUE(run_until([&] { return handler_.finalized.size() == 1; }));
    {
      const Busy busy(std::chrono::milliseconds(200));
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      client.kill(SIGKILL);
      ASSERT_TRUE(run_until([&] { return all_ended(); }));
      server_->process_ended({"dvm-test@1", 0});
      server_->deregister_job("dvm-test@1");
      run_until([] { return false; }, std::chrono::milliseconds(100));
    }
    clients_.clear();
    ASSERT_TRUE(register_job(job("dvm-test@2", 1)).ok());
    start({"dvm-test@2", 0}, {"pmix_hello"});
    EXPECT_TRUE(run_until([&] { return all_ended(); })) << "the next client is not heard";
  });
}

TEST_F(ServerTest, ManyJobsAtOnce) {
  on_node("v1", [&] {
    constexpr std::uint32_t kJobs = 100;
    std::uint32_t registered = 0;
    for (std::uint32_t number = 0; number < kJobs; ++number) {
      server_->register_job(job("dvm-test@" + std::to_string(number), 4, 4),
                            [&](const Status& status) { registered += status.ok() ? 1U : 0U; });
    }
    EXPECT_TRUE(run_until([&] { return registered == kJobs; })) << registered;
  });
}

// The job's processes may be on their way when it is taken away again.
TEST_F(ServerTest, AJobCanGoWhileItIsRegistered) {
  on_node("v1", [&] {
    int answers = 0;
    for (int round = 0; round < 20; ++round) {
      server_->register_job(job("dvm-test@1", 3), [&](const Status&) { ++answers; });
      server_->deregister_job("dvm-test@1");
    }
    EXPECT_TRUE(run_until([&] { return answers == 20; })) << answers;
    EXPECT_TRUE(run_until([&] { return register_job(job("dvm-test@1", 1)).ok(); }));
  });
}

TEST_F(ServerTest, NoCallbackFollowsTheEnd) {
  on_node("v1", [&] {
    bool called = false;
    server_->register_job(job("dvm-test@1", 3), [&](const Status&) { called = true; });
    server_.reset();
    io_.poll();
    EXPECT_FALSE(called);
  });
}

TEST_F(ServerTest, ItCanBeEndedInsideACallback) {
  on_node("v1", [&] {
    bool called = false;
    server_->register_job(job("dvm-test@1", 1), [&](const Status&) {
      called = true;
      server_.reset();
    });
    EXPECT_TRUE(run_until([&] { return called; }));
  });
}

}  // namespace
}  // namespace tide::pmix
