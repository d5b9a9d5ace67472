// Peers with the right key that say what is not theirs to say: it is ignored, nobody else is hurt,
// and the head never falls over it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/daemon_core.hpp"
#include "core/head_rig.hpp"
#include "wire/limits.hpp"

namespace tide::core {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Two nodes of two slots; job 1 has processes 0 and 1 on node v1 and 2 on v2, reading input at 2.
class Lies : public testing::Test {
 public:
  Lies() : rig(2) {
    rig.make_ready();
    auto spec = job_spec(3);
    spec.set_stdin_rank(2);
    rig.submit(5, spec);
    rig.launched(1, 1, {0, 1});
    rig.launched(2, 1, {2});
    rig.seen.clear();
  }

  // The truth is still believed.
  void expect_job_ends_well() {
    rig.ended(1, 1, {0, 1});
    rig.ended(2, 1, {2});
    ASSERT_THAT(endings(rig.seen), SizeIs(1));
    EXPECT_EQ(endings(rig.seen)[0].exit_status(), 0);
  }
  Actions up_as(std::uint32_t link, std::uint32_t origin, const wire::UpBody& body,
                std::uint64_t seq = 1) {
    wire::LinkMessage message;
    message.mutable_up()->set_origin(origin);
    message.mutable_up()->set_seq(seq);
    message.mutable_up()->set_resync(true);
    *message.mutable_up()->mutable_body() = body;
    return rig.say(link, message);
  }

