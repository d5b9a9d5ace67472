// A daemon with the head played by the test: it hangs directly on it.
#include "core/daemon_core.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/pmix_words.hpp"
#include "core/proc_names.hpp"
#include "core/rank_set.hpp"
#include "core/test_support.hpp"

namespace tide::core {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint32_t kJob = 7;
const ProcKey kProc{JobId(kJob), ProcRank(0)};

class DaemonCoreTest : public testing::Test {
 public:
  static DaemonConfig config() {
    DaemonConfig out;
    out.overlay.self = out.jobs.self = Rank(1);
    return out;
  }
  DaemonCoreTest() : daemon(config()) {
    daemon.start({}, {});
    link_up();
    wire::LinkMessage message;
    message.mutable_snapshot()->set_serial(1);
    message.mutable_snapshot()->set_span(2);
    *message.mutable_snapshot()->mutable_living() = RankSet(Rank(1)).to_wire();
    say(std::move(message));
  }

  Actions on(const DaemonEvent& event) {
    auto actions = daemon.on(event, 0);
    for (const auto& wish : all_of<RegisterJob>(actions)) {  // the local server knows it at once
      auto more = daemon.on(JobRegistered{wish.job, wish.launch->attempt()}, 0);
      actions.insert(actions.end(), more.begin(), more.end());
    }
    seen.insert(seen.end(), actions.begin(), actions.end());
    return actions;
  }
  Actions link_up() {
    link = LinkId(link.value() + 1);
    return on(LinkUp{link, kHeadRank, Incarnation{}, 0, true});
  }
  Actions say(wire::LinkMessage message) { return on(MessageIn{link, std::move(message), {}}); }

  // An order of the head. Channels are numbered by the caller; 0 only acknowledges.
  Actions order(std::uint64_t seq, wire::DownBody body, std::uint64_t control_ack = 0,
                std::uint64_t bulk_ack = 0) {
    wire::LinkMessage message;
    message.mutable_down()->mutable_launch()->set_attempt(1);
    message.mutable_down()->mutable_launch()->set_mapped_at(mapped_at);
    message.mutable_down()->mutable_launch()->set_stdin_rank(-1);
    message.mutable_down()->mutable_launch()->set_window_bytes(100);
    message.mutable_down()->mutable_launch()->set_parent_nspace(parent);
    message.mutable_down()->mutable_launch()->add_apps()->add_argv("prog");
    auto* entry = message.mutable_down()->add_entries();
    entry->set_destination(1);
    entry->set_seq(seq);
    entry->set_control_ack(control_ack);
    entry->set_bulk_ack(bulk_ack);
    *entry->mutable_body() = std::move(body);
    return say(std::move(message));
  }
  Actions launch(std::uint64_t seq) {
    wire::DownBody body;
    body.mutable_launch()->set_job(kJob);
    body.mutable_launch()->set_attempt(1);
    body.mutable_launch()->add_procs()->set_rank(0);
    return order(seq, std::move(body));
  }
  void run_one() {
    launch(1);
    on(ProcSpawned{kProc, 500});
  }
  // The link to the head breaks and is made anew.
  Actions new_path() {
    on(LinkDown{link, LinkEnd::kClosed, "cut"});
    return link_up();
  }

  DaemonCore daemon;
  LinkId link{0};
  std::uint64_t mapped_at = 1;
  std::string parent;  // the job that spawned the one that is launched
  Actions seen;
};

std::vector<wire::Up> ups(const Actions& actions) {
  std::vector<wire::Up> out;
  for (const auto& send : all_of<Send>(actions)) {
    if (send.message.has_up()) out.push_back(send.message.up());
  }
  return out;
}

std::size_t reductions(const Actions& actions) {
  std::size_t count = 0;
  for (const auto& send : all_of<Send>(actions)) count += send.message.has_reduction() ? 1U : 0U;
  return count;
}

TEST_F(DaemonCoreTest, AnOrderThatComesAgainCountsOnce) {
  run_one();
  wire::DownBody credit;
  credit.mutable_credit()->set_job(kJob);
  credit.mutable_credit()->set_bytes(50);
  EXPECT_THAT(all_of<GrantOutput>(order(2, credit)), SizeIs(1));
  EXPECT_THAT(all_of<GrantOutput>(order(2, credit)), IsEmpty());
  EXPECT_THAT(all_of<GrantOutput>(order(4, credit)), IsEmpty()) << "one is missing before it";
  EXPECT_THAT(all_of<GrantOutput>(order(3, credit)), SizeIs(1));
}

// row:S16
TEST_F(DaemonCoreTest, LeaveIsTakenOfToolsOnceHoweverManyLeaveAfterwards) {
  const auto leaves = [this](std::uint64_t serial, Rank who) {
    wire::LinkMessage message;
    message.mutable_operation()->set_serial(serial);
    message.mutable_operation()->mutable_membership()->set_orderly(true);
    *message.mutable_operation()->mutable_membership()->mutable_left() = RankSet(who).to_wire();
    return all_of<DeliverEvent>(say(std::move(message)));
  };
  on(ToolArrived{1, proc_name("tool", 0)});
  EXPECT_THAT(leaves(2, Rank(2)), IsEmpty());
  const auto told = leaves(3, Rank(1));
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].notice.code(), kEventJobEnd);
  EXPECT_EQ(told[0].notice.targets().names(0).nspace(), "tool");
  EXPECT_THAT(leaves(4, Rank(3)), IsEmpty());
}

