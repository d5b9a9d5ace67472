// Unmodified Open MPI programs on one node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "pmix/server.hpp"
#include "pmix/test_support.hpp"

namespace tide::pmix {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Open MPI names shared memory after it, so it must be the only one on this host.
const std::string kJob = "dvm-test-" + std::to_string(::getpid()) + "@1";

class MpiPrograms : public testing::ServerFixture {
 protected:
  // On a node that shares its host, as virtual ones do.
  void on_virtual_node(const std::function<void()>& body) {
    shared_host_ = true;
    on_node("v1", body);
  }
  void run(std::uint32_t count, const std::vector<std::string>& argv) {
    const JobDescription one = job(kJob, count);
    ASSERT_TRUE(register_job(one).ok());
    start_all(one, argv);
  }
  void run_to_the_end(std::uint32_t count, const std::vector<std::string>& argv) {
    run(count, argv);
    ASSERT_TRUE(run_until([&] { return all_ended() && handler_.finalized.size() == count; }))
        << complaints();
    EXPECT_EQ(complaints(), "");
    EXPECT_THAT(handler_.lost, IsEmpty());
  }
};

TEST_F(MpiPrograms, OneRank) {
  on_virtual_node([&] {
    run_to_the_end(1, {"mpi_hello"});
    EXPECT_THAT(clients_[0]->output(), HasSubstr("rank 0 of 1 on "));
  });
}

// At the end of the first one libpmix removes what Open MPI had in the directory of the job.
TEST_F(MpiPrograms, OneAfterTheOtherInTheSameProcess) {
  on_virtual_node([&] {
    ASSERT_TRUE(register_job(job(kJob, 1)).ok());
    const auto environment = server_->environment_of({kJob, 0});
    ASSERT_TRUE(environment.ok());
    const std::string twice = "\"$0\" && \"$0\"";
    const std::string output = outputs_.file("twice");
    clients_.push_back(std::make_unique<testing::Client>(
        std::vector<std::string>{"/bin/sh", "-c", twice, testing::program("mpi_hello")},
        *environment, output));
    ASSERT_TRUE(run_until([&] { return all_ended(); }));
    EXPECT_EQ(complaints(), "");
    const std::string text = clients_[0]->output();
    EXPECT_NE(text.find("rank 0 of 1 on "), text.rfind("rank 0 of 1 on ")) << text;
  });
}

TEST_F(MpiPrograms, ARing) {
  on_virtual_node([&] {
    run_to_the_end(4, {"mpi_ring"});
    EXPECT_EQ(clients_[0]->output(), "ring of 4: 40\n");
  });
}

TEST_F(MpiPrograms, AnAllreduceOnAHostOfItsOwn) {
  on_node("v1", [&] {
    run_to_the_end(3, {"mpi_allreduce"});
    EXPECT_EQ(clients_[0]->output(), "allreduce of 3: right\n");
  });
}

TEST_F(MpiPrograms, AnAbortComesWithItsStatus) {
  on_virtual_node([&] {
    run(2, {"mpi_abort", "7", "1"});
    ASSERT_TRUE(run_until([&] { return !handler_.aborts.empty(); })) << complaints();
    EXPECT_EQ(handler_.aborts[0].who, (ProcName{kJob, 1}));
    EXPECT_EQ(handler_.aborts[0].status, 7);
    server_->done(handler_.aborts[0].ticket, ok_status());
    EXPECT_TRUE(run_until([&] { return clients_[1]->ended(); }));
  });
}

TEST_F(MpiPrograms, OneThatDiesBySignalIsLost) {
  on_virtual_node([&] {
    run(2, {"mpi_signal", std::to_string(SIGTERM), "1"});
    ASSERT_TRUE(run_until([&] { return clients_[1]->ended() && !handler_.lost.empty(); }))
        << complaints();
    EXPECT_EQ(clients_[1]->exit_status(), 128 + SIGTERM);
    EXPECT_EQ(handler_.lost[0], (ProcName{kJob, 1}));
  });
}

TEST_F(MpiPrograms, WithoutFinalizeAllAreLost) {
  on_virtual_node([&] {
    run(2, {"mpi_no_finalize", "5"});
    ASSERT_TRUE(run_until([&] { return all_ended() && handler_.lost.size() == 2; }))
        << complaints();
    EXPECT_EQ(clients_[0]->exit_status(), 5);
    EXPECT_THAT(handler_.finalized, IsEmpty());
  });
}

}  // namespace
}  // namespace tide::pmix