  HeadRig rig;
};

TEST_F(Lies, ADaemonDoesNotSpeakForAnother) {
  wire::UpBody body;
  body.mutable_output_complete()->set_job(1);
  const auto first = up_as(1, 2, body);
  EXPECT_TRUE(says(first, "rank 1 speaks for rank 2, which is not below it"));
  EXPECT_THAT(all_of<Send>(first), IsEmpty());
  for (int i = 0; i < 100; ++i) EXPECT_THAT(up_as(1, 2, body), IsEmpty()) << "said once";
  EXPECT_THAT(rig.head.overlay().adopted_children(), SizeIs(2)) << "its own link is kept";
  expect_job_ends_well();
}

TEST_F(Lies, NorForTheHeadNorForNobody) {
  wire::UpBody body;
  body.mutable_output_complete()->set_job(1);
  for (const std::uint32_t origin :
       {0U, 3U, 4'000'000'000U, std::numeric_limits<std::uint32_t>::max()})
    EXPECT_THAT(all_of<Send>(up_as(1, origin, body)), IsEmpty());
  expect_job_ends_well();
}

TEST_F(Lies, AContributionForAnotherIsLeftOutAndTheRestCounts) {
  wire::LinkMessage message;
  auto* reduction = message.mutable_reduction();
  reduction->mutable_id()->set_kind(wire::ReductionId::ENDED);
  reduction->mutable_id()->set_job(1);
  for (const std::uint32_t rank : {1U, 2U}) {
    wire::LocalReport local;
    *local.add_procs() = proc_report(1, rank == 1 ? 0 : 2, ProcState::kTerminated);
    if (rank == 1) *local.add_procs() = proc_report(1, 1, ProcState::kTerminated);
    auto* contribution = reduction->add_contributions();
    contribution->set_rank(rank);
    contribution->set_data(local.SerializeAsString());
  }
  EXPECT_TRUE(says(rig.say(1, message), "contributes for rank 2"));
  EXPECT_EQ(rig.head.roster().nodes().at(Rank(1)).used, 0U);
  EXPECT_EQ(rig.head.roster().nodes().at(Rank(2)).used, 1U);
  wire::UpBody complete;
  complete.mutable_output_complete()->set_job(1);
  rig.up(1, complete);
  EXPECT_THAT(endings(rig.seen), IsEmpty());
  rig.ended(2, 1, {2});
  EXPECT_THAT(endings(rig.seen), SizeIs(1));
}

TEST_F(Lies, OutputOfAProcessThatItDoesNotHostIsNotPassedOn) {
  wire::UpBody body;
  body.mutable_stream()->set_job(1);
  for (const std::uint32_t rank : {2U, 3U, 4'000'000'000U}) {
    body.mutable_stream()->set_rank(rank);
    EXPECT_THAT(all_of<Reply>(rig.up(1, body, "forged")), IsEmpty());
  }
  body.mutable_stream()->set_rank(0);
  body.mutable_stream()->set_stream(static_cast<wire::Stream>(7));
  EXPECT_THAT(all_of<Reply>(rig.up(1, body, "nowhere")), IsEmpty());
  body.mutable_stream()->set_stream(wire::STDERR);
  EXPECT_THAT(all_of<Reply>(rig.up(1, body, "true")), SizeIs(1));
  expect_job_ends_well();
}

TEST_F(Lies, TheEndOfAProcessThatItDoesNotHostIsNotBelieved) {
  EXPECT_THAT(orders(rig.proc_failed(1, proc_report(1, 2, ProcState::kAborted, 1))), IsEmpty());
  EXPECT_THAT(orders(rig.proc_failed(1, proc_report(1, 99, ProcState::kAborted, 1))), IsEmpty());
  EXPECT_THAT(orders(rig.proc_failed(1, proc_report(7, 0, ProcState::kAborted, 1))), IsEmpty());
  const int impossible = std::numeric_limits<int>::max();
  EXPECT_THAT(orders(rig.proc_failed(1, proc_report(1, 0, ProcState::kAborted, 0, impossible))),
              IsEmpty());
  expect_job_ends_well();
}

TEST_F(Lies, CreditForInputThatItDoesNotTakeIsNotPassedOn) {
  wire::UpBody body;
  body.mutable_input_credit()->set_job(1);
  body.mutable_input_credit()->set_rank(2);
  body.mutable_input_credit()->set_bytes(1U << 30U);
  EXPECT_THAT(all_of<Reply>(rig.up(1, body)), IsEmpty());
  EXPECT_THAT(all_of<Reply>(rig.up(2, body)), SizeIs(1));
}

TEST_F(Lies, UnknownJobsAreIgnored) {
  for (const std::uint32_t job : {0U, 2U, 4'000'000'000U}) {
    wire::UpBody body;
    body.mutable_output_complete()->set_job(job);
    EXPECT_THAT(all_of<Reply>(rig.up(1, body)), IsEmpty());
    body.mutable_stream()->set_job(job);
    EXPECT_THAT(all_of<Reply>(rig.up(1, body, "x")), IsEmpty());
    rig.launched(1, job, {0});
    rig.ended(1, job, {0});
  }
  expect_job_ends_well();
}

TEST_F(Lies, OperationsThatNeverWereAreNotAcknowledged) {
  rig.on(LinkDown{LinkId(1), LinkEnd::kClosed, "cut"});
  rig.on(LinkUp{LinkId(9), Rank(1), HeadRig::incarnation(1), 1, false});
  wire::LinkMessage attach;
  attach.mutable_attach()->set_applied(1'000'000);
  const auto actions = rig.say(9, attach);
  ASSERT_THAT(all_of<CloseLink>(actions), SizeIs(1));
  EXPECT_THAT(all_of<CloseLink>(actions)[0].text, HasSubstr("operations that never were"));
}

TEST_F(Lies, ADaemonDoesNotGiveOrders) {
  wire::LinkMessage down;
  down.mutable_down()->add_entries()->set_destination(2);
  EXPECT_THAT(rig.say(1, down), IsEmpty());
  wire::LinkMessage operation;
  operation.mutable_operation()->set_serial(2);
  operation.mutable_operation()->mutable_shutdown();
  EXPECT_THAT(rig.say(1, operation), IsEmpty());
  wire::LinkMessage snapshot;
  snapshot.mutable_snapshot()->set_span(4'000'000'000U);
  EXPECT_THAT(rig.say(1, snapshot), IsEmpty());
  expect_job_ends_well();
}

// ---- clients, all of the same user: not a matter of trust, but of mistakes ----

TEST_F(Lies, AClientDoesNotFeedOrDrainTheJobsOfOthers) {
  wire::ClientRequest message;
  message.mutable_input()->set_job(1);
  EXPECT_THAT(downs(rig.on(ClientMessage{ClientId(6), message, Bytes("in")})), IsEmpty());
  message.mutable_credit()->set_job(1);
  message.mutable_credit()->set_bytes(1U << 30U);
  EXPECT_THAT(downs(rig.request(6, message)), IsEmpty());
  EXPECT_THAT(downs(rig.request(5, message)), SizeIs(1));
}

TEST(JobFlood, AClientHasOnlySoManyJobsAtATime) {
  HeadRig rig(1);
  rig.start();  // not ready yet, so that jobs wait
  for (std::uint32_t i = 0; i < kMaxJobsPerClient; ++i)
    rig.head.on(ClientMessage{ClientId(5),
                              [] {
                                wire::ClientRequest message;
                                *message.mutable_submit()->mutable_job() = job_spec(1);
                                return message;
                              }(),
                              {}},
                100);
  const auto refused = all_of<Reply>(rig.submit(5, job_spec(1)));
  ASSERT_THAT(refused, SizeIs(1));
  EXPECT_THAT(refused[0].reply.error().message(), HasSubstr("may not have more"));
  EXPECT_TRUE(all_of<Reply>(rig.submit(6, job_spec(1)))[0].reply.has_accepted());
  rig.on(ClientGone{ClientId(5)});
  EXPECT_TRUE(all_of<Reply>(rig.submit(5, job_spec(1)))[0].reply.has_accepted());
}

// ---- at a daemon ----

class MisledDaemon : public testing::Test {
 public:
  static DaemonConfig config() {
    DaemonConfig out;
    out.overlay.self = Rank(1);
    return out;
  }
  MisledDaemon() : daemon(config()) {
    daemon.start({}, {});
    daemon.on(LinkUp{LinkId(1), kHeadRank, Incarnation{}, 0, true}, 0);
  }
  Actions say(const wire::LinkMessage& message) {
    return daemon.on(MessageIn{LinkId(1), message, {}}, 0);
  }
  static wire::LinkMessage snapshot(std::uint32_t span, std::uint32_t rank) {
    wire::LinkMessage out;
    out.mutable_snapshot()->set_serial(1);
    out.mutable_snapshot()->set_span(span);
    *out.mutable_snapshot()->mutable_living() = RankSet(Rank(rank)).to_wire();
    return out;
  }

  DaemonCore daemon;
};

TEST_F(MisledDaemon, AnImpossibleDvmEndsItInOrder) {
  EXPECT_THAT(all_of<Exit>(say(snapshot(4'000'000'000U, 1))), SizeIs(1));
}

TEST_F(MisledDaemon, SoDoesAnImpossibleRank) {
  EXPECT_THAT(all_of<Exit>(say(snapshot(2, std::numeric_limits<std::uint32_t>::max()))), SizeIs(1));
}

TEST_F(MisledDaemon, SoDoesAnImpossibleChange) {
  EXPECT_THAT(all_of<Exit>(say(snapshot(2, 1))), IsEmpty());
  wire::LinkMessage operation;
  operation.mutable_operation()->set_serial(2);
  operation.mutable_operation()->mutable_membership()->set_span(4'000'000'000U);
  EXPECT_THAT(all_of<Exit>(say(operation)), SizeIs(1));
}

TEST_F(MisledDaemon, ALaunchWithoutItsProgramStartsNothing) {
  say(snapshot(2, 1));
  wire::LinkMessage message;
  auto* entry = message.mutable_down()->add_entries();
  entry->set_destination(1);
  entry->set_seq(1);
  entry->mutable_body()->mutable_launch()->set_job(1);
  entry->mutable_body()->mutable_launch()->set_attempt(1);
  entry->mutable_body()->mutable_launch()->add_procs()->set_app(3);
  message.mutable_down()->mutable_launch()->add_apps()->add_argv("true");
  EXPECT_TRUE(says(say(message), "without its programs"));
}

}  // namespace
}  // namespace tide::core
