// What a build does that is without single keys of reservations, or without all. Run for each of
// them, and for the one that has all.
#include <gtest/gtest.h>
#include <pmix.h>
#include <tide/pmix_keys.h>

#include <array>
#include <cstdint>
#include <string>

#include "pmix/allocation_request.hpp"
#include "pmix/left_out_keys.hpp"
#include "pmix/spawn_request.hpp"

namespace tide::pmix {
namespace {

using wire::AllocationRequest;

class ReservationKeys : public ::testing::Test {
 protected:
  void add(const char* key, const void* value, pmix_data_type_t type, bool required = false) {
    pmix_info_t info{};
    PMIX_INFO_LOAD(&info, key, value, type);
    if (required) PMIX_INFO_REQUIRED(&info);
    list_.take(info);
  }
  // A request for a node, and for what the test has added.
  pmix_status_t ask(pmix_alloc_directive_t directive) {
    const std::uint64_t one = 1;
    add(PMIX_ALLOC_NUM_NODES, &one, PMIX_UINT64);
    list_.text(PMIX_ALLOC_REQ_ID, "mine");
    request_ = {};
    const auto info = list_.finish();
    return read_allocation(directive, info->data(), info->size(), request_);
  }
  pmix_status_t spawn() {
    std::string program = "/bin/program";
    pmix_app_t app{};
    app.cmd = program.data();
    request_ = {};
    const auto info = list_.finish();
    return read_spawn(info->data(), info->size(), &app, 1, request_);
  }
  [[nodiscard]] const AllocationRequest& wanted() const { return request_.allocation(); }

  static constexpr std::array<pmix_alloc_directive_t, 2> kMaking = {PMIX_ALLOC_NEW,
                                                                    PMIX_ALLOC_EXTEND};
  InfoList list_;
  wire::ServiceRequest request_;
};

// row:R17
TEST_F(ReservationKeys, WithoutTargetItIsForWhoAsks) {
  const bool known = !is_left_out("ALLOC_TARGET");
  for (const auto directive : kMaking) {
    list_.text("pmix.alloc.tgt", "dvm-test@4");
    ASSERT_EQ(ask(directive), PMIX_SUCCESS);
    EXPECT_EQ(wanted().target(), known ? "dvm-test@4" : "");
    add("pmix.alloc.tgt", "dvm-test@4", PMIX_STRING, true);
    EXPECT_EQ(ask(directive), known ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED) << "required";
  }
}

// row:R17
TEST_F(ReservationKeys, WithoutShareNodesAreReserved) {
  const bool known = !is_left_out("ALLOC_SHARE");
  const bool yes = true;
  for (const auto directive : kMaking) {
    list_.flag("pmix.alloc.share", true);
    ASSERT_EQ(ask(directive), PMIX_SUCCESS);
    EXPECT_EQ(wanted().share(), known);
    add("pmix.alloc.share", &yes, PMIX_BOOL, true);
    EXPECT_EQ(ask(directive), known ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED) << "required";
  }
}

// row:R13 row:R17
TEST_F(ReservationKeys, WithoutInheritanceThereIsTheUsualOneAndNoOther) {
  const bool known = !is_left_out("ALLOC_INHERITANCE");
  for (const auto directive : kMaking) {
    for (const bool required : {false, true}) {
      for (const int number : {0, 1, 2, 3, 4, 5}) {
        const bool good = number == 3 || (known && number >= 1 && number <= 4);
        const auto byte = static_cast<std::uint8_t>(number);
        add("pmix.alloc.inhrt", &byte, PMIX_UINT8, required);
        ASSERT_EQ(ask(directive), good ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED) << number;
        EXPECT_EQ(wanted().inheritance(), good ? byte : 0U);
      }
      const std::uint32_t usual = 3;
      add("pmix.alloc.inhrt", &usual, PMIX_UINT32, required);
      EXPECT_EQ(ask(directive), PMIX_ERR_NOT_SUPPORTED) << "of another type";
    }
    EXPECT_EQ(ask(directive), PMIX_SUCCESS);
    EXPECT_EQ(wanted().inheritance(), 0U) << "not said";
  }
  const std::uint8_t none = 1;
  add("pmix.alloc.inhrt", &none, PMIX_UINT8, true);
  EXPECT_EQ(ask(PMIX_ALLOC_RELEASE), PMIX_SUCCESS) << "means nothing there";
}

// row:R16 row:R17
TEST_F(ReservationKeys, WithoutWarningsNobodyIsAskedForOne) {
  const bool known = !is_left_out("ALLOC_WARN_TIMEOUT");
  const std::uint32_t seconds = 5;
  for (const auto directive : kMaking) {
    list_.u32("pmix.alloc.wtmo", seconds);
    ASSERT_EQ(ask(directive), PMIX_SUCCESS);
    EXPECT_EQ(wanted().warn_ms(), known ? 5'000U : 0U);
    EXPECT_EQ(wanted().time_ms(), 0U);
    add("pmix.alloc.wtmo", &seconds, PMIX_UINT32, true);
    EXPECT_EQ(ask(directive), known ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED) << "required";
  }
}

// row:R6 row:R17
TEST_F(ReservationKeys, WithoutTargetsAJobIsSpawnedAsEver) {
  const bool known = !is_left_out("SPAWN_TARGET");
  list_.text("pmix.spwn.tgt", "a1");
  ASSERT_EQ(spawn(), PMIX_SUCCESS);
  EXPECT_EQ(request_.spawn().job().has_targets(), known);
  auto** names = static_cast<char**>(list_.new_array("pmix.spwn.tgt", 1, PMIX_STRING));
  names[0] = ::strdup("a1");
  ASSERT_EQ(spawn(), PMIX_SUCCESS);
  EXPECT_EQ(request_.spawn().job().has_targets(), known);
  add("pmix.spwn.tgt", "a1", PMIX_STRING, true);
  EXPECT_EQ(spawn(), known ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED) << "required";
}

// row:R10 row:R17
TEST_F(ReservationKeys, WithoutAnyOfThemAllElseIsAsEver) {
  list_.text(PMIX_ALLOC_TIME, "1:00");
  ASSERT_EQ(ask(PMIX_ALLOC_NEW), PMIX_SUCCESS);
  EXPECT_EQ(wanted().count(), 1U);
  EXPECT_EQ(wanted().request_id(), "mine");
  EXPECT_EQ(wanted().time_ms(), 60'000U);
  list_.text(PMIX_ALLOC_TIME, "1:00");
  EXPECT_EQ(ask(PMIX_ALLOC_EXTEND), PMIX_ERR_BAD_PARAM) << "nodes and time";
  list_.text(PMIX_ALLOC_TIME, "soon");
  EXPECT_EQ(ask(PMIX_ALLOC_NEW), PMIX_ERR_BAD_PARAM);
  list_.u32(PMIX_ALLOC_ID, 1);
  EXPECT_EQ(ask(PMIX_ALLOC_EXTEND), PMIX_ERR_BAD_PARAM);
  add("some.key", "value", PMIX_STRING, true);
  EXPECT_EQ(ask(PMIX_ALLOC_NEW), PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(ask(PMIX_ALLOC_REAQUIRE), PMIX_ERR_NOT_SUPPORTED);
}

}  // namespace
}  // namespace tide::pmix
