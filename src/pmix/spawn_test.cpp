// Processes that start jobs, and the jobs that they start, on one node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pmix/server.hpp"
#include "pmix/small_board.hpp"
#include "pmix/test_support.hpp"

namespace tide::pmix {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Open MPI names shared memory after it, so it must be the only one on this host.
const std::string kDvm = "dvm-test-" + std::to_string(::getpid());

class Spawning : public testing::ServerFixture {
 protected:
  void run(std::uint32_t count, const std::vector<std::string>& argv) {
    shared_host_ = true;
    const JobDescription parent = job(kDvm + "@1", count);
    ASSERT_TRUE(register_job(parent).ok());
    start_all(parent, argv);
  }
  const wire::ServiceRequest& next() {
    EXPECT_TRUE(run_until([&] { return !handler_.requests.empty(); })) << complaints();
    return handler_.requests.at(0).request;
  }
  // What the head does: the job is there before its parent hears of it.
  void launch(const testing::RecordingHandler::Request& asked) {
    const wire::AppSpec& app = asked.request.spawn().job().apps(0);
    JobDescription child = job(kDvm + "@2", app.processes());
    child.parent = ProcName{asked.request.who().nspace(), asked.request.who().rank()};
    ASSERT_TRUE(register_job(child).ok());
    wire::ServiceAnswer answer;
    answer.mutable_spawned()->set_nspace(child.nspace);
    server_->answer(asked.ticket, answer);
    for (const auto& one : app.environment()) ::setenv(one.name().c_str(), one.value().c_str(), 1);
    start_all(child, {app.argv().begin(), app.argv().end()});
  }
  void serve() {
    ASSERT_TRUE(run_until([&] {
      board_.serve(*server_, handler_.requests);
      const auto asked = std::exchange(handler_.requests, {});
      for (const auto& one : asked) {
        one.request.has_spawn() ? launch(one) : handler_.requests.push_back(one);
      }
      return all_ended();
    })) << complaints();
    EXPECT_EQ(complaints(), "");
  }

  testing::SmallBoard board_;
};

TEST_F(Spawning, TheRequestComesWithEverything) {
  on_node("v1", [&] {
    run(2, {"pmix_spawn", "3", "/bin/program", "argument", "--", "host=v1,v2:2", "mapby=node",
            "env=NAME=value", "timeout=9"});
    const wire::ServiceRequest& request = next();
    EXPECT_EQ(request.who().nspace(), kDvm + "@1");
    EXPECT_EQ(request.who().rank(), 0U);
    EXPECT_EQ(request.timeout_ms(), 9000U);
    const wire::JobSpec& spec = request.spawn().job();
    EXPECT_EQ(spec.map_by(), wire::JobSpec::NODE);
    ASSERT_THAT(spec.apps(), SizeIs(1));
    EXPECT_THAT(spec.apps(0).argv(), ElementsAre("/bin/program", "argument"));
    EXPECT_EQ(spec.apps(0).processes(), 3U);
    EXPECT_THAT(spec.apps(0).hosts(), SizeIs(2));
    EXPECT_EQ(spec.apps(0).working_directory(), std::filesystem::current_path());
    ASSERT_THAT(spec.apps(0).environment(), SizeIs(1));
    EXPECT_EQ(spec.apps(0).environment(0).name(), "NAME");
  });
}

TEST_F(Spawning, AParentAndItsChildren) {
  on_node("v1", [&] {
    run(1, {"pmix_spawn", "2", "pmix_hello"});
    serve();
    EXPECT_EQ(clients_[0]->output(), "spawned " + kDvm + "@2 of 2\n");
    EXPECT_THAT(clients_, SizeIs(3));
  });
}

TEST_F(Spawning, AnErrorIsTold) {
  on_node("v1", [&] {
    run(1, {"pmix_spawn", "2", "program"});
    next();
    wire::ServiceAnswer refused;
    refused.set_error_code(static_cast<std::uint32_t>(ErrorCode::kOutOfResources));
    server_->answer(handler_.requests[0].ticket, refused);
    ASSERT_TRUE(run_until([&] { return all_ended(); }));
    EXPECT_EQ(clients_[0]->output(), "spawn: OUT-OF-RESOURCE\n");
  });
}

TEST_F(Spawning, WhatIsRequiredAndUnknownIsRefused) {
  on_node("v1", [&] {
    run(1, {"pmix_spawn", "2", "program", "--", "require=some.key"});
    ASSERT_TRUE(run_until([&] { return all_ended(); })) << complaints();
    EXPECT_EQ(clients_[0]->output(), "spawn: NOT-SUPPORTED\n");
    EXPECT_THAT(handler_.requests, IsEmpty());
  });
}

TEST_F(Spawning, MpiParentsAndChildrenAddUpTheirRanks) {
  on_node("v1", [&] {
    run(2, {"mpi_spawn", "3"});
    serve();
    EXPECT_EQ(clients_[0]->output(), "spawned 3 to 2: sum 15\n");
  });
}

}  // namespace
}  // namespace tide::pmix
