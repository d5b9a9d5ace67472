// That an allocation is about to end: a scheduler's word for it, and what its requester is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pmix.h>
#include <sys/stat.h>
#include <tide/pmix_keys.h>

#include <cstdint>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "pmix/event_notice.hpp"
#include "pmix/left_out_keys.hpp"
#include "pmix/tool_support.hpp"

namespace tide::pmix {
namespace {

using testing::Client;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr pmix_status_t kWarning = -194;
constexpr const char* kKey = "0123456789abcdef";

// What a scheduler says about an allocation that is about to end.
class Warning : public ::testing::Test {
 protected:
  pmix_status_t read() {
    notice_ = {};
    const pmix_proc_t source{"scheduler", 3};
    const auto info = list_.finish();
    return read_warning(source, info->data(), info->size(), notice_);
  }
  template <class Number>
  void left(Number number, pmix_data_type_t type) {
    pmix_info_t info{};
    PMIX_INFO_LOAD(&info, PMIX_TIME_REMAINING, &number, type);
    list_.take(info);
  }
  InfoList list_;
  wire::EventNotice notice_;
};

// row:R16
TEST_F(Warning, IsForTheHeadAlone) {
  list_.text(TIDE_SCHEDULER_KEY, kKey);
  list_.text(PMIX_ALLOC_ID, "a1");
  list_.u32(PMIX_TIME_REMAINING, 30);
  ASSERT_EQ(read(), PMIX_SUCCESS);
  EXPECT_EQ(notice_.warning().allocation(), "a1");
  EXPECT_EQ(notice_.warning().left_s(), 30U);
  EXPECT_EQ(notice_.warning().scheduler_key(), kKey);
  EXPECT_EQ(notice_.range(), wire::RANGE_MANAGER);
  EXPECT_EQ(notice_.code(), kWarning);
  EXPECT_EQ(notice_.source().nspace(), "scheduler");
  EXPECT_EQ(notice_.source().rank(), 3U);
  EXPECT_EQ(notice_.info(), "") << "it travels nowhere else";
}

TEST_F(Warning, HasSecondsOfAnyType) {
  const auto read_left = [this] {
    list_.text(PMIX_ALLOC_ID, "a1");
    EXPECT_EQ(read(), PMIX_SUCCESS);
    EXPECT_EQ(notice_.warning().scheduler_key(), "") << "the head does not believe it";
    return notice_.warning().left_s();
  };
  left(30, PMIX_INT);
  EXPECT_EQ(read_left(), 30U);
  left(std::uint64_t{30}, PMIX_UINT64);
  EXPECT_EQ(read_left(), 30U);
  left(std::uint8_t{0}, PMIX_UINT8);
  EXPECT_EQ(read_left(), 0U);
  left(std::uint64_t{1} << 40U, PMIX_UINT64);
  EXPECT_EQ(read_left(), std::numeric_limits<std::uint32_t>::max());
}

TEST_F(Warning, ThatDoesNotSayOfWhatIsRefused) {
  EXPECT_EQ(read(), PMIX_ERR_BAD_PARAM);
  list_.text(PMIX_ALLOC_ID, "a1");
  EXPECT_EQ(read(), PMIX_ERR_BAD_PARAM);
  list_.u32(PMIX_TIME_REMAINING, 30);
  EXPECT_EQ(read(), PMIX_ERR_BAD_PARAM);
  list_.u32(PMIX_ALLOC_ID, 1);
  list_.u32(PMIX_TIME_REMAINING, 30);
  EXPECT_EQ(read(), PMIX_ERR_BAD_PARAM);
  list_.text(PMIX_ALLOC_ID, "a1");
  left(-1, PMIX_INT);
  EXPECT_EQ(read(), PMIX_ERR_BAD_PARAM);
  list_.text(PMIX_ALLOC_ID, "a1");
  list_.u32(PMIX_TIME_REMAINING, 30);
  list_.flag(TIDE_SCHEDULER_KEY, true);
  EXPECT_EQ(read(), PMIX_ERR_BAD_PARAM);
}

// ---- what its requester is told ----

// row:R16
TEST(WarningFacts, AreWhichAllocationAndHowManySecondsThereAre) {
  wire::EventNotice notice;
  notice.set_code(kWarning);
  const auto add = [&notice](const char* key) {
    auto* fact = notice.add_facts();
    fact->set_key(key);
    return fact;
  };
  add(PMIX_ALLOC_ID)->set_text("a1");
  add(PMIX_ALLOC_REQ_ID)->set_text("mine");
  add(PMIX_TIME_REMAINING)->set_number(30);
  const auto info = event_info(notice);
  ASSERT_TRUE(info.ok());
  ASSERT_EQ(info->size(), 3U);
  const pmix_info_t* entries = info->data();
  EXPECT_TRUE(PMIX_CHECK_KEY(&entries[0], PMIX_ALLOC_ID));
  ASSERT_EQ(entries[0].value.type, PMIX_STRING);
  EXPECT_STREQ(entries[0].value.data.string, "a1");
  EXPECT_TRUE(PMIX_CHECK_KEY(&entries[1], PMIX_ALLOC_REQ_ID));
  ASSERT_EQ(entries[1].value.type, PMIX_STRING);
  EXPECT_STREQ(entries[1].value.data.string, "mine");
  EXPECT_TRUE(PMIX_CHECK_KEY(&entries[2], PMIX_TIME_REMAINING));
  ASSERT_EQ(entries[2].value.type, PMIX_UINT32);
  EXPECT_EQ(entries[2].value.data.uint32, 30U);
}

// pmix_alloc, as a tool or as a process, that does what it is told line by line.
class WarningsOfTools : public testing::ToolFixture {
 protected:
  class Asker {
   public:
    Asker(Client& client, const std::string& orders)
        : client_(client), orders_(orders, std::ios::in | std::ios::out) {}
    void order(const std::string& line) { orders_ << line << std::endl; }
    [[nodiscard]] std::string output() const { return client_.output(); }

