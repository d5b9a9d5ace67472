#include "pmix/allocation_request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pmix.h>
#include <tide/pmix_keys.h>

#include <array>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "pmix/left_out_keys.hpp"
#include "pmix/own_keys.hpp"

namespace tide::pmix {
namespace {

using wire::AllocationRequest;

// A request with the infos that a test gives to it.
class AllocationWords : public ::testing::Test {
 protected:
  pmix_status_t read(pmix_alloc_directive_t directive) {
    request_ = {};
    const auto info = list_.finish();
    return read_allocation(directive, info->data(), info->size(), request_);
  }
  void add(const char* key, const void* value, pmix_data_type_t type, bool required = false) {
    pmix_info_t info{};
    PMIX_INFO_LOAD(&info, key, value, type);
    if (required) PMIX_INFO_REQUIRED(&info);
    list_.take(info);
  }
  void nodes(std::uint64_t count) { add(PMIX_ALLOC_NUM_NODES, &count, PMIX_UINT64); }
  void u8(const char* key, std::uint8_t number) { add(key, &number, PMIX_UINT8); }
  void list(const std::string& names) { list_.text(PMIX_ALLOC_NODE_LIST, names); }
  [[nodiscard]] const AllocationRequest& wanted() const { return request_.allocation(); }

  static constexpr auto kMaking =
      std::to_array<pmix_alloc_directive_t>({PMIX_ALLOC_NEW, PMIX_ALLOC_EXTEND});
  InfoList list_;
  wire::ServiceRequest request_;
};

TEST_F(AllocationWords, SaySoManyOrThese) {
  nodes(3);
  ASSERT_EQ(read(PMIX_ALLOC_NEW), PMIX_SUCCESS);
  EXPECT_EQ(wanted().what(), AllocationRequest::NEW);
  EXPECT_EQ(wanted().count(), 3U);
  EXPECT_FALSE(wanted().share());
  list("alpha,beta:2");
  list_.text(PMIX_ALLOC_REQ_ID, "more");
  list_.u32(PMIX_TIMEOUT, 7);
  ASSERT_EQ(read(PMIX_ALLOC_NEW), PMIX_SUCCESS);
  ASSERT_EQ(wanted().hosts_size(), 2);
  EXPECT_EQ(wanted().hosts(1).node(), "beta");
  EXPECT_EQ(wanted().hosts(1).slots(), 2U);
  EXPECT_EQ(wanted().request_id(), "more");
  EXPECT_EQ(request_.timeout_ms(), 7'000U);
}

TEST_F(AllocationWords, MoreThanAnybodyHasIsStillManyNodes) {
  nodes(1ULL << 40U);
  ASSERT_EQ(read(PMIX_ALLOC_NEW), PMIX_SUCCESS);
  EXPECT_EQ(wanted().count(), std::numeric_limits<std::uint32_t>::max());
}

TEST_F(AllocationWords, MayShare) {
  if (is_left_out("ALLOC_SHARE")) GTEST_SKIP() << "this build is without PMIX_ALLOC_SHARE";
  nodes(1);
  list_.flag("pmix.alloc.share", true);
  ASSERT_EQ(read(PMIX_ALLOC_NEW), PMIX_SUCCESS);
  EXPECT_TRUE(wanted().share());
  nodes(1);
  list_.text("pmix.alloc.share", "yes");
  EXPECT_EQ(read(PMIX_ALLOC_NEW), PMIX_ERR_BAD_PARAM);
}

TEST_F(AllocationWords, WithoutNodesOrWithBothMakeNoSense) {
  EXPECT_EQ(read(PMIX_ALLOC_NEW), PMIX_ERR_BAD_PARAM);
  nodes(1);
  list("alpha");
  EXPECT_EQ(read(PMIX_ALLOC_NEW), PMIX_ERR_BAD_PARAM);
  nodes(0);
  EXPECT_EQ(read(PMIX_ALLOC_NEW), PMIX_ERR_BAD_PARAM);
  list("");
  EXPECT_EQ(read(PMIX_ALLOC_NEW), PMIX_ERR_BAD_PARAM);
}

TEST_F(AllocationWords, OfAnotherTypeMakeNoSense) {
  for (const char* key : {PMIX_ALLOC_NUM_NODES, PMIX_TIMEOUT}) {
    nodes(1);
    list_.text(key, "2");
    EXPECT_EQ(read(PMIX_ALLOC_NEW), PMIX_ERR_BAD_PARAM) << key;
  }
  for (const char* key : {PMIX_ALLOC_NODE_LIST, PMIX_ALLOC_ID, PMIX_ALLOC_REQ_ID}) {
    nodes(1);
    list_.u32(key, 2);
    EXPECT_EQ(read(PMIX_ALLOC_NEW), PMIX_ERR_BAD_PARAM) << key;
  }
  list("alpha:many");
  EXPECT_EQ(read(PMIX_ALLOC_NEW), PMIX_ERR_BAD_PARAM);
}

// row:R4 row:R10
TEST_F(AllocationWords, OfAnExtensionNameWhatIsExtended) {
  nodes(1);
  EXPECT_EQ(read(PMIX_ALLOC_EXTEND), PMIX_ERR_BAD_PARAM);
  list_.u32(PMIX_ALLOC_TIME, 60);
  EXPECT_EQ(read(PMIX_ALLOC_EXTEND), PMIX_ERR_BAD_PARAM);
  nodes(1);
  list_.text(PMIX_ALLOC_ID, "a1");
  ASSERT_EQ(read(PMIX_ALLOC_EXTEND), PMIX_SUCCESS);
  EXPECT_EQ(wanted().what(), AllocationRequest::EXTEND);
  EXPECT_EQ(wanted().allocation(), "a1");
  nodes(1);
  list_.text(PMIX_ALLOC_REQ_ID, "mine");
  EXPECT_EQ(read(PMIX_ALLOC_EXTEND), PMIX_SUCCESS);
  EXPECT_EQ(wanted().request_id(), "mine");
}

// row:R4
TEST_F(AllocationWords, OfAnExtensionSayByWhat) {
  struct Case {
    bool nodes, time, inheritance, warning;
    pmix_status_t status;
  };
  const auto cases = std::to_array<Case>({
      {false, false, false, false, PMIX_ERR_BAD_PARAM},
      {true, false, false, false, PMIX_SUCCESS},
      {false, true, false, false, PMIX_SUCCESS},
      {true, true, false, false, PMIX_ERR_BAD_PARAM},
      {false, false, true, false, PMIX_SUCCESS},
      {false, false, false, true, PMIX_SUCCESS},
      {true, false, true, true, PMIX_SUCCESS},
      {false, true, true, true, PMIX_SUCCESS},
      {true, true, true, true, PMIX_ERR_BAD_PARAM},
  });
  if (is_left_out("ALLOC_WARN_TIMEOUT")) GTEST_SKIP() << "this build is without warnings";
  for (std::size_t index = 0; index < cases.size(); ++index) {
    const Case& one = cases.at(index);
    list_.text(PMIX_ALLOC_ID, "a1");
    if (one.nodes) nodes(2);
    if (one.time) list_.u32(PMIX_ALLOC_TIME, 60);
    if (one.inheritance) u8("pmix.alloc.inhrt", 3);
    if (one.warning) list_.u32("pmix.alloc.wtmo", 5);
    ASSERT_EQ(read(PMIX_ALLOC_EXTEND), one.status) << "case " << index;
    if (one.status != PMIX_SUCCESS) continue;
    EXPECT_EQ(wanted().count(), one.nodes ? 2U : 0U) << "case " << index;
    EXPECT_EQ(wanted().time_ms(), one.time ? 60'000U : 0U) << "case " << index;
    EXPECT_EQ(wanted().inheritance(), one.inheritance ? 3U : 0U) << "case " << index;
    EXPECT_EQ(wanted().warn_ms(), one.warning ? 5'000U : 0U) << "case " << index;
  }
}

// row:R2 row:R4
TEST_F(AllocationWords, NameForWhomItIs) {
  if (is_left_out("ALLOC_TARGET")) GTEST_SKIP() << "this build is without PMIX_ALLOC_TARGET";
  for (const auto directive : kMaking) {
    nodes(1);
    list_.text(PMIX_ALLOC_ID, "a1");
    list_.text("pmix.alloc.tgt", "dvm-test@4");
    ASSERT_EQ(read(directive), PMIX_SUCCESS) << "who may say so knows the head";
    EXPECT_EQ(wanted().target(), "dvm-test@4");
    nodes(1);
    list_.text(PMIX_ALLOC_ID, "a1");
    list_.text("pmix.alloc.tgt", "");
    EXPECT_EQ(read(directive), PMIX_ERR_BAD_PARAM);
    nodes(1);
    list_.text(PMIX_ALLOC_ID, "a1");
    list_.u32("pmix.alloc.tgt", 4);
    EXPECT_EQ(read(directive), PMIX_ERR_BAD_PARAM);
  }
}

// row:R10 row:R13
TEST_F(AllocationWords, SayWhatBecomesOfIt) {
  if (is_left_out("ALLOC_INHERITANCE")) GTEST_SKIP() << "this build is without";
  for (const auto directive : kMaking) {
    for (const int number : {0, 1, 2, 3, 4, 5, 255}) {
      const bool good = number >= 1 && number <= 4;
      nodes(1);
      list_.text(PMIX_ALLOC_ID, "a1");
      u8("pmix.alloc.inhrt", static_cast<std::uint8_t>(number));
      ASSERT_EQ(read(directive), good ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED) << number;
      EXPECT_EQ(wanted().inheritance(), good ? static_cast<std::uint32_t>(number) : 0U);
    }
    nodes(1);
    list_.text(PMIX_ALLOC_ID, "a1");
    list_.u32("pmix.alloc.inhrt", 1);
    EXPECT_EQ(read(directive), PMIX_ERR_NOT_SUPPORTED);
    nodes(1);
    list_.text(PMIX_ALLOC_ID, "a1");
    list_.text("pmix.alloc.inhrt", "none");
    EXPECT_EQ(read(directive), PMIX_ERR_NOT_SUPPORTED);
  }
}

// row:R13
TEST_F(AllocationWords, AboutItsTimeMeanNothingWhereItIsGivenBack) {
  const auto cancel = alloc_req_cancel_directive();
  for (const auto directive : {pmix_alloc_directive_t{PMIX_ALLOC_RELEASE},
                               cancel.value_or(pmix_alloc_directive_t{PMIX_ALLOC_RELEASE})}) {
    for (const bool valid : {true, false}) {
      list_.text(PMIX_ALLOC_REQ_ID, "mine");
      u8("pmix.alloc.inhrt", valid ? 1 : 77);
      list_.text(PMIX_ALLOC_TIME, valid ? "60" : "long");
      if (!is_left_out("ALLOC_TARGET")) list_.text("pmix.alloc.tgt", valid ? "dvm-test@4" : "");
      if (!is_left_out("ALLOC_WARN_TIMEOUT")) list_.u32("pmix.alloc.wtmo", valid ? 5 : 0);
      ASSERT_EQ(read(directive), PMIX_SUCCESS) << valid;
      EXPECT_EQ(wanted().inheritance(), 0U);
      EXPECT_EQ(wanted().time_ms(), 0U);
      EXPECT_EQ(wanted().warn_ms(), 0U);
      EXPECT_EQ(wanted().target(), "");
    }
  }
}

TEST_F(AllocationWords, SayHowLongItMayLast) {
  const auto good = std::to_array<std::pair<const char*, std::uint32_t>>({
      {"1", 1'000},
      {"90", 90'000},
      {"1:30", 90'000},
      {"0:90", 90'000},
      {"01:02:03", 3'723'000},
      {"1-00:00:00", 86'400'000},
      {"2:03:04:05", 183'845'000},
      {"2-03:04:05", 183'845'000},
      {"4294967", 4'294'967'000},
      {"4294968", 4'294'967'000},
      {"99999999999999999999:0:0:0", 4'294'967'000},
  });
  for (const auto& [text, time_ms] : good) {
    nodes(1);
    list_.text(PMIX_ALLOC_TIME, text);
    ASSERT_EQ(read(PMIX_ALLOC_NEW), PMIX_SUCCESS) << text;
    EXPECT_EQ(wanted().time_ms(), time_ms) << text;
  }
  for (const char* text : {"", "0", "0:00", ":", "1:", ":1", "-1", "+1", "1.5", "1h", " 1", "1 ",
                           "1-2", "1-02:03", "1-1-01:01:01", "1:2:3:4:5", "1-2:3:4:5"}) {
    nodes(1);
    list_.text(PMIX_ALLOC_TIME, text);
    EXPECT_EQ(read(PMIX_ALLOC_NEW), PMIX_ERR_BAD_PARAM) << "'" << text << "'";
  }
}

// As clients of all releases send them.
// row:R16
TEST_F(AllocationWords, SaySecondsInAnyTypeThatHasThem) {
  const auto check = [this](const char* key, const auto& time_ms) {
    const auto seconds = [&](auto number, pmix_data_type_t type) {
      nodes(1);
      add(key, &number, type);
      ASSERT_EQ(read(PMIX_ALLOC_NEW), PMIX_SUCCESS) << key << " of type " << type;
      EXPECT_EQ(time_ms(wanted()), 60'000U) << key << " of type " << type;
    };
    seconds(60, PMIX_INT);
    seconds(std::int8_t{60}, PMIX_INT8);
    seconds(std::int16_t{60}, PMIX_INT16);
    seconds(std::int32_t{60}, PMIX_INT32);
    seconds(std::int64_t{60}, PMIX_INT64);
    seconds(60U, PMIX_UINT);
    seconds(std::uint8_t{60}, PMIX_UINT8);
    seconds(std::uint16_t{60}, PMIX_UINT16);
    seconds(std::uint32_t{60}, PMIX_UINT32);
    seconds(std::uint64_t{60}, PMIX_UINT64);
    seconds(std::size_t{60}, PMIX_SIZE);
    nodes(1);
    list_.u32(key, std::numeric_limits<std::uint32_t>::max());
    ASSERT_EQ(read(PMIX_ALLOC_NEW), PMIX_SUCCESS);
    EXPECT_EQ(time_ms(wanted()), 4'294'967'000U) << "as long as there is place for";
    for (const int number : {0, -1}) {
      nodes(1);
      add(key, &number, PMIX_INT);
      EXPECT_EQ(read(PMIX_ALLOC_NEW), PMIX_ERR_BAD_PARAM) << key << " " << number;
    }
    nodes(1);
    list_.flag(key, true);
    EXPECT_EQ(read(PMIX_ALLOC_NEW), PMIX_ERR_BAD_PARAM) << key;
  };
  check(PMIX_ALLOC_TIME, [](const AllocationRequest& it) { return it.time_ms(); });
  if (is_left_out("ALLOC_WARN_TIMEOUT")) return;
  check("pmix.alloc.wtmo", [](const AllocationRequest& it) { return it.warn_ms(); });
}

TEST_F(AllocationWords, ProveThatTheSchedulerAsks) {
  nodes(1);
  ASSERT_EQ(read(PMIX_ALLOC_NEW), PMIX_SUCCESS);
  EXPECT_EQ(wanted().scheduler_key(), "");
  for (const auto directive :
       std::to_array<pmix_alloc_directive_t>({PMIX_ALLOC_NEW, PMIX_ALLOC_RELEASE})) {
    nodes(1);
    list_.text(TIDE_SCHEDULER_KEY, "0123456789abcdef");
    ASSERT_EQ(read(directive), PMIX_SUCCESS);
    EXPECT_EQ(wanted().scheduler_key(), "0123456789abcdef");
    nodes(1);
    list_.text(TIDE_SCHEDULER_KEY, "");
    EXPECT_EQ(read(directive), PMIX_ERR_BAD_PARAM);
    nodes(1);
    list_.flag(TIDE_SCHEDULER_KEY, true);
    EXPECT_EQ(read(directive), PMIX_ERR_BAD_PARAM);
  }
}

// row:R20
TEST_F(AllocationWords, OfAReleaseNameItInOneWay) {
  EXPECT_EQ(read(PMIX_ALLOC_RELEASE), PMIX_ERR_BAD_PARAM);
  list_.text(PMIX_ALLOC_ID, "a1");
  ASSERT_EQ(read(PMIX_ALLOC_RELEASE), PMIX_SUCCESS);
  EXPECT_EQ(wanted().what(), AllocationRequest::RELEASE);
  nodes(1);
  EXPECT_EQ(read(PMIX_ALLOC_RELEASE), PMIX_SUCCESS);
  list("alpha");
  list_.text(PMIX_ALLOC_REQ_ID, "less");
  EXPECT_EQ(read(PMIX_ALLOC_RELEASE), PMIX_SUCCESS);
  list_.text(PMIX_ALLOC_REQ_ID, "mine");
  EXPECT_EQ(read(PMIX_ALLOC_RELEASE), PMIX_SUCCESS);
  list_.text(PMIX_ALLOC_ID, "a1");
  nodes(1);
  EXPECT_EQ(read(PMIX_ALLOC_RELEASE), PMIX_ERR_BAD_PARAM);
}

TEST_F(AllocationWords, OfACancellationNameTheRequest) {
  const auto cancel = alloc_req_cancel_directive();
  if (!cancel) GTEST_SKIP() << "this build is without PMIX_ALLOC_REQ_CANCEL";
  EXPECT_EQ(read(*cancel), PMIX_ERR_BAD_PARAM);
  list_.text(PMIX_ALLOC_REQ_ID, "mine");
  ASSERT_EQ(read(*cancel), PMIX_SUCCESS);
  EXPECT_EQ(wanted().what(), AllocationRequest::CANCEL);
}

TEST_F(AllocationWords, OfOtherKindsAreNotSupported) {
  for (const int directive : {PMIX_ALLOC_REAQUIRE, 0, 77, 255}) {
    nodes(1);
    EXPECT_EQ(read(static_cast<pmix_alloc_directive_t>(directive)), PMIX_ERR_NOT_SUPPORTED)
        << directive;
  }
}

TEST_F(AllocationWords, ThatAreUnknownMatterOnlyIfTheyAreRequired) {
  nodes(1);
  list_.text("some.key", "value");
  EXPECT_EQ(read(PMIX_ALLOC_NEW), PMIX_SUCCESS);
  nodes(1);
  add("some.key", "value", PMIX_STRING, true);
  EXPECT_EQ(read(PMIX_ALLOC_NEW), PMIX_ERR_NOT_SUPPORTED);
}

// row:C1 row:R5
TEST_F(AllocationWords, OfTheAnswerAreIdsAndWhetherMoreFollows) {
  wire::AllocationAnswer answer;
  answer.set_allocation("a1");
  answer.set_request_id("mine");
  answer.set_complete(true);
  const auto made = allocation_answer(answer);
  ASSERT_TRUE(made);
  std::map<std::string, std::string> seen;
  for (std::size_t i = 0; i < made->size(); ++i) {
    const pmix_info_t& info = made->data()[i];
    const bool text = info.value.type == PMIX_STRING;
    seen[info.key] = text ? info.value.data.string : info.value.data.flag ? "true" : "false";
  }
  EXPECT_EQ(seen, (std::map<std::string, std::string>{{PMIX_ALLOC_ID, "a1"},
                                                      {PMIX_ALLOC_REQ_ID, "mine"},
                                                      {TIDE_ALLOC_COMPLETE, "true"}}));
}

}  // namespace
}  // namespace tide::pmix
