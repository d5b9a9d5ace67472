#include "core/describe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tide::core {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Describe, NamesAreThoseOfTheTypesInSnakeCase) {
  EXPECT_EQ(snake_case("LinkUp"), "link_up");
  EXPECT_EQ(snake_case("Exit"), "exit");
  EXPECT_EQ(snake_case(""), "");
  EXPECT_EQ(short_name<ProcOutputClosed>(), "proc_output_closed");
  EXPECT_EQ(name_of(HeadEvent(StartDvm{})), "start_dvm");
  EXPECT_EQ(name_of(DaemonEvent(ProcExited{})), "proc_exited");
  EXPECT_EQ(name_of(Action(LaunchDaemons{})), "launch_daemons");
}

TEST(Describe, TellsWhatIdentifiesAnEvent) {
  const ProcKey proc{JobId(3), ProcRank(7)};
  EXPECT_EQ(describe(DaemonEvent(ProcSpawned{proc, 99})), "proc_spawned job 3 process 7");
  EXPECT_EQ(describe(HeadEvent(DaemonExited{Rank(4), "killed"})), "daemon_exited rank 4");
  EXPECT_EQ(describe(HeadEvent(ClientGone{ClientId(12)})), "client_gone client 12");
  EXPECT_EQ(describe(HeadEvent(LinkUp{LinkId(5), Rank(2), Incarnation(77), 1, false})),
            "link_up 5 to rank 2");
  EXPECT_EQ(describe(HeadEvent(LinkDown{LinkId(5), LinkEnd::kClosed, "reset"})),
            "link_down 5: reset");
  EXPECT_EQ(describe(DaemonEvent(ConnectFailed{Rank(2), true, "refused"})),
            "connect_failed rank 2: refused");
}

TEST(Describe, TellsTimersByKindAndSubject) {
  const std::uint64_t timer = (std::uint64_t{10} << 32U) | 6U;
  EXPECT_EQ(describe(HeadEvent(TimerFired{timer, 3})), "timer_fired 10:6");
  EXPECT_EQ(describe(Action(StartTimer{timer, 3, 100})), "start_timer 10:6");
}

TEST(Describe, TellsActions) {
  EXPECT_EQ(describe(Action(Connect{Rank(3), {}})), "connect rank 3");
  EXPECT_EQ(describe(Action(Exit{1, "cut off"})), "exit cut off");
  EXPECT_EQ(describe(Action(CloseLink{LinkId(8), wire::GOODBYE_MOVED, "moved"})),
            "close_link 8: moved");
}

TEST(Describe, NamesTheMessageAndTheSizeOfItsPayloadButNotTheBytes) {
  wire::LinkMessage message;
  message.mutable_up()->mutable_body()->mutable_stream();
  const Action send = Send{LinkId(4), MessageClass::kBulk, message, Bytes("secret bytes")};
  EXPECT_EQ(describe(send), "send 4 up +12");
  EXPECT_EQ(describe(HeadEvent(MessageIn{LinkId(4), message, Bytes("secret bytes")})),
            "message_in 4 up +12");
  EXPECT_EQ(describe(HeadEvent(MessageIn{LinkId(4), {}, {}})), "message_in 4 empty +0");
}

TEST(Describe, NeverTellsTickets) {
  LaunchDaemons launch;
  launch.targets.push_back({Rank(1), "v1", Incarnation(424242), 1});
  EXPECT_THAT(describe(Action(launch)), Not(HasSubstr("424242")));
  EXPECT_THAT(describe(HeadEvent(LinkUp{LinkId(1), Rank(1), Incarnation(424242)})),
              Not(HasSubstr("424242")));
}

}  // namespace
}  // namespace tide::core
