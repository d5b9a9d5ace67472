#include "pmix/allocation_request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pmix.h>
#include <tide/pmix_keys.h>

#include <limits>
#include <map>
#include <string>

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
  void list(const std::string& names) { list_.text(PMIX_ALLOC_NODE_LIST, names); }
  [[nodiscard]] const AllocationRequest& wanted() const { return request_.allocation(); }

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
  if (!alloc_share_key()) GTEST_SKIP() << "this build is without PMIX_ALLOC_SHARE";
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

TEST_F(AllocationWords, OfAnExtensionNameWhatIsExtended) {
  nodes(1);
  EXPECT_EQ(read(PMIX_ALLOC_EXTEND), PMIX_ERR_BAD_PARAM);
  nodes(1);
  list_.text(PMIX_ALLOC_ID, "a1");
  ASSERT_EQ(read(PMIX_ALLOC_EXTEND), PMIX_SUCCESS);
  EXPECT_EQ(wanted().what(), AllocationRequest::EXTEND);
  EXPECT_EQ(wanted().allocation(), "a1");
  nodes(1);
  list_.text(PMIX_ALLOC_REQ_ID, "mine");
  EXPECT_EQ(read(PMIX_ALLOC_EXTEND), PMIX_SUCCESS);
  list_.text(PMIX_ALLOC_ID, "a1");
  EXPECT_EQ(read(PMIX_ALLOC_EXTEND), PMIX_ERR_BAD_PARAM);
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

// What is not understood may be left out, unless that makes another allocation of it.
TEST_F(AllocationWords, ThatWouldBeMissedAreNotSupported) {
  nodes(1);
  list_.text("some.key", "value");
  EXPECT_EQ(read(PMIX_ALLOC_NEW), PMIX_SUCCESS);
  nodes(1);
  add("some.key", "value", PMIX_STRING, true);
  EXPECT_EQ(read(PMIX_ALLOC_NEW), PMIX_ERR_NOT_SUPPORTED);
  nodes(1);
  list_.u32(PMIX_ALLOC_TIME, 60);
  EXPECT_EQ(read(PMIX_ALLOC_NEW), PMIX_ERR_NOT_SUPPORTED);
  nodes(1);
  list_.u32(PMIX_ALLOC_TIME, 60);
  EXPECT_EQ(read(PMIX_ALLOC_RELEASE), PMIX_SUCCESS) << "means nothing there";
  if (!alloc_target_key() || !alloc_inheritance_key()) return;
  nodes(1);
  list_.text("pmix.alloc.tgt", "another");
  EXPECT_EQ(read(PMIX_ALLOC_NEW), PMIX_ERR_NOT_SUPPORTED);
  nodes(1);
  const std::uint8_t none = 1;
  add("pmix.alloc.inhrt", &none, PMIX_UINT8);
  EXPECT_EQ(read(PMIX_ALLOC_NEW), PMIX_ERR_NOT_SUPPORTED);
}

// row:C1
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