TEST_F(DaemonCoreTest, OrdersAreAcknowledgedInTime) {
  launch(1);
  const auto words = ups(on(firing(seen, TimerKind::kAckFlush)));
  ASSERT_THAT(words, SizeIs(1));
  EXPECT_EQ(words[0].seq(), 0U);
  EXPECT_EQ(words[0].control_ack(), 1U);
}

TEST_F(DaemonCoreTest, ANewPathGetsWhatWasNotAcknowledged) {
  run_one();
  on(ProcOutput{kProc, wire::STDOUT, Bytes("a")});
  on(ProcOutput{kProc, wire::STDOUT, Bytes("b")});
  on(ProcExited{kProc, 3, 0});
  order(0, {}, 0, 1);  // the first piece of output came
  const auto again = new_path();
  const auto words = ups(again);
  ASSERT_THAT(words, SizeIs(3));
  EXPECT_TRUE(words[0].resync()) << "the head sends again, too";
  EXPECT_TRUE(words[1].body().has_proc_failed());
  EXPECT_TRUE(words[2].body().has_stream());
  EXPECT_EQ(words[2].seq(), 2U);
  EXPECT_EQ(reductions(again), 1U) << "that its processes were launched";
}

// Operations and orders may come by different paths while a daemon moves.
TEST_F(DaemonCoreTest, AJobWaitsForTheOperationItWasMappedAt) {
  mapped_at = 2;
  EXPECT_THAT(all_of<SpawnProc>(launch(1)), IsEmpty());
  wire::LinkMessage message;
  message.mutable_operation()->set_serial(2);
  message.mutable_operation()->mutable_release();
  EXPECT_THAT(all_of<SpawnProc>(say(std::move(message))), SizeIs(1));
}

TEST_F(DaemonCoreTest, ASpawnedProcessStartsWhenTheServerKnowsItsParent) {
  parent = "dvm@3";
  const auto launched = launch(1);
  EXPECT_THAT(all_of<SpawnProc>(launched), IsEmpty());
  const auto asked = ups(launched);
  ASSERT_THAT(asked, SizeIs(1));
  EXPECT_EQ(asked[0].body().service_request().job_info().nspace(), "dvm@3");
  wire::DownBody known;
  known.mutable_service_answer()->set_token(asked[0].body().service_request().token());
  known.mutable_service_answer()->mutable_job()->set_nspace("dvm@3");
  const auto registering = order(2, std::move(known));
  EXPECT_THAT(all_of<RegisterGuest>(registering), SizeIs(1));
  EXPECT_THAT(all_of<SpawnProc>(registering), IsEmpty());
  EXPECT_THAT(all_of<SpawnProc>(on(GuestRegistered{"dvm@3", ok_status()})), SizeIs(1));
}

TEST_F(DaemonCoreTest, AParentThatIsGoneHoldsUpNobody) {
  parent = "dvm@3";
  const auto asked = ups(launch(1));
  ASSERT_THAT(asked, SizeIs(1));
  wire::DownBody unknown;
  unknown.mutable_service_answer()->set_token(asked[0].body().service_request().token());
  unknown.mutable_service_answer()->set_error_code(
      static_cast<std::uint32_t>(ErrorCode::kNotFound));
  EXPECT_THAT(all_of<SpawnProc>(order(2, std::move(unknown))), SizeIs(1));
}

// ---- starting others ----

TEST(DaemonThatStartsOthers, LaunchesAtOnceAndTellsWhatFails) {
  DaemonConfig config;
  config.overlay.self = config.jobs.self = Rank(1);
  config.below.push_back({Rank(3), "n3", Incarnation(7), 1, {}});
  DaemonCore daemon(config);
  const auto begun = daemon.start({wire::Endpoint{}}, {});
  ASSERT_THAT(all_of<LaunchDaemons>(begun), SizeIs(1));
  EXPECT_EQ(all_of<LaunchDaemons>(begun)[0].targets[0].node, "n3");
  EXPECT_THAT(all_of<Send>(daemon.on(DaemonLaunchFailed{Rank(3), "refused"}, 0)), IsEmpty());
  const auto said = all_of<Send>(daemon.on(LinkUp{LinkId(1), kHeadRank, {}, 0, true}, 0));
  ASSERT_THAT(said, SizeIs(2));
  EXPECT_TRUE(said[0].message.has_report());
  EXPECT_EQ(said[1].message.launch_failed().rank(), 3U);
  EXPECT_EQ(said[1].message.launch_failed().text(), "refused");
  const auto lost = all_of<Send>(daemon.on(DaemonExited{Rank(3), "it ended"}, 0));
  ASSERT_THAT(lost, SizeIs(1));
  EXPECT_EQ(lost[0].message.launch_failed().text(), "it ended");
}

TEST(DaemonThatStartsOthers, GoesHomeInPeaceWhenItIsNotNeeded) {
  DaemonConfig config;
  config.overlay.self = config.jobs.self = Rank(2);
  DaemonCore daemon(config);
  daemon.start({wire::Endpoint{}}, {});
  daemon.on(LinkUp{LinkId(1), kHeadRank, {}, 0, true}, 0);
  const auto ends =
      all_of<Exit>(daemon.on(LinkDown{LinkId(1), LinkEnd::kMoved, "known as node n1"}, 0));
  ASSERT_THAT(ends, SizeIs(1));
  EXPECT_EQ(ends[0].status, 0);
}

}  // namespace
}  // namespace tide::core
