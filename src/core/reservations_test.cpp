// Who owns reservations, and who may aim jobs at them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/reservation_rig.hpp"

namespace tide::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using Ranks = std::set<std::uint32_t>;

// ---- the decision table ----

// row:R2
TEST_F(Owned, NodesGoWhereTheTableSays) {
  enum class Who : std::uint8_t { kTool, kProcess, kCommand };
  struct Row {
    const char* what;
    Who who;
    bool target;
    bool share;
    ErrorCode code;
    const char* owner;  // its own; or the target's
  };
  const auto target = job();
  const auto other_job = job();
  const auto user = rig.head.elastic().sessions().user();
  const std::vector<Row> rows = {
      {"tool with target", Who::kTool, true, false, ErrorCode::kOk, target.c_str()},
      {"tool", Who::kTool, false, false, ErrorCode::kOk, kTool},
      {"tool that shares", Who::kTool, false, true, ErrorCode::kOk, kTool},
      {"tool with target that shares", Who::kTool, true, true, ErrorCode::kOk, target.c_str()},
      {"process", Who::kProcess, false, false, ErrorCode::kOk, other_job.c_str()},
      {"process that shares", Who::kProcess, false, true, ErrorCode::kOk, other_job.c_str()},
      {"process with target", Who::kProcess, true, false, ErrorCode::kPermissionDenied, ""},
      {"… that shares", Who::kProcess, true, true, ErrorCode::kPermissionDenied, ""},
      {"command", Who::kCommand, false, false, ErrorCode::kOk, user.c_str()},
      {"command with target", Who::kCommand, true, false, ErrorCode::kOk, target.c_str()},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.what);
    auto request = wants(AllocationRequest::NEW, 0, {"v2"});
    if (row.target) request.set_target(target);
    request.set_share(row.share);
    const auto before = state();
    const auto actions = row.who == Who::kTool      ? ask(request)
                         : row.who == Who::kProcess ? process_asks(other_job, request)
                                                    : command(request);
    if (row.code != ErrorCode::kOk) {
      EXPECT_EQ(code_of(actions), row.code);
      EXPECT_EQ(state(), before);
      continue;
    }
    const auto id = row.who == Who::kCommand ? begun(actions).at(0).allocation()
                                             : answers(actions).at(0).allocation().allocation();
    ASSERT_NE(find(id), nullptr);
    EXPECT_EQ(find(id)->owner, row.owner);
    EXPECT_EQ(find(id)->shared, row.share);
    EXPECT_EQ(session_of(2), row.share ? "" : id);
    row.who == Who::kProcess
        ? process_asks(other_job, about(wants(AllocationRequest::RELEASE, 0), id))
        : command(about(wants(AllocationRequest::RELEASE, 0), id));
    if (row.who == Who::kProcess) continue;
    EXPECT_EQ(find(id), nullptr);
  }
}

// row:R10 row:R2
TEST_F(Owned, AnOwnerThatIsNotThereIsRefused) {
  const auto before = state();
  for (const char* owner : {"dvm@77", "nobody"}) {
    EXPECT_EQ(code_of(ask(for_owner(wants(AllocationRequest::NEW, 0, {"v2"}), owner))),
              ErrorCode::kNotFound);
  }
  EXPECT_EQ(state(), before);
}

// ---- the error table ----

