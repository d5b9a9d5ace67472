#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/allocation_text.hpp"
#include "cli/change_rig.hpp"
#include "cli/json_text.hpp"
#include "wire/exit_status.hpp"

namespace tide::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using wire::AllocationRequest;

using AllocCommand = ChangeRig;

TEST_F(AllocCommand, NewAsksForAReservation) {
  auto leased = begun({"v3", "v4"});
  leased.mutable_change_begun()->set_lease_ms(300'000);
  const Outcome outcome =
      run({"tide", "alloc", "new", "--count", "2", "--request-id", "ensemble", "--target", "tool-1",
           "--inherit", "child-d", "--time", "5m", "--warn", "30"},
          {leased});
  EXPECT_EQ(outcome.status, kExitSuccess);
  EXPECT_EQ(outcome.out,
            "reserving 2 nodes: v3, v4 (allocation a1)\nfor 5 min, then they go back\n");
  const AllocationRequest& asked = outcome.request.allocation();
  EXPECT_EQ(asked.what(), AllocationRequest::NEW);
  EXPECT_EQ(asked.count(), 2U);
  EXPECT_EQ(asked.request_id(), "ensemble");
  EXPECT_EQ(asked.target(), "tool-1");
  EXPECT_EQ(asked.inheritance(), 4U);
  EXPECT_EQ(asked.time_ms(), 300'000U);
  EXPECT_EQ(asked.warn_ms(), 30'000U);
  EXPECT_FALSE(asked.share());
  EXPECT_EQ(asked.allocation(), "");
}

TEST_F(AllocCommand, WhatIsNotSaidIsNotSent) {
  const Outcome outcome =
      run({"tide", "alloc", "new", "--host", "me@node7:4", "--share"}, {begun({"node7"})});
  EXPECT_EQ(outcome.out, "growing by 1 node: node7 (allocation a1)\n");
  const AllocationRequest& asked = outcome.request.allocation();
  EXPECT_TRUE(asked.share());
  EXPECT_EQ(asked.count(), 0U);
  EXPECT_EQ(asked.hosts(0).node(), "node7");
  EXPECT_EQ(asked.hosts(0).user(), "me");
  EXPECT_EQ(asked.hosts(0).slots(), 4U);
  EXPECT_EQ(asked.inheritance(), 0U);
  EXPECT_EQ(asked.target(), "");
  EXPECT_EQ(asked.request_id(), "");
}

TEST_F(AllocCommand, EachDispositionHasTheNumberThatPmixGivesIt) {
  const auto number_of = [this](std::string_view word) {
    return run({"tide", "alloc", "new", "--count", "1", "--inherit", word}, {begun({"v3"})})
        .request.allocation()
        .inheritance();
  };
  EXPECT_EQ(number_of("none"), 1U);
  EXPECT_EQ(number_of("child"), 2U) << "also the beginning of another one";
  EXPECT_EQ(number_of("Def"), 3U);
  EXPECT_EQ(number_of("CHILD-DEFAULT"), 4U);
}

TEST_F(AllocCommand, AJobIsNamedByItsNumberOrItsNamespace) {
  const auto owner_of = [this](std::string_view name) {
    return run({"tide", "alloc", "new", "--count", "1", "--target", name}, {begun({"v3"})})
        .request.allocation()
        .target();
  };
  EXPECT_EQ(owner_of("3"), "tide-test-1-it@3");
  EXPECT_EQ(owner_of("tide-test-1-it@3"), "tide-test-1-it@3");
  EXPECT_EQ(owner_of("host.tool.99"), "host.tool.99");
}

TEST_F(AllocCommand, NodesThatAreThereAreReservedAtOnce) {
  EXPECT_EQ(run({"tide", "alloc", "new", "--host", "v1"}, {begun({"v1"}, true)}).out,
            "reserved 1 node: v1 (allocation a1)\n");
  auto both = begun({"v3"});
  both.mutable_change_begun()->add_already("v1");
  EXPECT_EQ(run({"tide", "alloc", "new", "--host", "v1,v3"}, {both}).out,
            "reserving 2 nodes: v3, v1 (allocation a1); the DVM has or gets v1 already\n");
  EXPECT_EQ(run({"tide", "alloc", "new", "--host", "v1", "--share"}, {begun({"v1"}, true)}).out,
            "nothing to do: the DVM has v1 already (allocation a1)\n");
}

TEST_F(AllocCommand, WhoWaitsHearsHowItGoesAndHowItEnds) {
  const Outcome outcome =
      run({"tide", "alloc", "new", "--count", "1", "--wait"},
          {begun({"v3"}), news("node v3 has reported (1 of 1)"), ended(true, "grown by 1 node")});
  EXPECT_EQ(outcome.status, kExitSuccess);
  EXPECT_EQ(outcome.out, "reserving 1 node: v3 (allocation a1)\ngrown by 1 node\n");
  EXPECT_EQ(outcome.err, "tide alloc: node v3 has reported (1 of 1)\n");
  const Outcome failed = run({"tide", "alloc", "new", "--count", "1", "--wait"},
                             {begun({"v3"}), ended(false, "the DVM has not grown")});
  EXPECT_EQ(failed.status, kExitUndone);
  const Outcome refused = run({"tide", "alloc", "new", "--count", "9"},
                              {error(ErrorCode::kOutOfResources, "the pool has none left")});
  EXPECT_EQ(refused.status, kExitRefused);
  EXPECT_EQ(refused.err, "tide alloc: the pool has none left\n");
}

TEST_F(AllocCommand, ExtendNamesItsAllocationByEitherId) {
  const Outcome by_id = run({"tide", "alloc", "extend", "--alloc", "a1", "--count", "1",
                             "--request-id", "more", "--target", "host.tool.99"},
                            {begun({"v5"})});
  EXPECT_EQ(by_id.out, "extending allocation a1 by 1 node: v5\n");
  const AllocationRequest& asked = by_id.request.allocation();
  EXPECT_EQ(asked.what(), AllocationRequest::EXTEND);
  EXPECT_EQ(asked.allocation(), "a1");
  EXPECT_EQ(asked.request_id(), "more");
  EXPECT_EQ(asked.target(), "host.tool.99");
  auto prolonged = begun({}, true);
  prolonged.mutable_change_begun()->set_lease_ms(600'000);
  const Outcome by_name =
      run({"tide", "alloc", "extend", "--request-id", "ensemble", "--time", "5m"}, {prolonged});
  EXPECT_EQ(by_name.out, "the lease of allocation a1 is prolonged: it ends in 10 min\n");
  EXPECT_EQ(by_name.request.allocation().request_id(), "ensemble");
  EXPECT_EQ(by_name.request.allocation().time_ms(), 300'000U);
}

TEST_F(AllocCommand, ExtendMayChangeTheTermsAlone) {
  const Outcome outcome =
      run({"tide", "alloc", "extend", "--alloc", "a1", "--inherit", "none", "--warn", "1m"},
          {begun({}, true)});
  EXPECT_EQ(outcome.out, "the terms of allocation a1 are changed; tide explain a1 shows them\n");
  EXPECT_EQ(outcome.request.allocation().inheritance(), 1U);
  EXPECT_EQ(outcome.request.allocation().warn_ms(), 60'000U);
  EXPECT_EQ(
      run({"tide", "alloc", "extend", "--alloc", "a1", "--host", "v1"}, {begun({"v1"}, true)}).out,
      "allocation a1 is extended by 1 node: v1\n");
}

TEST_F(AllocCommand, ALeaseThatIsCutShortIsExplained) {
  auto cut = begun({}, true);
  cut.mutable_change_begun()->set_lease_ms(900'000);
  cut.mutable_change_begun()->mutable_cut()->set_granted_ms(600'000);
  cut.mutable_change_begun()->mutable_cut()->set_manager("pool");
  EXPECT_EQ(run({"tide", "alloc", "extend", "--alloc", "a1", "--time", "1h"}, {cut}).out,
            "the lease of allocation a1 is prolonged: it ends in 15 min; 1 h was asked for, and "
            "resource manager pool grants 10 min at most\n");
}

TEST_F(AllocCommand, ReleaseIsByIdByNameByNodesOrByNumber) {
  const auto asked = [this](std::vector<std::string_view> options) {
    std::vector<std::string_view> argv = {"tide", "alloc", "release"};
    argv.insert(argv.end(), options.begin(), options.end());
    const Outcome outcome = run(argv, {begun({"v3"})});
    EXPECT_EQ(outcome.out, "shrinking by 1 node: v3 (allocation a1)\n");
    EXPECT_EQ(outcome.request.allocation().what(), AllocationRequest::RELEASE);
    return outcome.request.allocation();
  };
  EXPECT_EQ(asked({"--alloc", "a1"}).allocation(), "a1");
  EXPECT_EQ(asked({"--request-id", "ensemble"}).request_id(), "ensemble");
  EXPECT_EQ(asked({"--count", "1"}).count(), 1U);
  EXPECT_EQ(asked({"--host", "v[3-4]"}).hosts(1).node(), "v4");
  EXPECT_EQ(run({"tide", "alloc", "release", "--alloc", "a1"}, {begun({}, true)}).out,
            "allocation a1 is over; no node leaves with it\n");
}

TEST_F(AllocCommand, CancelTakesBackWhatIsNotGranted) {
  auto done = begun({}, true);
  done.mutable_change_begun()->clear_allocation();
  const Outcome outcome = run({"tide", "alloc", "cancel", "ensemble"}, {done});
  EXPECT_EQ(outcome.status, kExitSuccess);
  EXPECT_EQ(outcome.out, "request 'ensemble' is taken back; nobody gets nodes for it\n");
  EXPECT_EQ(outcome.request.allocation().what(), AllocationRequest::CANCEL);
  EXPECT_EQ(outcome.request.allocation().request_id(), "ensemble");
  EXPECT_THAT(run({"tide", "alloc", "cancel", "ensemble", "--json"}, {done}).out,
              HasSubstr("\"kind\": \"cancel\",\n    \"number\": null,\n    "
                        "\"allocation\": null"));
}

TEST_F(AllocCommand, ProgramsGetOneDocument) {
  const Outcome outcome = run({"tide", "alloc", "new", "--count", "1", "--json"}, {begun({"v3"})});
  EXPECT_THAT(outcome.out, HasSubstr("\"kind\": \"new\""));
  EXPECT_THAT(outcome.out, HasSubstr("\"allocation\": \"a1\""));
  EXPECT_THAT(outcome.out, HasSubstr("\"outcome\": null"));
  EXPECT_THAT(run({"tide", "alloc", "release", "--alloc", "a1", "--json"}, {begun({}, true)}).out,
              HasSubstr("\"kind\": \"release\""));
}

TEST_F(AllocCommand, SenselessOnesAskNobody) {
  const auto refused = [this](std::vector<std::string_view> words, const char* part) {
    std::vector<std::string_view> argv = {"tide", "alloc"};
    argv.insert(argv.end(), words.begin(), words.end());
    const Outcome outcome = run_alone(argv);
    EXPECT_EQ(outcome.status, kExitUsage);
    EXPECT_THAT(outcome.err, HasSubstr(part));
  };
  refused({}, "tide alloc new --count N");
  refused({"relaese"}, "did you mean release?");
  refused({"new"}, "neither how many nodes nor which ones");
  refused({"new", "--count", "1", "--host", "v3"}, "--count and --host both");
  refused({"new", "--count", "0"}, "between 1 and");
  refused({"new", "--count", "1", "now"}, "'now' is one word too many");
  refused({"new", "--count", "1", "--alloc", "a1"}, "it is for extend and release");
  refused({"new", "--count", "1", "--inherit", "c"}, "could be child, child-default");
  refused({"new", "--count", "1", "--inherit", "grandchild"}, "is no value of --inherit");
  refused({"new", "--count", "1", "--target", ""}, "the value of --target is empty");
  refused({"new", "--count", "1", "--time", "soon"}, "is no time");
  refused({"new", "--count", "1", "--warn", "0"}, "is no time");
  refused({"new", "--count", "1", "--time", "5m", "--warn", "300"}, "try: a time shorter than 5m");
  refused({"extend", "--count", "1"}, "which allocation is to be extended");
  refused({"extend", "--alloc", "a1"}, "neither more nodes nor more time");
  refused({"extend", "--alloc", "a1", "--count", "1", "--time", "5m"},
          "--count asks for more nodes and --time for more time");
  refused({"extend", "--alloc", "a1", "--count", "1", "--host", "v3"}, "--count and --host both");
  refused({"extend", "--alloc", "a1", "--count", "1", "--share"},
          "--share is not for tide alloc extend");
  refused({"extend", "--alloc=", "--count", "1"}, "the value of --alloc is empty");
  refused({"release"}, "neither an allocation nor nodes to release");
  refused({"release", "--alloc", "a1", "--request-id", "x"}, "--alloc and --request-id both");
  refused({"release", "--alloc", "a1", "--inherit", "none"}, "it is for new and extend");
  refused({"release", "--host", "v3:2"}, "'v3:2' is no name of a node");
  refused({"list", "--count", "1"}, "--count is not for tide alloc list");
  refused({"list", "all"}, "'all' is one word too many");
  refused({"cancel"}, "one request is needed");
  refused({"cancel", "x", "--wait"}, "--wait is not for tide alloc cancel");
  refused({"cancel", "x", "y"}, "'y' is one word too many");
}

TEST_F(AllocCommand, ListShowsWhatTheHeadKnows) {
  wire::ClientReply reply;
  reply.mutable_status()->add_allocations()->set_name("a7");
  const Outcome outcome = run({"tide", "alloc", "list"}, {reply});
  EXPECT_EQ(outcome.status, kExitSuccess);
  EXPECT_TRUE(outcome.request.has_status());
  EXPECT_EQ(outcome.out, allocations_text(reply.status()));
  EXPECT_EQ(run({"tide", "alloc", "list", "--json"}, {reply}).out,
            allocations_json(reply.status()));
  const Outcome failed = run({"tide", "alloc", "list"}, {error(ErrorCode::kInternal, "oh")});
  EXPECT_EQ(failed.status, kExitFailure);
}

TEST_F(AllocCommand, AJobIsAimedByTheNameOfTheRequest) {
  wire::StatusReply status;
  for (const auto& [name, request] :
       {std::pair{"a1", "ensemble"}, {"a2", "other"}, {"a3", "both"}}) {
    status.add_allocations()->set_name(name);
    status.mutable_allocations()->rbegin()->set_request_id(request);
    status.mutable_allocations()->rbegin()->set_reserved(std::string_view(name) != "a3");
  }
  const auto prun = [&](std::string_view name, bool submits) {
    return run_with({"prun", "--target", "default", "--alloc-refid", name, "true"},
                    [&](FakeHead& head, Outcome& outcome) {
                      wire::ClientReply reply;
                      reply.set_request(head.receive().message.request());
                      *reply.mutable_status() = status;
                      head.reply(reply);
                      if (!submits) return head.await_end();
                      outcome.request = head.receive().message;
                      head.accepted(outcome.request.request(), 1);
                      head.ended(0);
                    });
  };
  const Outcome aimed = prun("ensemble", true);
  EXPECT_EQ(aimed.status, kExitSuccess) << aimed.err;
  const wire::Targets& targets = aimed.request.submit().job().targets();
  EXPECT_THAT(targets.allocations(), ElementsAre("a1"));
  EXPECT_TRUE(targets.default_session());
  const Outcome unknown = prun("nothing", false);
  EXPECT_EQ(unknown.status, kExitMapFailed);
  EXPECT_THAT(unknown.err, HasSubstr("no reservation is there that was asked for as 'nothing'"));
  status.mutable_allocations(1)->set_request_id("ensemble");
  const Outcome ambiguous = prun("ensemble", false);
  EXPECT_EQ(ambiguous.status, kExitUsage);
  EXPECT_THAT(ambiguous.err, HasSubstr("one of them: --alloc-id a1, --alloc-id a2"));
  EXPECT_THAT(prun("both", false).err, HasSubstr("allocation a3, asked for as 'both', is no"));
}

}  // namespace
}  // namespace tide::cli
