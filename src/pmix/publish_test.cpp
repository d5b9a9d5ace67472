// What clients publish and look up, as requests of theirs and as they get the answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pmix/packing.hpp"
#include "pmix/server.hpp"
#include "pmix/small_board.hpp"
#include "pmix/test_support.hpp"

namespace tide::pmix {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Publishing : public testing::ServerFixture {
 protected:
  void run(std::uint32_t count, const std::function<void()>& body) {
    on_node("v1", [&] {
      ASSERT_TRUE(register_job(job("dvm-test@1", count)).ok());
      body();
    });
  }
  testing::Client& publish(std::vector<std::string> steps, std::uint32_t rank = 0) {
    steps.insert(steps.begin(), "pmix_publish");
    return start({"dvm-test@1", rank}, steps);
  }
  // Runs clients to their end, with a board that answers.
  void serve() {
    ASSERT_TRUE(run_until([&] {
      board_.serve(*server_, handler_.requests);
      return all_ended();
    })) << complaints();
    EXPECT_EQ(complaints(), "");
  }
  // The next request of a client, which waits.
  const wire::ServiceRequest& next() {
    EXPECT_TRUE(run_until([&] { return handler_.requests.size() > seen_; })) << complaints();
    return handler_.requests.at(seen_++).request;
  }
  void answer(const wire::ServiceAnswer& answer) {
    server_->answer(handler_.requests.at(seen_ - 1).ticket, answer);
  }

  testing::SmallBoard board_;
  std::size_t seen_ = 0;
};

TEST_F(Publishing, WhatOneProcessPublishesAnotherFinds) {
  run(2, [&] {
    publish({"color=blue", "number:size=7"});
    testing::Client& finder = publish({"wait=0", "color?size?"}, 1);
    serve();
    EXPECT_EQ(finder.output(), "color = blue from 0\nsize = 7 from 0\n");
  });
}

TEST_F(Publishing, WhatIsNotThereIsLeftOutOrNotFound) {
  run(1, [&] {
    testing::Client& client = publish({"color=blue", "size?color?", "size?"});
    serve();
    EXPECT_EQ(client.output(), "color = blue from 0\nsize?: NOT-FOUND\n");
  });
}

TEST_F(Publishing, AKeyIsTakenUntilItIsUnpublished) {
  run(1, [&] {
    testing::Client& client =
        publish({"color=blue", "color=red", "-color", "color?", "color=green", "-", "color?"});
    serve();
    EXPECT_EQ(client.output(), "color: DUPLICATE KEY\ncolor?: NOT-FOUND\ncolor?: NOT-FOUND\n");
  });
}

TEST_F(Publishing, DefaultsAreThoseOfTheStandard) {
  run(1, [&] {
    publish({"color=blue", "color?", "-"});
    const wire::ServiceRequest& published = next();
    EXPECT_EQ(published.who().nspace(), "dvm-test@1");
    EXPECT_EQ(published.who().rank(), 0U);
    EXPECT_EQ(published.publish().range(), wire::RANGE_SESSION);
    EXPECT_EQ(published.publish().persistence(), wire::PERSIST_APP);
    EXPECT_THAT(published.publish().users(), IsEmpty());
    ASSERT_THAT(published.publish().data(), SizeIs(1));
    EXPECT_EQ(published.publish().data(0).key(), "color");
    EXPECT_EQ(published.publish().data(0).publisher().nspace(), "dvm-test@1");
    answer({});
    const wire::ServiceRequest& wanted = next();
    EXPECT_THAT(wanted.lookup().keys(), ElementsAre("color"));
    EXPECT_EQ(wanted.lookup().range(), wire::RANGE_UNDEFINED);
    EXPECT_EQ(wanted.lookup().wait_for(), 0U);
    EXPECT_EQ(wanted.timeout_ms(), 0U);
    answer({});
    EXPECT_THAT(next().unpublish().keys(), IsEmpty());
    answer({});
    serve();
    EXPECT_EQ(clients_[0]->output(), "color?: NOT-FOUND\n");
  });
}

TEST_F(Publishing, DirectivesAreNoData) {
  run(1, [&] {
    publish({"range=6", "to=3", "persist=1", "timeout=9", "user=77", "color=blue"});
    const wire::ServiceRequest request = next();
    const wire::Publish& published = request.publish();
    EXPECT_EQ(request.timeout_ms(), 9000U);
    EXPECT_EQ(published.range(), wire::RANGE_CUSTOM);
    ASSERT_THAT(published.audience().names(), SizeIs(1));
    EXPECT_EQ(published.audience().names(0).rank(), 3U);
    EXPECT_EQ(published.persistence(), wire::PERSIST_FIRST_READ);
    EXPECT_THAT(published.users(), ElementsAre(77));
    EXPECT_THAT(published.data(), SizeIs(1));
  });
}

TEST_F(Publishing, HowManyALookupWaitsFor) {
  run(1, [&] {
    publish({"wait=0", "a?b?c?", "wait=2", "a?b?c?", "wait=7", "a?b?c?"});
    EXPECT_EQ(next().lookup().wait_for(), 3U);
    answer({});
    EXPECT_EQ(next().lookup().wait_for(), 2U);
    answer({});
    EXPECT_EQ(next().lookup().wait_for(), 3U);
  });
}

TEST_F(Publishing, WhatMakesNoSenseIsRefusedWithoutAQuestion) {
  run(1, [&] {
    testing::Client& client = publish({"wait=-2", "a?", "wait=0", "range=9", "a?", "a=1", "range=6",
                                       "b=1", "range=4", "to=1", "c=1"});
    ASSERT_TRUE(run_until([&] { return all_ended(); })) << complaints();
    EXPECT_EQ(client.output(),
              "a?: BAD-PARAM\na?: BAD-PARAM\na: BAD-PARAM\nb: BAD-PARAM\nc: BAD-PARAM\n");
    EXPECT_THAT(handler_.requests, IsEmpty());
  });
}

TEST_F(Publishing, ErrorsComeAsTheyAreAndBadBytesAsOne) {
  run(1, [&] {
    publish({"a?", "a?"});
    next();
    wire::ServiceAnswer refused;
    refused.set_error_code(static_cast<std::uint32_t>(ErrorCode::kTimedOut));
    answer(refused);
    next();
    wire::ServiceAnswer mangled;
    auto* datum = mangled.mutable_found()->add_data();
    datum->set_key("a");
    datum->set_value("no bytes of ours");
    datum->mutable_publisher()->set_nspace("dvm-test@1");
    answer(mangled);
    serve();
    EXPECT_EQ(clients_[0]->output(), "a?: TIMEOUT\na?: UNPACK-FAILURE\n");
  });
}

TEST_F(Publishing, ManyAtTheSameTime) {
  run(4, [&] {
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      publish({"many:key" + std::to_string(rank) + "=500"}, rank);
    }
    serve();
  });
}

// Answers of ours and of libpmix itself, to the same clients at the same time.
TEST_F(Publishing, NoAnswerGetsLostBetweenThreads) {
  run(2, [&] {
    start({"dvm-test@1", 0}, {"pmix_threads", "2000"});
    start({"dvm-test@1", 1}, {"pmix_threads", "2000"});
    serve();
    EXPECT_EQ(clients_[0]->output(), "all answered\n");
  });
}

}  // namespace
}  // namespace tide::pmix