// row:R10 row:R9 row:R20
TEST_F(Owned, WhatIsRefusedChangesNothing) {
  const auto nspace = job();
  const auto id = reserve(wants(AllocationRequest::NEW, 0, {"v2"}), "other");
  const auto extend = wants(AllocationRequest::EXTEND, 1);
  auto both = about(extend, id);
  both.set_time_ms(1000);
  struct Row {
    AllocationRequest request;
    bool by_process;
    ErrorCode code;
  };
  const auto release = wants(AllocationRequest::RELEASE, 0);
  const std::vector<Row> rows = {
      {for_owner(wants(AllocationRequest::NEW, 1), nspace), true, ErrorCode::kPermissionDenied},
      {for_owner(about(extend, id), kTool), true, ErrorCode::kPermissionDenied},
      {about(extend, id), false, ErrorCode::kPermissionDenied},
      {about(extend, id), true, ErrorCode::kPermissionDenied},
      {for_owner(about(extend, id), nspace), false, ErrorCode::kPermissionDenied},
      {about(extend, "a77"), false, ErrorCode::kNotFound},
      {about(extend, "", "none"), true, ErrorCode::kNotFound},
      {extend, false, ErrorCode::kInvalidArgument},
      {inherited(wants(AllocationRequest::NEW, 1), 5), false, ErrorCode::kNotSupported},
      {inherited(about(extend, id), 77), true, ErrorCode::kNotSupported},
      {about(release, "a77"), false, ErrorCode::kNotFound},
      {about(release, id), false, ErrorCode::kPermissionDenied},
      {about(release, id), true, ErrorCode::kPermissionDenied},
      {wants(AllocationRequest::RELEASE, 0, {"v2"}), false, ErrorCode::kPermissionDenied},
      {release, false, ErrorCode::kInvalidArgument},
      {by_scheduler(about(release, id), "wrong"), false, ErrorCode::kPermissionDenied},
      {by_scheduler(about(release, id), "sixteen bytes or less"), false,
       ErrorCode::kPermissionDenied},
      {by_scheduler(about(release, id)), true, ErrorCode::kPermissionDenied},
  };
  const auto before = state();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE(i);
    const auto actions =
        rows[i].by_process ? process_asks(nspace, rows[i].request) : ask(rows[i].request);
    EXPECT_EQ(code_of(actions), rows[i].code);
    EXPECT_EQ(state(), before);
    EXPECT_THAT(all_of<AskForNodes>(actions), IsEmpty());
    EXPECT_THAT(told(actions), IsEmpty());
  }
  auto mixed = command(both);
  EXPECT_THAT(refusal(mixed), HasSubstr("nodes or by time"));
  EXPECT_EQ(state(), before);
}

// ---- aiming ----

// row:R6 row:R7
TEST_F(Owned, JobsSeeTheUnionOfWhatTheyAreAimedAt) {
  const auto one = reserve(wants(AllocationRequest::NEW, 0, {"v1"}));
  const auto two = grown(wants(AllocationRequest::NEW, 1));
  struct Row {
    wire::Targets targets;
    std::uint32_t processes;
    Ranks nodes;
  };
  const std::vector<Row> rows = {
      {at({one}), 2, {1}},    {at({two}), 2, {3}},          {at({one, two}), 4, {1, 3}},
      {at({}, true), 2, {2}}, {at({two}, true), 4, {2, 3}}, {at({one, two}, true), 6, {1, 2, 3}},
      {at({one}), 3, {}},
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE(i);
    const auto launch = spawn(proc_name(kTool, 0), aimed(rows[i].targets, rows[i].processes));
    EXPECT_EQ(launched_on(launch), rows[i].nodes);
    finish(launch);
  }
  const auto usual = spawn(proc_name(kTool, 0), job_spec(2));
  EXPECT_EQ(launched_on(usual), (Ranks{2})) << "a tool's job is one of the default session";
}

// row:R7 that it does not see the node does not mean that it is not there
TEST_F(Owned, WhoNamesANodeOfAnotherSessionIsToldSo) {
  const auto id = reserve(wants(AllocationRequest::NEW, 0, {"v1"}));
  const auto told = [this](const wire::JobSpec& spec) {
    rig.seen.clear();
    rig.submit(kUser, spec);
    return endings(rig.seen).at(0).messages(0);
  };
  EXPECT_THAT(told(on_node("v1")), HasSubstr("'v1' is reserved, and the job is not aimed at that"));
  auto elsewhere = on_node("v2");
  *elsewhere.mutable_targets() = at({id});
  EXPECT_THAT(told(elsewhere), HasSubstr("'v2' is in the default session"));
  EXPECT_THAT(told(on_node("v9")), HasSubstr("'v9' is not in this DVM"));
}

