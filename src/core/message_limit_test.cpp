// What is too large for one message fails, for those who wanted it and for nobody else.
#include "core/message_limit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/head_rig.hpp"
#include "core/services_rig.hpp"
#include "wire/exit_status.hpp"

namespace tide::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kTooMuch(kRigLimit + 1, 'x');
const std::string kHalf(kRigLimit / 2, 'x');

class MessageLimitTest : public ServicesTest {
 public:
  static std::vector<ErrorCode> codes_of(const Daemon& one) {
    std::vector<ErrorCode> out;
    for (const auto& answer : all_of<AnswerCollective>(one.out)) {
      out.push_back(answer.status ? ErrorCode::kOk : answer.status.error().code);
    }
    for (const auto& answer : all_of<AnswerService>(one.out)) {
      out.push_back(static_cast<ErrorCode>(answer.answer.error_code()));
    }
    for (const auto& answer : all_of<AnswerModex>(one.out)) {
      out.push_back(answer.status ? ErrorCode::kOk : answer.status.error().code);
    }
    return out;
  }
  void ask(std::uint32_t rank, wire::ServiceRequest request) {
    *request.mutable_who() = name_of("a", rank - 1);
    daemon(rank).clear();
    daemon(rank).services.handle(ServiceAsked{5, std::move(request), {}});
  }
  void publish(const std::string& key, const std::string& value) {
    wire::ServiceRequest request;
    auto* datum = request.mutable_publish()->add_data();
    datum->set_key(key);
    datum->set_value(value);
    request.mutable_publish()->set_range(wire::RANGE_SESSION);
    request.mutable_publish()->set_persistence(wire::PERSIST_FIRST_READ);
    ask(1, std::move(request));
    settle();
  }
  void look_up(std::initializer_list<const char*> keys) {
    wire::ServiceRequest request;
    for (const char* key : keys) request.mutable_lookup()->add_keys(key);
    ask(2, std::move(request));
    settle();
  }
  void fence(const std::string& one, const std::string& two, const std::string& three) {
    for (auto& each : daemons) each.clear();
    daemon(1).enter(1, all_of_a, one);
    daemon(2).enter(2, all_of_a, two);
    settle();
    daemon(3).enter(3, all_of_a, three);
    settle();
  }
};

TEST_F(MessageLimitTest, AFenceOfTooMuchFromOneFailsForAll) {
  fence(kTooMuch, "two", "three");
  for (const auto& each : daemons) {
    EXPECT_THAT(codes_of(each), ElementsAre(ErrorCode::kOutOfResources));
  }
  EXPECT_TRUE(desk.idle());
  fence("one", "two", "three");
  for (const auto& each : daemons) EXPECT_THAT(codes_of(each), ElementsAre(ErrorCode::kOk));
}

TEST_F(MessageLimitTest, AFenceOfTooMuchTogetherFailsForAll) {
  fence(kHalf, kHalf, "one more");
  for (const auto& each : daemons) {
    EXPECT_THAT(codes_of(each), ElementsAre(ErrorCode::kOutOfResources));
  }
  EXPECT_TRUE(desk.idle());
  fence(kHalf, kHalf, "");
  for (const auto& each : daemons) EXPECT_THAT(codes_of(each), ElementsAre(ErrorCode::kOk));
}

TEST_F(MessageLimitTest, ContributionsThatComeAgainAreCountedOnce) {
  daemon(1).enter(1, all_of_a, kHalf);
  settle();
  for (int i = 0; i < 3; ++i) {
    daemon(1).services.contribute_again();
    settle();
  }
  daemon(2).enter(2, all_of_a, kHalf);
  daemon(3).enter(3, all_of_a, "");
  settle();
  EXPECT_THAT(codes_of(daemon(1)), ElementsAre(ErrorCode::kOk));
}

TEST_F(MessageLimitTest, WhatAProcessHasPutIsNotFetchedIfItIsTooMuch) {
  daemon(1).services.handle(ModexAsked{5, name_of("a", 2), 0});
  settle();
  const auto fetches = all_of<FetchModex>(daemon(3).out);
  ASSERT_THAT(fetches, SizeIs(1));
  daemon(3).services.handle(ModexFetched{fetches[0].fetch, ok_status(), Bytes(kTooMuch)});
  ASSERT_THAT(daemon(3).ups, SizeIs(1));
  EXPECT_EQ(daemon(3).ups[0].second.size(), 0U);
  settle();
  EXPECT_THAT(codes_of(daemon(1)), ElementsAre(ErrorCode::kOutOfResources));
}

