// What is published: who sees it, how long it is kept, who waits for it.
#include "core/publish_board.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tide::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Processes of job a are on daemons 1 and 2, that of b is on daemon 1.
class PublishBoardTest : public ::testing::Test {
 public:
  static constexpr std::size_t kLimit = 1000;
  struct Who {
    std::uint32_t daemon;
    std::string nspace;
    std::uint32_t rank;
    std::uint32_t user = 100;
    std::uint32_t group = 100;
  };
  const Who a0{1, "a", 0};
  const Who a1{2, "a", 1};
  const Who b0{1, "b", 0};

  static wire::ServiceRequest request(const Who& who) {
    wire::ServiceRequest out;
    *out.mutable_who() = proc_name(who.nspace, who.rank);
    out.set_user(who.user);
    out.set_group(who.group);
    return out;
  }
  static wire::ServiceRequest terms(const Who& who, wire::Range range,
                                    wire::Persistence persistence = wire::PERSIST_SESSION) {
    auto out = request(who);
    out.mutable_publish()->set_range(range);
    out.mutable_publish()->set_persistence(persistence);
    return out;
  }
  bool publish(const Who& who, wire::ServiceRequest with, const std::string& key,
               const std::string& value = "value") {
    auto* datum = with.mutable_publish()->add_data();
    datum->set_key(key);
    datum->set_value(value);
    const Status status = board.publish(Rank(who.daemon), with);
    if (!status) {
      EXPECT_EQ(status.error().code, ErrorCode::kAlreadyExists);
    }
    return status.ok();
  }
  bool publish(const Who& who, wire::Range range, const std::string& key,
               const std::string& value = "value") {
    return publish(who, terms(who, range), key, value);
  }
  // The values that were found, or "-" for an error; nothing: it waits.
  std::vector<std::string> lookup(const Who& who, const std::vector<std::string>& keys,
                                  std::uint32_t wait_for = 0,
                                  wire::Range range = wire::RANGE_UNDEFINED) {
    answers.clear();
    auto out = request(who);
    for (const auto& key : keys) out.mutable_lookup()->add_keys(key);
    out.mutable_lookup()->set_wait_for(wait_for);
    out.mutable_lookup()->set_range(range);
    board.lookup(Requester{Rank(who.daemon), ++token}, out);
    return answers;
  }
  void unpublish(const Who& who, const std::vector<std::string>& keys,
                 wire::Range range = wire::RANGE_UNDEFINED, bool has_ended = false) {
    auto out = request(who);
    for (const auto& key : keys) out.mutable_unpublish()->add_keys(key);
    out.mutable_unpublish()->set_range(range);
    out.mutable_unpublish()->set_has_ended(has_ended);
    EXPECT_TRUE(board.unpublish(out));
  }

  std::vector<std::string> answers;
  std::vector<std::uint64_t> answered;  // tokens
  std::uint64_t token = 0;
  PublishBoard board{kLimit,
                     [this](const Requester& to, const Status& status, const wire::Found& found) {
                       answered.push_back(to.token);
                       if (!status) answers.emplace_back("-");
                       for (const auto& datum : found.data()) answers.push_back(datum.value());
                     }};
};

TEST_F(PublishBoardTest, EachRangeHasItsReaders) {
  publish(a0, wire::RANGE_SESSION, "session", "s");
  publish(a0, wire::RANGE_GLOBAL, "global", "g");
  publish(a0, wire::RANGE_NAMESPACE, "namespace", "n");
  publish(a0, wire::RANGE_LOCAL, "local", "l");
  publish(a0, wire::RANGE_PROC_LOCAL, "own", "o");
  publish(a0, wire::RANGE_MANAGER, "manager", "m");
  auto custom = terms(a0, wire::RANGE_CUSTOM);
  *custom.mutable_publish()->mutable_audience()->add_names() = proc_name("b", kAllRanks);
  publish(a0, custom, "custom", "c");
  const std::vector<std::string> all = {"session", "global",  "namespace", "local",
                                        "own",     "manager", "custom"};
  EXPECT_THAT(lookup(a0, all), ElementsAre("s", "g", "n", "l", "o"));
  EXPECT_THAT(lookup(a1, all), ElementsAre("s", "g", "n"));
  EXPECT_THAT(lookup(b0, all), ElementsAre("s", "g", "l", "c"));
  EXPECT_EQ(board.size(), 7U);
}

