// What libpmix hands over with a call, and nobody but us can free.
#include "pmix/upcalls.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdlib>
#include <cstring>

#include "pmix/convert.hpp"
#include "pmix/test_support.hpp"

namespace tide::pmix {
namespace {

constexpr std::size_t kSize = 64 << 20;  // so large that malloc maps it for itself

// Always 0 under the sanitizers, which have a malloc of their own.
std::size_t mapped_by_malloc() {
  return ::mallinfo2().hblkhd;
}

void count_answers(pmix_status_t /*status*/, const char* /*data*/, size_t /*size*/, void* answers,
                   pmix_release_cbfunc_t /*release*/, void* /*release_data*/) {
  ++*static_cast<int*>(answers);
}

// As libpmix does when all processes here have entered.
pmix_status_t enter_a_fence(const ProcName& proc, int& answers) {
  const pmix_proc_t whole_job = to_pmix(proc);
  auto* data = static_cast<char*>(std::malloc(kSize));  // NOLINT(*-no-malloc): so does libpmix
  std::memset(data, 'x', kSize);
  return server_module().fence_nb(&whole_job, 1, nullptr, 0, data, kSize, count_answers, &answers);
}

class FenceData : public testing::ServerFixture {};

TEST_F(FenceData, IsFreedWhenTheFenceWasPassedOn) {
  on_node("v1", [&] {
    int answers = 0;
    const std::size_t before = mapped_by_malloc();
    ASSERT_EQ(enter_a_fence({"job", kAllRanks}, answers), PMIX_SUCCESS);
    ASSERT_TRUE(run_until([&] { return handler_.fences.size() == 1; }));
    EXPECT_EQ(handler_.fences[0].data, std::string(kSize, 'x'));
    server_->done(handler_.fences[0].ticket, ok_status());
    handler_.fences.clear();
    EXPECT_TRUE(run_until([&] { return mapped_by_malloc() <= before; }))
        << mapped_by_malloc() - before << " bytes more";
  });
}

TEST_F(FenceData, IsFreedWhenTheFenceIsRefused) {
  alone([] {
    int answers = 0;
    const std::size_t before = mapped_by_malloc();
    EXPECT_NE(enter_a_fence({"job", kAllRanks}, answers), PMIX_SUCCESS) << "there is no server";
    EXPECT_LE(mapped_by_malloc(), before);
    EXPECT_EQ(answers, 0);
  });
}

}  // namespace
}  // namespace tide::pmix