// row:R1 row:R6
TEST_F(Owned, AJobThatAProcessSpawnsIsWhereItsParentIs) {
  const auto id = reserve(wants(AllocationRequest::NEW, 0, {"v1"}));
  const auto parent = running(spawn(proc_name(kTool, 0), aimed(at({id}))));
  const auto heir = spawn(proc_name(parent, 0), job_spec(1));
  EXPECT_EQ(launched_on(heir), (Ranks{1}));
  finish(heir);
  const auto apart = spawn(proc_name(parent, 0), aimed(at({}, true)));
  EXPECT_EQ(launched_on(apart), (Ranks{2})) << "the sentinel means the default session";
  finish(apart);
  EXPECT_EQ(code_of(ask(about(wants(AllocationRequest::RELEASE, 0), id))), ErrorCode::kOk);
  EXPECT_EQ(launched_on(spawn(proc_name(parent, 0), on_node("v2"))), (Ranks{2}))
      << "the session of its parent is over";
}

// row:R8 row:R9
TEST_F(Owned, OnlyOwnersAimAtAReservation) {
  const auto mine = reserve(wants(AllocationRequest::NEW, 0, {"v1"}));
  const auto theirs = reserve(wants(AllocationRequest::NEW, 0, {"v2"}), "other");
  const auto child = running(spawn(proc_name(kTool, 0), aimed(at({mine}))));
  struct Row {
    wire::ProcName who;
    wire::Targets targets;
    ErrorCode code;
  };
  const std::vector<Row> rows = {
      {proc_name(kTool, 0), at({theirs}), ErrorCode::kPermissionDenied},
      {proc_name(kTool, 0), at({mine, theirs}), ErrorCode::kPermissionDenied},
      {proc_name(kTool, 0), at({mine, "a77"}), ErrorCode::kNotFound},
      {proc_name("other", 0), at({mine}, true), ErrorCode::kPermissionDenied},
      {proc_name(child, 0), at({theirs}), ErrorCode::kPermissionDenied},
  };
  const auto before = state();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE(i);
    const auto actions = spawn(rows[i].who, aimed(rows[i].targets));
    EXPECT_EQ(code_of(actions), rows[i].code);
    EXPECT_THAT(launched_on(actions), IsEmpty());
    EXPECT_EQ(state(), before);
  }
}

// row:R8
TEST_F(Owned, WhoIsSpawnedIntoAReservationOwnsItAndNoOther) {
  const auto mine = reserve(wants(AllocationRequest::NEW, 0, {"v1"}));
  const auto second = reserve(wants(AllocationRequest::NEW, 0, {"v2"}));
  const auto child = running(spawn(proc_name(kTool, 0), aimed(at({mine}))));
  EXPECT_THAT(find(mine)->users, UnorderedElementsAre(child));
  EXPECT_THAT(find(second)->users, IsEmpty());
  EXPECT_EQ(code_of(process_asks(child, about(wants(AllocationRequest::RELEASE, 0), second))),
            ErrorCode::kPermissionDenied);
  const auto wider = process_asks(child, about(wants(AllocationRequest::EXTEND, 1), mine));
  EXPECT_THAT(all_of<AskForNodes>(wider), SizeIs(1));
  EXPECT_EQ(code_of(process_asks(child, about(wants(AllocationRequest::RELEASE, 0), mine))),
            ErrorCode::kOk);
  EXPECT_EQ(find(mine), nullptr);
}

// row:R8 a descendant elsewhere comes of the owner, and owns nothing
TEST_F(Owned, ADescendantElsewhereIsNoOwner) {
  const auto id = reserve(wants(AllocationRequest::NEW, 0, {"v1"}));
  const auto elsewhere = running(spawn(proc_name(kTool, 0), on_node("v2")));
  EXPECT_THAT(find(id)->derived, UnorderedElementsAre(elsewhere));
  wire::UpBody body;
  auto& service = *body.mutable_service_request();
  service.set_token(5000);
  *service.mutable_who() = proc_name(elsewhere, 0);
  *service.mutable_allocation() = about(wants(AllocationRequest::RELEASE, 0), id);
  EXPECT_EQ(code_of(rig.up(2, std::move(body))), ErrorCode::kPermissionDenied);
}