   private:
    Client& client_;
    std::fstream orders_;
  };

  std::string fifo() {
    const std::string path = orders_.file("orders" + std::to_string(askers_++) + ".0");
    EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    return path;
  }
  Asker tool() {
    const std::string path = fifo();
    Asker asker(start_tool({"attach", rendezvous_file()}, directory_.path(), path, "pmix_alloc"),
                path);
    return asker;
  }
  Asker process(const ProcName& name) {
    const std::string path = fifo();
    Asker asker(start(name, {"pmix_alloc", "rank", path.substr(0, path.size() - 2)}), path);
    return asker;
  }
  bool says(const Asker& asker, const std::string& text) {
    return run_until([&] { return asker.output().find(text) != std::string::npos; });
  }

  testing::TemporaryDirectory orders_;
  int askers_ = 0;
};

// row:R16
TEST_F(WarningsOfTools, ComeToUsWithTheKeyAndToNobodyElse) {
  if (is_left_out("ALLOC_TIMEOUT_WARNING")) GTEST_SKIP() << "this build is without";
  with_server([&] {
    accept_tools();
    JobDescription one = job("dvm-test@1", 1);
    one.nodes[0].name = node_;
    ASSERT_TRUE(register_job(one).ok());
    std::vector<Asker> all;
    all.push_back(tool());
    all.push_back(process({"dvm-test@1", 0}));
    all.push_back(tool());
    for (const auto& asker : all) ASSERT_TRUE(says(asker, "ready ")) << complaints();
    all[0].order("w warn id=a1 left=30 key=" + std::string(kKey));
    ASSERT_TRUE(run_until([&] { return handler_.events.size() == 1; }));
    all[1].order("w warn id=a2 left=20");
    ASSERT_TRUE(run_until([&] { return handler_.events.size() == 2; }));
    all.push_back(tool());
    ASSERT_TRUE(says(all.back(), "ready ")) << complaints();
    for (auto& asker : all) asker.order("quit");
    ASSERT_TRUE(run_until([&] { return all_ended(); })) << complaints();
    ASSERT_THAT(handler_.events, SizeIs(2));
    const wire::EventNotice& first = handler_.events[0];
    EXPECT_EQ(first.warning().allocation(), "a1");
    EXPECT_EQ(first.warning().left_s(), 30U);
    EXPECT_EQ(first.warning().scheduler_key(), kKey);
    EXPECT_THAT(first.source().nspace(), StartsWith("dvm-test-tool-"));
    EXPECT_EQ(handler_.events[1].source().nspace(), "dvm-test@1");
    EXPECT_EQ(handler_.events[1].warning().scheduler_key(), "");
    EXPECT_THAT(all[2].output(), Not(HasSubstr("event"))) << "was there";
    EXPECT_THAT(all[3].output(), Not(HasSubstr("event"))) << "came later";
    EXPECT_THAT(all[1].output(), Not(HasSubstr(kKey)));
  });
}

// row:R16
TEST_F(WarningsOfTools, OfOursReachTheOneThatIsNamedWhichMayAnswerAtOnce) {
  if (is_left_out("ALLOC_TIMEOUT_WARNING")) GTEST_SKIP() << "this build is without";
  with_server([&] {
    accept_tools();
    std::vector<Asker> all;
    for (int number = 0; number < 2; ++number) {
      all.push_back(tool());
      ASSERT_TRUE(says(all.back(), "ready ")) << complaints();
    }
    all[0].order("more onwarn extend time=60 warn=5");
    all[0].order("first new nodes=1");
    ASSERT_TRUE(run_until([&] { return handler_.requests.size() == 1; }));
    wire::EventNotice notice;
    notice.set_code(kWarning);
    notice.mutable_source()->set_nspace("dvm-test");
    notice.mutable_source()->set_rank(1);
    notice.set_range(wire::RANGE_CUSTOM);
    *notice.mutable_targets()->add_names() = handler_.requests[0].request.who();
    const auto add = [&notice](const char* key) {
      auto* fact = notice.add_facts();
      fact->set_key(key);
      return fact;
    };
    add(PMIX_ALLOC_ID)->set_text("a1");
    add(PMIX_ALLOC_REQ_ID)->set_text("mine");
    add(PMIX_TIME_REMAINING)->set_number(30);
    server_->notify(notice);
    ASSERT_TRUE(says(all[0], "event PMIX_ALLOC_TIMEOUT_WARNING id=a1 req=mine left=30\n"));
    ASSERT_TRUE(run_until([&] { return handler_.requests.size() == 2; }));
    const auto& answer = handler_.requests[1].request.allocation();
    EXPECT_EQ(answer.what(), wire::AllocationRequest::EXTEND);
    EXPECT_EQ(answer.allocation(), "a1");
    EXPECT_EQ(answer.time_ms(), 60'000U);
    EXPECT_EQ(answer.warn_ms(), 5'000U);
    for (const auto& request : handler_.requests) server_->answer(request.ticket, {});
    for (auto& asker : all) asker.order("quit");
    ASSERT_TRUE(run_until([&] { return all_ended(); })) << complaints();
    EXPECT_EQ(all[0].output().find("event"), all[0].output().rfind("event")) << "once";
    EXPECT_THAT(all[1].output(), Not(HasSubstr("event")));
    EXPECT_THAT(handler_.events, IsEmpty());
  });
}

}  // namespace
}  // namespace tide::pmix
