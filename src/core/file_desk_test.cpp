// Files of jobs at the head, with daemons and the client played by the test, and at a daemon.
#include "core/file_desk.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/head_rig.hpp"
#include "core/local_files.hpp"
#include "wire/exit_status.hpp"
#include "wire/limits.hpp"

namespace tide::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint32_t kWindow = FileDeskConfig{}.window_chunks;

class FileDeskTest : public testing::Test {
 public:
  explicit FileDeskTest(std::uint32_t nodes = 2) : rig(nodes) { rig.make_ready(); }

  static wire::JobSpec with_files(const std::vector<std::string>& names) {
    auto spec = job_spec(1);
    for (const auto& name : names) spec.add_files()->set_name(name);
    return spec;
  }
  Actions piece(std::uint32_t file, bool last, std::uint32_t job = 1, std::uint64_t client = 9,
                const std::string& data = "data") {
    ClientMessage message{ClientId(client), {}, Bytes(data)};
    message.request.mutable_file_chunk()->set_job(job);
    message.request.mutable_file_chunk()->set_file(file);
    message.request.mutable_file_chunk()->set_last(last);
    return rig.on(message);
  }
  Actions say_files(std::uint32_t daemon, wire::ReductionId::Kind kind, std::uint32_t number,
                    std::uint32_t job = 1) {
    wire::LinkMessage message;
    message.mutable_reduction()->mutable_id()->set_kind(kind);
    message.mutable_reduction()->mutable_id()->set_job(job);
    message.mutable_reduction()->mutable_id()->set_attempt(number);
    message.mutable_reduction()->add_contributions()->set_rank(daemon);
    return rig.say(daemon, std::move(message));
  }
  Actions taken(std::uint32_t daemon, std::uint32_t number, std::uint32_t job = 1) {
    return say_files(daemon, wire::ReductionId::FILES_TAKEN, number, job);
  }
  Actions removed(std::uint32_t daemon, std::uint32_t job = 1) {
    return say_files(daemon, wire::ReductionId::FILES_REMOVED, 0, job);
  }
  Actions failed(std::uint32_t daemon, const std::string& file, const std::string& why) {
    wire::UpBody body;
    body.mutable_files_failed()->set_job(1);
    body.mutable_files_failed()->set_file(file);
    body.mutable_files_failed()->set_reason(why);
    return rig.up(daemon, std::move(body));
  }
  static std::uint32_t credit(const Actions& actions) {
    std::uint32_t out = 0;
    for (const auto& reply : all_of<Reply>(actions)) out += reply.reply.file_credit().chunks();
    return out;
  }
  // (destination, number) of the pieces among what is sent.
  static std::vector<std::pair<std::uint32_t, std::uint32_t>> pieces(const Actions& actions) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> out;
    for (const auto& [rank, body] : downs(actions)) {
      if (body.has_file_chunk()) out.emplace_back(rank, body.file_chunk().number());
    }
    return out;
  }
  static std::vector<std::uint32_t> removals(const Actions& actions) {
    std::vector<std::uint32_t> out;
    for (const auto& [rank, body] : downs(actions)) {
      if (body.has_remove_files() && !body.remove_files().forget()) out.push_back(rank);
    }
    return out;
  }

  HeadRig rig;
};

// row:L3 mapped when all daemons have all files, and not before
TEST_F(FileDeskTest, AJobIsMappedWhenItsFilesAreEverywhere) {
  EXPECT_EQ(credit(rig.submit(9, with_files({"a", "b"}))), kWindow);
  const auto first = piece(0, true);
  EXPECT_THAT(pieces(first), ElementsAre(std::pair(1U, 1U), std::pair(2U, 1U)));
  EXPECT_EQ(downs(first)[0].second.file_chunk().begins().name(), "a");
  piece(1, false);
  const auto last = piece(1, true);
  EXPECT_TRUE(downs(last)[0].second.file_chunk().complete());
  taken(1, 3);
  EXPECT_THAT(taken(2, 2), IsEmpty());
  EXPECT_EQ(states_of(rig.seen, "dvm@1").back(), "VM_READY");
  const auto mapped = taken(2, 3);
  EXPECT_TRUE(says(mapped, "2 files on 2 nodes"));
  EXPECT_THAT(states_of(mapped, "dvm@1"), testing::Contains("SEND_LAUNCH_MSG"));
}

TEST_F(FileDeskTest, CreditIsGivenForWhatAllHave) {
  rig.submit(9, with_files({"a"}));
  for (std::uint32_t i = 0; i < kWindow; ++i) EXPECT_EQ(credit(piece(0, false)), 0U);
  EXPECT_EQ(credit(taken(1, 8)), 0U);
  EXPECT_EQ(credit(taken(2, 4)), 4U);
  EXPECT_EQ(credit(taken(2, 4)), 0U) << "said twice";
  EXPECT_EQ(credit(taken(2, 1000)), 0U) << "more than was sent";
  EXPECT_EQ(credit(taken(2, 8)), 4U);
}