TEST_F(PublishBoardTest, AReaderMayLookIntoOneRangeOnly) {
  publish(a0, wire::RANGE_SESSION, "key", "of a");
  EXPECT_THAT(lookup(b0, {"key"}, 0, wire::RANGE_NAMESPACE), ElementsAre("-"));
  EXPECT_THAT(lookup(b0, {"key"}, 0, wire::RANGE_LOCAL), ElementsAre("of a"));
  EXPECT_THAT(lookup(a1, {"key"}, 0, wire::RANGE_NAMESPACE), ElementsAre("of a"));
}

TEST_F(PublishBoardTest, AKeyIsTakenWhereSomebodyWouldSeeBoth) {
  EXPECT_TRUE(publish(a0, wire::RANGE_SESSION, "key"));
  EXPECT_FALSE(publish(b0, wire::RANGE_SESSION, "key"));
  EXPECT_TRUE(publish(a0, wire::RANGE_NAMESPACE, "key"));
  EXPECT_TRUE(publish(b0, wire::RANGE_NAMESPACE, "key")) << "of another job";
  EXPECT_FALSE(publish(a1, wire::RANGE_NAMESPACE, "key"));
  EXPECT_TRUE(publish(a0, wire::RANGE_LOCAL, "key"));
  EXPECT_FALSE(publish(b0, wire::RANGE_LOCAL, "key")) << "on the same node";
  EXPECT_TRUE(publish(a1, wire::RANGE_LOCAL, "key"));
  EXPECT_EQ(board.size(), 5U);
}

TEST_F(PublishBoardTest, AllOfItOrNothing) {
  publish(a0, wire::RANGE_SESSION, "two");
  auto several = terms(b0, wire::RANGE_SESSION);
  several.mutable_publish()->add_data()->set_key("one");
  EXPECT_FALSE(publish(b0, several, "two"));
  EXPECT_EQ(board.size(), 1U);
  EXPECT_FALSE(publish(b0, several, "one")) << "twice in one";
  EXPECT_TRUE(publish(b0, several, "three"));
  EXPECT_EQ(board.size(), 3U);
}

TEST_F(PublishBoardTest, PermissionsNameUsersAndGroups) {
  auto secret = terms(a0, wire::RANGE_SESSION);
  secret.mutable_publish()->add_users(7);
  secret.mutable_publish()->add_groups(8);
  publish(a0, secret, "key");
  EXPECT_THAT(lookup(Who{2, "a", 1}, {"key"}), ElementsAre("value")) << "the publisher's user";
  EXPECT_THAT(lookup(Who{2, "c", 1, 7, 9}, {"key"}), ElementsAre("value"));
  EXPECT_THAT(lookup(Who{2, "c", 1, 9, 8}, {"key"}), ElementsAre("value"));
  EXPECT_THAT(lookup(Who{2, "c", 1, 9, 9}, {"key"}), ElementsAre("-"));
}

TEST_F(PublishBoardTest, TheFirstReaderIsTheLast) {
  publish(a0, terms(a0, wire::RANGE_SESSION, wire::PERSIST_FIRST_READ), "key");
  EXPECT_THAT(lookup(b0, {"key", "key"}), ElementsAre("value"));
  EXPECT_THAT(lookup(a1, {"key"}), ElementsAre("-"));
  EXPECT_EQ(board.size(), 0U);
}

