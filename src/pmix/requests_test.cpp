// Control of jobs, log, output and input, by real tools and processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pmix.h>

#include "pmix/tool_support.hpp"
#include "pmix/upcalls_tools.hpp"

namespace tide::pmix {
namespace {

using testing::Client;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class OneInfo {
 public:
  OneInfo(const char* key, const void* value, pmix_data_type_t type, bool required = false) {
    PMIX_INFO_LOAD(&info_, key, value, type);
    if (required) info_.flags |= PMIX_INFO_REQD;
  }
  ~OneInfo() { PMIx_Value_destruct(&info_.value); }
  OneInfo(const OneInfo&) = delete;
  OneInfo& operator=(const OneInfo&) = delete;
  [[nodiscard]] const pmix_info_t* get() const { return &info_; }

 private:
  pmix_info_t info_{};
};

const pmix_proc_t kTool = {"debugger", 0};
const pmix_proc_t kTarget = {"dvm-test@5", PMIX_RANK_WILDCARD};

pmix_status_t control(const OneInfo& info, const pmix_proc_t& target = kTarget) {
  return control_asked(&kTool, &target, 1, info.get(), 1, nullptr, nullptr);
}

TEST(PmixUpcalls, RefuseControlThatTheyDoNotUnderstand) {
  const bool yes = true;
  const bool no = false;
  const int number = 9;
  const pmix_proc_t nobody = {"dvm-test@5", PMIX_RANK_UNDEF};
  EXPECT_EQ(control({PMIX_JOB_CTRL_KILL, "now", PMIX_STRING}), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(control({PMIX_JOB_CTRL_SIGNAL, "9", PMIX_STRING}), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(control({PMIX_JOB_CTRL_SIGNAL, &number, PMIX_INT}, nobody), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(control({PMIX_JOB_CTRL_KILL, &no, PMIX_BOOL}), PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(control({PMIX_JOB_CTRL_CHECKPOINT, "id", PMIX_STRING}), PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(control({PMIX_JOB_CTRL_CHECKPOINT, "id", PMIX_STRING, true}), PMIX_ERR_NOT_SUPPORTED);
  const OneInfo kill(PMIX_JOB_CTRL_KILL, &yes, PMIX_BOOL);
  EXPECT_EQ(control_asked(nullptr, &kTarget, 1, kill.get(), 1, nullptr, nullptr),
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(control_asked(&kTool, nullptr, 3, kill.get(), 1, nullptr, nullptr), PMIX_ERR_BAD_PARAM);
  const pmix_info_t two[] = {*kill.get(), *kill.get()};
  EXPECT_EQ(control_asked(&kTool, &kTarget, 1, two, 2, nullptr, nullptr), PMIX_ERR_BAD_PARAM);
}

TEST(PmixUpcalls, RefuseOutputAndInputOfNobody) {
  const pmix_byte_object_t bytes = {nullptr, 0};
  EXPECT_EQ(output_pulled(nullptr, 0, nullptr, 0, PMIX_FWD_STDOUT_CHANNEL, nullptr, nullptr),
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(output_pulled(nullptr, 0, nullptr, 0, PMIX_FWD_NO_CHANNELS, nullptr, nullptr),
            PMIX_OPERATION_SUCCEEDED)
      << "the end of a request";
  const OneInfo unknown("who.knows", "x", PMIX_STRING, true);
  EXPECT_EQ(output_pulled(&kTarget, 1, unknown.get(), 1, PMIX_FWD_STDOUT_CHANNEL, nullptr, nullptr),
            PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(input_pushed(nullptr, &kTarget, 1, nullptr, 0, &bytes, nullptr, nullptr),
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(input_pushed(&kTool, nullptr, 0, nullptr, 0, &bytes, nullptr, nullptr),
            PMIX_ERR_BAD_PARAM);
}

class PmixRequests : public testing::ToolFixture {
 protected:
  using Request = testing::RecordingHandler::Request;

  void answer_all(ErrorCode code = ErrorCode::kOk) {
    handler_.when_request = [this, code](const Request& request) {
      wire::ServiceAnswer answer;
      answer.set_error_code(static_cast<std::uint32_t>(code));
      server_->answer(request.ticket, answer);
    };
  }
  std::string output_of(const std::vector<std::string>& words,
                        const std::string& input = "/dev/null") {
    Client& tool = start_attached(words, input);
    EXPECT_TRUE(run_until_ended(tool));
    return tool.output();
  }
  const wire::Control& last_control() { return handler_.requests.back().request.control(); }
  void deliver(const ProcName& source, wire::Stream stream, const std::string& text) {
    bool done = false;
    server_->deliver_output(source, stream, text, [&] { done = true; });
    EXPECT_FALSE(done) << "from inside the call";
    EXPECT_TRUE(run_until([&] { return done; }));
  }
};

TEST_F(PmixRequests, ToControlAJobAreAskedByTheToolItself) {
  with_server([&] {
    accept_tools();
    answer_all();
    EXPECT_EQ(output_of({"as", "debugger", "0", "signal", "dvm-test@5", "10"}),
              "signal: SUCCESS\n");
    EXPECT_EQ(handler_.requests[0].request.who().nspace(), "debugger");
    ASSERT_EQ(last_control().targets().names_size(), 1);
    EXPECT_EQ(last_control().targets().names(0).nspace(), "dvm-test@5");
    EXPECT_EQ(last_control().targets().names(0).rank(), kAllRanks);
    EXPECT_EQ(last_control().signal(), SIGUSR1);
    EXPECT_EQ(output_of({"pause", "dvm-test@5"}), "pause: SUCCESS\n");
    EXPECT_EQ(last_control().signal(), SIGSTOP);
    EXPECT_EQ(output_of({"resume", "dvm-test@5"}), "resume: SUCCESS\n");
    EXPECT_EQ(last_control().signal(), SIGCONT);
    EXPECT_EQ(output_of({"kill", "dvm-test@5"}), "kill: SUCCESS\n");
    EXPECT_TRUE(last_control().kill());
    EXPECT_EQ(output_of({"terminate", "dvm-test@5"}), "terminate: SUCCESS\n");
    EXPECT_TRUE(last_control().terminate());
    EXPECT_FALSE(last_control().kill());
  });
}

TEST_F(PmixRequests, ToControlAJobThatMakeNoSenseAreRefused) {
  with_server([&] {
    accept_tools();
    EXPECT_EQ(output_of({"signal", "dvm-test@5", "-3"}), "signal: BAD-PARAM\n");
    EXPECT_EQ(output_of({"signal", "dvm-test@5", "70000"}), "signal: BAD-PARAM\n");
    EXPECT_THAT(handler_.requests, IsEmpty());
    answer_all(ErrorCode::kNotFound);
    EXPECT_EQ(output_of({"kill", "nobody"}), "kill: NOT-FOUND\n");
  });
}

TEST_F(PmixRequests, ToLogSeveralTextsAreOneEach) {
  with_server([&] {
    accept_tools();
    answer_all();
    EXPECT_EQ(output_of({"log", "one", "two"}), "log: SUCCESS\n");
    ASSERT_EQ(handler_.requests.size(), 2U);
    EXPECT_EQ(handler_.requests[0].request.log().text(), "one");
    EXPECT_EQ(handler_.requests[1].request.log().text(), "two");
    EXPECT_EQ(handler_.requests[1].request.log().stream(), wire::STDOUT);
    answer_all(ErrorCode::kUnavailable);
    EXPECT_EQ(output_of({"log", "three"}), "log: UNREACHABLE\n");
  });
}

TEST_F(PmixRequests, ForOutputAreToldAndItComes) {
  with_server([&] {
    accept_tools();
    Client& tool = start_attached({"pull", "dvm-test@5", "2"});
    ASSERT_TRUE(run_until(
        [&] { return tool.output().find("pulling") == 0 && !handler_.requests.empty(); }));
    const auto& pull = handler_.requests[0].request.pull();
    EXPECT_EQ(handler_.requests[0].request.who().nspace(), "dvm-test") << "for all tools here";
    EXPECT_EQ(pull.sources().names(0).nspace(), "dvm-test@5");
    EXPECT_EQ(pull.sources().names(0).rank(), kAllRanks);
    EXPECT_TRUE(pull.stdout());
    EXPECT_TRUE(pull.stderr());
    deliver({"dvm-test@5", 3}, wire::STDOUT, "to be read");
    deliver({"dvm-test@5", 3}, wire::STDERR, "to be seen");
    deliver({"dvm-test@6", 0}, wire::STDOUT, "of another job");
    deliver({"dvm-test@5", 3}, wire::STDOUT, "");
    deliver({"dvm-test@5", 3}, wire::STDERR, "");
    ASSERT_TRUE(run_until_ended(tool)) << tool.output();
    EXPECT_EQ(tool.output(),
              "pulling\ndvm-test@5:3 stdout: to be read\ndvm-test@5:3 stderr: to be seen\n"
              "dvm-test@5:3 stdout ended\ndvm-test@5:3 stderr ended\npull: SUCCESS\n");
  });
}

// Told right behind each other, as the last output of a job and its end are.
TEST_F(PmixRequests, AnEventDoesNotOvertakeOutput) {
  constexpr int kLines = 20;
  with_server([&] {
    accept_tools();
    handler_.when_request = [this](const Request& request) {
      wire::ServiceAnswer answer;
      answer.mutable_spawned()->set_nspace("dvm-test@5");
      server_->answer(request.ticket, answer);
    };
    Client& tool = start_attached({"spawn", "1", "program"});
    ASSERT_TRUE(run_until([&] { return tool.output().find("spawned") == 0; }));
    std::string expected = tool.output();
    for (int line = 0; line < kLines; ++line) {
      const std::string text = "line " + std::to_string(line) + "\n";
      expected += text;
      server_->deliver_output({"dvm-test@5", 0}, wire::STDOUT, text, [] {});
    }
    wire::EventNotice end;
    end.set_code(PMIX_EVENT_JOB_END);
    end.mutable_source()->set_nspace("dvm-test");
    end.set_range(wire::RANGE_SESSION);
    server_->notify(end);
    ASSERT_TRUE(run_until_ended(tool)) << tool.output();
    EXPECT_EQ(tool.output(), expected + "event JOB ENDED dvm-test SUCCESS\nspawn: SUCCESS\n");
  });
}

TEST_F(PmixRequests, ForOutputAreStoppedWhenNoToolIsLeft) {
  with_server([&] {
    accept_tools();
    Client& first = start_attached({"pull", "dvm-test@5", "1"});
    Client& second = start_attached({"pull", "dvm-test@5", "1"});
    ASSERT_TRUE(run_until([&] { return handler_.requests.size() == 2; }));
    first.kill(SIGKILL);
    ASSERT_TRUE(run_until([&] { return handler_.gone_tools.size() == 1; }));
    ASSERT_TRUE(run_until([&] { return second.output().find("pulling") == 0; }));
    EXPECT_EQ(handler_.requests.size(), 2U);
    second.kill(SIGKILL);
    ASSERT_TRUE(run_until([&] { return handler_.requests.size() == 3; }));
    EXPECT_TRUE(handler_.requests[2].request.pull().stop());
    EXPECT_EQ(handler_.requests[2].request.pull().sources().names(0).nspace(), "dvm-test@5");
  });
}

TEST_F(PmixRequests, OutputThatNobodyWantsIsNoTrouble) {
  with_server([&] {
    deliver({"dvm-test@5", 0}, wire::STDOUT, std::string(100000, 'x'));
    deliver({"", 0}, wire::STDOUT, "from nowhere");
    deliver({"dvm-test@5", 0}, wire::STDOUT, "");
  });
}

TEST_F(PmixRequests, InputIsPassedOnToItsEnd) {
  with_server([&] {
    accept_tools();
    answer_all();
    const std::string text = std::string(5000, 'a') + "the end\n";
    testing::write_text(session_.file("input"), text);
    EXPECT_EQ(output_of({"push", "dvm-test@5", "3"}, session_.file("input")), "push: SUCCESS\n");
    ASSERT_EQ(handler_.requests.size(), 3U);
    std::string came;
    for (const Request& request : handler_.requests) {
      came += request.data;
      EXPECT_EQ(request.request.push().targets().names(0).rank(), 3U);
    }
    EXPECT_EQ(came, text);
    EXPECT_FALSE(handler_.requests[1].request.push().eof());
    EXPECT_TRUE(handler_.requests[2].request.push().eof());
  });
}

TEST_F(PmixRequests, InputThatIsRefusedIsNotSentOn) {
  with_server([&] {
    accept_tools();
    answer_all(ErrorCode::kNotFound);
    testing::write_text(session_.file("input"), std::string(20000, 'a'));
    EXPECT_EQ(output_of({"push", "nobody", "0"}, session_.file("input")), "push: NOT-FOUND\n");
    EXPECT_EQ(handler_.requests.size(), 1U);
  });
}

TEST_F(PmixRequests, OfAToolThatHasGoneNeedNoAnswer) {
  with_server([&] {
    accept_tools();
    Client& tool = start_attached({"kill", "dvm-test@5"});
    ASSERT_TRUE(run_until([&] { return !handler_.requests.empty(); }));
    tool.kill(SIGKILL);
    ASSERT_TRUE(run_until([&] { return !handler_.gone_tools.empty(); }));
    server_->answer(handler_.requests[0].ticket, {});
    answer_all();
    EXPECT_EQ(output_of({"kill", "dvm-test@5"}), "kill: SUCCESS\n");
  });
}

}  // namespace
}  // namespace tide::pmix