// row:L17 what is more than the credit, or out of turn, or too large, is not passed on
TEST_F(FileDeskTest, ALyingClientFailsItsJob) {
  rig.submit(9, with_files({"a", "b"}));
  EXPECT_THAT(pieces(piece(0, false, 1, 8)), IsEmpty()) << "not the owner";
  const auto actions = piece(1, false);
  EXPECT_THAT(pieces(actions), IsEmpty());
  ASSERT_THAT(endings(actions), SizeIs(1));
  EXPECT_EQ(endings(actions)[0].exit_status(), kExitFilesFailed);
  rig.submit(9, with_files({"a"}));
  EXPECT_THAT(endings(piece(0, true, 2, 9, std::string(kMaxFileChunkBytes + 1, 'x'))), SizeIs(1));
  rig.submit(9, with_files({"a"}));
  for (std::uint32_t i = 0; i < kWindow; ++i) piece(0, false, 3);
  EXPECT_THAT(pieces(piece(0, false, 3)), IsEmpty());
}

// row:L17 the end is told when nothing is left on the nodes
TEST_F(FileDeskTest, AFailureEndsTheJobWhenAllIsRemoved) {
  rig.submit(9, with_files({"a"}));
  piece(0, true);
  const auto actions = failed(2, "a", "No space left on device");
  EXPECT_THAT(removals(actions), ElementsAre(1U, 2U));
  EXPECT_THAT(endings(actions), IsEmpty());
  EXPECT_THAT(endings(removed(1)), IsEmpty());
  const auto end = endings(removed(2));
  ASSERT_THAT(end, SizeIs(1));
  EXPECT_EQ(end[0].state(), static_cast<std::uint32_t>(JobState::kFilesPosnFailed));
  EXPECT_THAT(end[0].messages(0), HasSubstr("file 'a' was not staged on node v2: No space left"));
}

TEST_F(FileDeskTest, ADaemonThatIsLostIsNotWaitedFor) {
  rig.submit(9, with_files({"a"}));
  piece(0, true);
  taken(1, 1);
  const auto actions = rig.on(DaemonExited{Rank(2), "killed"});
  EXPECT_TRUE(says(actions, "1 file on 1 node"));
  rig.launched(1, 1, {0});
  EXPECT_THAT(removals(rig.ended(1, 1, {0})), ElementsAre(1U));
  EXPECT_THAT(endings(removed(1)), SizeIs(1));
}

TEST_F(FileDeskTest, KilledOrWithoutItsClientTheFilesGo) {
  rig.submit(9, with_files({"a"}));
  piece(0, false);
  EXPECT_THAT(removals(rig.kill(8, 1, SIGTERM)), ElementsAre(1U, 2U));
  removed(1);
  EXPECT_THAT(endings(removed(2)), SizeIs(1));
  rig.submit(9, with_files({"a"}));
  piece(0, false, 2);
  EXPECT_THAT(removals(rig.on(ClientGone{ClientId(9)})), ElementsAre(1U, 2U));
  EXPECT_THAT(pieces(piece(0, true, 2)), IsEmpty());
  removed(1, 2);
  removed(2, 2);
  EXPECT_TRUE(rig.head.jobs().idle());
}

// Nobody is waited for for ever
TEST_F(FileDeskTest, WithoutProgressItIsGivenUp) {
  rig.submit(9, with_files({"a"}));
  piece(0, true);
  taken(1, 1);
  const auto stalled = rig.fire(TimerKind::kFiles, 1);
  EXPECT_THAT(removals(stalled), ElementsAre(1U, 2U));
  removed(1);
  const auto end = endings(rig.fire(TimerKind::kFiles, 1));
  ASSERT_THAT(end, SizeIs(1));
  EXPECT_THAT(end[0].messages(0), HasSubstr("node v2 does not go on"));
}

// Daemons speak of every fourth piece only, and of the last.
TEST_F(FileDeskTest, ACommandThatSendsNoMoreIsNotTheFaultOfANode) {
  rig.submit(9, with_files({"a"}));
  piece(0, false);
  rig.fire(TimerKind::kFiles, 1);
  removed(1);
  const auto end = endings(removed(2));
  ASSERT_THAT(end, SizeIs(1));
  EXPECT_THAT(end[0].messages(0), HasSubstr("the command that has them"));
}

TEST_F(FileDeskTest, ASignalForAJobWithoutProcessesIsRefused) {
  rig.submit(9, with_files({"a"}));
  ClientMessage message{ClientId(7), {}, {}};
  message.request.mutable_kill()->mutable_job()->set_number(1);
  message.request.mutable_kill()->set_signal(9);
  const auto replies = all_of<Reply>(rig.on(message));
  ASSERT_THAT(replies, SizeIs(1));
  EXPECT_THAT(replies[0].reply.error().message(), HasSubstr("has no processes yet"));
}