TEST_F(PublishBoardTest, OnlyOneOfThoseWhoWaitIsTheFirst) {
  EXPECT_THAT(lookup(b0, {"key"}, 1), IsEmpty());
  EXPECT_THAT(lookup(a1, {"key"}, 1), IsEmpty());
  publish(a0, terms(a0, wire::RANGE_SESSION, wire::PERSIST_FIRST_READ), "key");
  EXPECT_THAT(answers, ElementsAre("value"));
  EXPECT_FALSE(board.nobody_waits());
}

TEST_F(PublishBoardTest, WhoWaitsIsAnsweredOnceWhenEnoughIsThere) {
  EXPECT_THAT(lookup(b0, {"one", "two", "three"}, 2), IsEmpty());
  publish(a0, wire::RANGE_SESSION, "one", "1");
  EXPECT_THAT(answers, IsEmpty());
  publish(a0, wire::RANGE_NAMESPACE, "two", "not for b");
  EXPECT_THAT(answers, IsEmpty());
  publish(a0, wire::RANGE_SESSION, "three", "3");
  EXPECT_THAT(answers, ElementsAre("1", "3"));
  publish(a0, wire::RANGE_SESSION, "two", "2");
  EXPECT_THAT(answers, SizeIs(2));
  EXPECT_TRUE(board.nobody_waits());
}

TEST_F(PublishBoardTest, WhoGivesUpOrIsGoneIsNotAnswered) {
  lookup(a0, {"key"}, 1);
  lookup(a1, {"key"}, 1);
  lookup(b0, {"key"}, 1);
  lookup(Who{3, "c", 0}, {"key"}, 1);
  board.cancel(Requester{Rank(2), 1});
  board.cancel(Requester{Rank(1), 1});
  board.on_nspace_gone("b");
  board.on_daemon_lost(Rank(3));
  publish(a0, wire::RANGE_SESSION, "key");
  EXPECT_THAT(answered, ElementsAre(2));
  EXPECT_TRUE(board.nobody_waits());
}

TEST_F(PublishBoardTest, EveryPersistenceHasItsEnd) {
  for (const auto persistence :
       {wire::PERSIST_INDEFINITE, wire::PERSIST_PROC, wire::PERSIST_APP, wire::PERSIST_SESSION}) {
    publish(a0, terms(a0, wire::RANGE_SESSION, persistence), wire::Persistence_Name(persistence));
  }
  publish(a1, terms(a1, wire::RANGE_SESSION, wire::PERSIST_PROC), "of another");
  unpublish(a0, {}, wire::RANGE_UNDEFINED, /*has_ended=*/true);
  EXPECT_EQ(board.size(), 4U);
  EXPECT_THAT(lookup(b0, {"PERSIST_PROC"}), ElementsAre("-"));
  board.on_nspace_gone("a");
  EXPECT_THAT(lookup(b0, {"PERSIST_INDEFINITE", "PERSIST_APP", "PERSIST_SESSION", "of another"}),
              SizeIs(2));
  EXPECT_EQ(board.size(), 2U);
}

TEST_F(PublishBoardTest, OneTakesBackItsOwnOnly) {
  publish(a0, wire::RANGE_SESSION, "one");
  publish(a0, wire::RANGE_SESSION, "two");
  publish(a0, wire::RANGE_LOCAL, "one");
  unpublish(a1, {"one"});
  EXPECT_EQ(board.size(), 3U);
  unpublish(a0, {"one"}, wire::RANGE_LOCAL);
  EXPECT_EQ(board.size(), 2U);
  unpublish(a0, {"one", "unknown"});
  EXPECT_THAT(lookup(b0, {"one", "two"}), ElementsAre("value"));
  unpublish(a0, {});
  EXPECT_EQ(board.size(), 0U);
  EXPECT_TRUE(publish(b0, wire::RANGE_SESSION, "one")) << "the key is free again";
}

}  // namespace
}  // namespace tide::core