TEST_F(MessageLimitTest, ARequestThatIsTooLargeStaysWhereItIs) {
  publish("key", kTooMuch);
  EXPECT_THAT(codes_of(daemon(1)), ElementsAre(ErrorCode::kOutOfResources));
  EXPECT_EQ(desk.published(), 0U);
  EXPECT_TRUE(daemon(1).services.idle());
  publish("key", kHalf);
  EXPECT_THAT(codes_of(daemon(1)), ElementsAre(ErrorCode::kOk));
}

TEST_F(MessageLimitTest, AJobNeedsRoomForWhatItsLaunchAdds) {
  wire::ServiceRequest request;
  request.mutable_spawn()->mutable_job()->add_apps()->add_argv(kHalf);
  ask(1, request);
  EXPECT_THAT(codes_of(daemon(1)), ElementsAre(ErrorCode::kOutOfResources));
  EXPECT_THAT(daemon(1).ups, IsEmpty());
}

TEST_F(MessageLimitTest, WhatIsTooMuchToBeFoundAtOnceIsFoundOneByOne) {
  publish("one", kHalf);
  publish("two", kHalf);
  look_up({"one", "two"});
  EXPECT_THAT(codes_of(daemon(2)), ElementsAre(ErrorCode::kOutOfResources));
  EXPECT_EQ(desk.published(), 2U) << "nobody has read them";
  look_up({"one"});
  EXPECT_THAT(codes_of(daemon(2)), ElementsAre(ErrorCode::kOk));
  look_up({"two"});
  EXPECT_THAT(codes_of(daemon(2)), ElementsAre(ErrorCode::kOk));
}

TEST_F(MessageLimitTest, AnAnswerThatIsTooLargeIsNotGiven) {
  reply.add_nodes()->set_name(kHalf);
  wire::ServiceRequest request;
  request.mutable_query()->add_questions();
  ask(1, request);
  settle();
  EXPECT_THAT(codes_of(daemon(1)), ElementsAre(ErrorCode::kOk));
  request.mutable_query()->add_questions();
  ask(1, request);
  settle();
  EXPECT_THAT(codes_of(daemon(1)), ElementsAre(ErrorCode::kOutOfResources));
}

TEST_F(MessageLimitTest, AnEventThatIsTooLargeDoesNotTravel) {
  EventRaised event;
  *event.notice.mutable_source() = name_of("a", 0);
  event.notice.set_range(wire::RANGE_SESSION);
  event.notice.add_facts()->set_text(kTooMuch);
  daemon(1).services.handle(event);
  EXPECT_THAT(daemon(1).ups, IsEmpty());
  EXPECT_TRUE(says(daemon(1).out, "an event of a:0 is not told elsewhere"));
}

// Four daemons in a row, so that everything goes over the link of the first.
TEST(MessageLimitOfHead, WhatGoesToManyIsCutIntoMessagesThatFit) {
  auto config = HeadRig::verbose_config();
  config.overlay.radix = 1;
  config.overlay.message_limit = kRigLimit;
  HeadRig rig(4, config);
  rig.start();
  for (std::uint32_t rank = 1; rank <= 4; ++rank) {
    rig.link_up(rank);
    rig.report(rank);
  }
  rig.attach(1);
  wire::UpBody body;
  body.mutable_event()->set_range(wire::RANGE_SESSION);
  body.mutable_event()->add_facts()->set_text(std::string(kRigLimit * 4 / 5, 'x'));
  std::vector<std::uint32_t> told;
  for (const auto& sent : all_of<Send>(rig.up(1, body))) {
    EXPECT_LE(sent.message.ByteSizeLong(), kRigLimit);
    for (const auto& entry : sent.message.down().entries()) {
      if (entry.body().has_event()) told.push_back(entry.destination());
    }
  }
  EXPECT_THAT(told, ElementsAre(2, 3, 4));
}

TEST(LaunchLimit, AJobWhoseLaunchDoesNotFitIsNotLaunched) {
  auto config = HeadRig::verbose_config();
  config.overlay.message_limit = 4000;
  HeadRig rig(2, config);
  rig.make_ready();
  auto spec = job_spec(2);
  spec.mutable_apps(0)->add_argv(std::string(2000, 'x'));
  const auto actions = rig.submit(5, spec);
  ASSERT_THAT(endings(actions), SizeIs(1));
  EXPECT_EQ(endings(actions)[0].exit_status(), kExitJobFailed);
  EXPECT_EQ(states_of(rig.seen, "dvm@1").at(11), "CANNOT_LAUNCH");
  for (const auto& [rank, node] : rig.head.roster().nodes()) EXPECT_EQ(node.used, 0U);
  EXPECT_TRUE(rig.head.jobs().idle());
  EXPECT_THAT(endings(rig.submit(6, job_spec(2))), IsEmpty()) << "others are";
}

}  // namespace
}  // namespace tide::core