TEST_F(FileDeskTest, JobsTakeTurns) {
  const auto at_once = FileDeskConfig{}.jobs_at_once;
  for (std::uint32_t i = 0; i < at_once; ++i) {
    EXPECT_EQ(credit(rig.submit(9, with_files({"a"}))), kWindow);
  }
  EXPECT_EQ(credit(rig.submit(9, with_files({"a"}))), 0U);
  EXPECT_EQ(credit(rig.kill(8, 1, SIGTERM)), kWindow);
}

TEST_F(FileDeskTest, NamesThatLeadOutAreRefused) {
  const auto actions = rig.submit(9, with_files({"../a"}));
  ASSERT_THAT(all_of<Reply>(actions), SizeIs(1));
  EXPECT_THAT(all_of<Reply>(actions)[0].reply.error().message(), HasSubstr("leads out"));
}

TEST_F(FileDeskTest, OnlyTheChosenNodesGetThem) {
  auto spec = with_files({"a"});
  spec.mutable_apps(0)->add_hosts()->set_node("v2");
  rig.submit(9, spec);
  EXPECT_THAT(pieces(piece(0, true)), ElementsAre(std::pair(2U, 1U)));
}

// ---- at a daemon ----

class LocalFilesTest : public testing::Test, private HeadPath {
 public:
  void send_to_head(wire::UpBody body, Bytes) override { said.push_back(std::move(body)); }
  void contribute(const wire::Reduction& reduction) override { reductions.push_back(reduction); }

  void take(std::uint32_t number, bool complete = false) {
    wire::FileChunk chunk;
    chunk.set_job(7);
    chunk.set_number(number);
    chunk.set_complete(complete);
    files.take(chunk, Bytes("x"));
  }
  void staged(std::uint32_t number, Status status = ok_status()) {
    files.handle(FileStaged{JobId(7), number, std::move(status), "a"});
  }
  void remove(bool forget = false) {
    wire::RemoveFiles order;
    order.set_job(7);
    order.set_forget(forget);
    files.remove(order);
  }

  Actions out;
  std::vector<wire::UpBody> said;
  std::vector<wire::Reduction> reductions;
  LocalFiles files{Rank(3), *this, out};
};

TEST_F(LocalFilesTest, SaysHowFarItIsNowAndThenAndAtTheEnd) {
  for (std::uint32_t i = 1; i <= 6; ++i) take(i, i == 6);
  EXPECT_THAT(all_of<StageFile>(out), SizeIs(6));
  for (std::uint32_t i = 1; i <= 6; ++i) staged(i);
  ASSERT_THAT(reductions, SizeIs(2));
  EXPECT_EQ(reductions[0].id().attempt(), 4U);
  EXPECT_EQ(reductions[1].id().attempt(), 6U);
  files.contribute_again();
  ASSERT_THAT(reductions, SizeIs(3));
  EXPECT_EQ(reductions[2].id().attempt(), 6U) << "which holds for those before";
}

TEST_F(LocalFilesTest, AFailureIsToldOnce) {
  take(1);
  take(2);
  staged(1, Error{ErrorCode::kSystem, "full"});
  staged(2, Error{ErrorCode::kSystem, "full"});
  take(3, true);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_EQ(said[0].files_failed().reason(), "full");
  EXPECT_THAT(all_of<StageFile>(out), SizeIs(2));
}

TEST_F(LocalFilesTest, NothingIsRemovedUnderAPieceThatIsBeingWritten) {
  take(1);
  remove();
  EXPECT_THAT(all_of<StopStaging>(out), SizeIs(1));
  EXPECT_THAT(all_of<RemoveJobFiles>(out), IsEmpty());
  staged(1);
  EXPECT_THAT(all_of<RemoveJobFiles>(out), SizeIs(1));
  EXPECT_THAT(reductions, IsEmpty());
  files.handle(FilesRemoved{JobId(7)});
  ASSERT_THAT(reductions, SizeIs(1));
  EXPECT_EQ(reductions[0].id().kind(), wire::ReductionId::FILES_REMOVED);
  remove(true);
  EXPECT_EQ(files.size(), 0U);
}

TEST_F(LocalFilesTest, ForgottenTooEarlyTheyAreRemovedAllTheSame) {
  take(1);
  remove();
  remove(true);
  staged(1);
  EXPECT_THAT(all_of<RemoveJobFiles>(out), SizeIs(1));
  files.handle(FilesRemoved{JobId(7)});
  EXPECT_THAT(reductions, IsEmpty()) << "nobody waits for it";
  EXPECT_EQ(files.size(), 0U);
}

}  // namespace
}  // namespace tide::core