// row:R8
TEST_F(Owned, CommandsActWithTheRightOfTheUsersTools) {
  const auto of_tool = reserve(wants(AllocationRequest::NEW, 0, {"v1"}));
  const auto aimed_there = rig.submit(kUser, aimed(at({of_tool}), 2));
  EXPECT_EQ(launched_on(aimed_there), (Ranks{1}));
  const auto nspace = job(on_node("v2"));
  const auto answer = ask(2, proc_name(nspace, 0), wants(AllocationRequest::NEW, 0, {"v2"}));
  const auto of_job = answers(answer).at(0).allocation().allocation();
  const auto before = state();
  const auto refused = rig.submit(kUser, aimed(at({of_job})));
  EXPECT_THAT(refusal(refused), HasSubstr("belongs to others"));
  EXPECT_THAT(refusal(command(about(wants(AllocationRequest::RELEASE, 0), of_job))),
              HasSubstr("belong to others"));
  EXPECT_EQ(state(), before);
  command(about(wants(AllocationRequest::RELEASE, 0), of_tool));
  EXPECT_EQ(find(of_tool), nullptr);
}

// row:R6 a shared allocation is no session of its own
TEST_F(Owned, WhatIsSharedIsNoTarget) {
  const auto id = reserve(shared(wants(AllocationRequest::NEW, 0, {"v1"})));
  EXPECT_EQ(code_of(spawn(proc_name(kTool, 0), aimed(at({id})))), ErrorCode::kNotFound);
}

// Also those on nodes that it did not bring.
TEST_F(Owned, WhatIsToldOfAReservationHasTheJobsOnAllItsNodes) {
  const auto id = reserve(wants(AllocationRequest::NEW, 0, {"v1"}));
  job(aimed(at({id})));
  job(on_node("v2"));
  const auto report = rig.head.elastic().explain_allocation(id);
  ASSERT_TRUE(report);
  EXPECT_THAT(report->jobs(), ElementsAre(1U));
}

// row:R11 a held job that was aimed at what is over goes nowhere else
TEST_F(Owned, AHeldJobWhoseReservationEndsIsNotPutElsewhere) {
  const auto id = reserve(wants(AllocationRequest::NEW, 0, {"v2"}));
  const auto asked = all_of<AskForNodes>(rig.ask(1));
  rig.grant(asked.at(0).ask, 1);
  rig.submit(kUser, aimed(at({id})));
  EXPECT_EQ(rig.head.jobs().fence().parked(), 1U);
  EXPECT_EQ(code_of(ask(about(wants(AllocationRequest::RELEASE, 0), id))), ErrorCode::kOk);
  rig.seen.clear();
  complete_grow(3, 1, 2);
  ASSERT_THAT(endings(rig.seen), SizeIs(1));
  EXPECT_EQ(endings(rig.seen)[0].state(), static_cast<std::uint32_t>(JobState::kMapFailed));
  EXPECT_THAT(endings(rig.seen)[0].messages(0), HasSubstr("is over"));
}

// row:S13
TEST_F(Owned, AJobHeldBeforeLaunchIsMappedOntoTheRestOfItsReservation) {
  rig.grow_wholly(3, 2);
  const auto id = reserve(wants(AllocationRequest::NEW, 0, {"v1", "v2", "v3", "v4"}));
  auto busy = on_node("v4", 2);
  *busy.mutable_targets() = at({id});
  rig.submit(kUser, busy);
  rig.launched(4, 1, {0, 1});
  rig.on(LinkDown{LinkId(1), LinkEnd::kClosed, "cut"});
  rig.submit(kUser + 1, aimed(at({id}), 5));  // waits for v1
  rig.release({"v5"});
  rig.link_up_of(1, 1);
  rig.attach_at(1);
  const auto held = rig.head.jobs().glance(JobId(2));
  ASSERT_TRUE(held);
  EXPECT_THAT(held->mapped, ElementsAre(Rank(1), Rank(2), Rank(3))) << "and not launched";
  rig.ended(4, 1, {0, 1});
  rig.release({"v2"}, 8);
  rig.seen.clear();
  exits(5);
  EXPECT_THAT(launched_on(rig.seen), IsEmpty());
  exits(2);
  EXPECT_EQ(launched_on(rig.seen), (Ranks{1, 3, 4})) << "and never onto what is everybody's";
}

}  // namespace
}  // namespace tide::core
