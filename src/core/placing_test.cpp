#include "core/placing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/mapper_samples.hpp"

namespace tide::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

wire::HostRequest index_of(std::uint32_t number, std::uint32_t slots = 0) {
  wire::HostRequest out;
  out.set_kind(wire::HostRequest::INDEX);
  out.set_number(number);
  out.set_slots(slots);
  out.set_text("+n" + std::to_string(number));
  return out;
}

wire::HostRequest empty_ones(std::uint32_t number) {
  wire::HostRequest out;
  out.set_kind(wire::HostRequest::EMPTY);
  out.set_number(number);
  out.set_text("+e");
  return out;
}

wire::HostRequest host(const std::string& name, std::uint32_t slots = 0) {
  wire::HostRequest out;
  out.set_node(name);
  out.set_slots(slots);
  return out;
}

// The nodes of each program, with slots and maximum where there are any.
std::vector<std::string> chosen(wire::JobSpec spec, const std::vector<MapNode>& nodes,
                                Suspects suspects = Suspects::kIfNamed) {
  if (const auto status = choose_nodes(spec, nodes, suspects); !status) {
    return {"error: " + status.error().message};
  }
  std::vector<std::string> out;
  for (const auto& app : spec.apps()) {
    out.emplace_back();
    for (const auto& found : app.hosts()) {
      EXPECT_EQ(found.kind(), wire::HostRequest::NAME);
      out.back() += (out.back().empty() ? "" : " ") + found.node();
      if (found.slots() > 0) out.back() += ":" + std::to_string(found.slots());
      if (found.max_slots() > 0) out.back() += "/" + std::to_string(found.max_slots());
    }
  }
  return out;
}

wire::JobSpec asking(std::initializer_list<wire::HostRequest> requests) {
  auto spec = job(1);
  for (const auto& request : requests) *spec.mutable_apps(0)->add_hosts() = request;
  return spec;
}

TEST(Placing, AJobWithoutAWordUsesEveryNode) {
  EXPECT_THAT(chosen(job(1), three_nodes()), ElementsAre(""));
  const auto placing = place_job(job(7), three_nodes(), Suspects::kIfNamed);
  EXPECT_TRUE(placing.placed());
  EXPECT_FALSE(placing.chosen);
}

TEST(Placing, PlacesAreThoseOfTheDvm) {
  EXPECT_THAT(chosen(asking({index_of(2), index_of(0, 1)}), three_nodes()), ElementsAre("v1:1 v3"));
  EXPECT_THAT(chosen(asking({index_of(3)}), three_nodes()),
              ElementsAre(HasSubstr("there is no '+n3' in this DVM, which has 3 nodes")));
}

TEST(Placing, EmptyNodesHaveNoProcess) {
  auto nodes = three_nodes();
  nodes[0].used = 1;
  EXPECT_THAT(chosen(asking({empty_ones(0)}), nodes), ElementsAre("v2 v3"));
  EXPECT_THAT(chosen(asking({empty_ones(1)}), nodes), ElementsAre("v2"));
  EXPECT_THAT(chosen(asking({empty_ones(3)}), nodes),
              ElementsAre(HasSubstr("more empty nodes than this DVM has: 2")));
}

TEST(Placing, WhatAProgramHasChosenIsNotEmptyForTheNext) {
  auto spec = asking({empty_ones(1)});
  *add_app(spec, 1).add_hosts() = empty_ones(1);
  *add_app(spec, 1).add_hosts() = empty_ones(0);
  EXPECT_THAT(chosen(spec, three_nodes()), ElementsAre("v1", "v2", "v3"));
}

TEST(Placing, AListChoosesAmongTheHostsOfAFile) {
  auto spec = asking({host("v1"), host("v2", 3)});
  auto& app = *spec.mutable_apps(0);
  *app.add_hostfile() = host("v1", 2);
  *app.add_hostfile() = host("v2", 2);
  app.mutable_hostfile(1)->set_max_slots(4);
  EXPECT_THAT(chosen(spec, three_nodes()), ElementsAre("v1:2 v2:2/4"));
  *app.add_hosts() = index_of(2);
  EXPECT_THAT(chosen(spec, three_nodes()),
              ElementsAre(HasSubstr("'+n2' stands for v3, which the hostfile leaves out")));
}

TEST(Placing, ExcludedHostsLeaveTheOthers) {
  auto spec = asking({host("v2")});
  spec.mutable_apps(0)->mutable_hosts(0)->set_excluded(true);
  EXPECT_THAT(chosen(spec, three_nodes()), ElementsAre("v1 v3"));
}

TEST(Placing, UnknownHostsAreNamedWithTheirPlace) {
  auto spec = asking({host("v9")});
  EXPECT_THAT(chosen(spec, three_nodes()),
              ElementsAre(HasSubstr("'v9' is not in this DVM, which has v1, v2, v3")));
  auto& request = *spec.mutable_apps(0)->mutable_hosts(0);
  request.set_node("vv2");
  request.set_source("nodes");
  request.set_line(4);
  request.set_column(1);
  const auto placing = place_job(spec, three_nodes(), Suspects::kIfNamed);
  EXPECT_FALSE(placing.placed());
  EXPECT_EQ(explain_failure(spec, placing),
            "nodes:4:1: 'vv2' is not in this DVM; did you mean v2?");
}

TEST(Placing, AdviceForAJobWithAHostfileIsWithoutIt) {
  auto spec = job(2);
  *spec.mutable_apps(0)->add_hostfile() = host("v1", 1);
  const auto placing = place_job(spec, three_nodes(), Suspects::kIfNamed);
  EXPECT_THAT(explain_failure(spec, placing),
              HasSubstr("--host v1:2              fits now, without "
                        "--hostfile"));
}

TEST(Placing, SuspectedNodesAreForThoseWhoNameThem) {
  auto nodes = three_nodes();
  nodes[0].suspected = true;
  EXPECT_THAT(chosen(asking({empty_ones(0)}), nodes), ElementsAre("v2 v3"));
  EXPECT_THAT(chosen(asking({empty_ones(0)}), nodes, Suspects::kAlways), ElementsAre("v1 v2 v3"));
  EXPECT_THAT(chosen(asking({index_of(0)}), nodes), ElementsAre("v1"));
  EXPECT_TRUE(place_job(asking({host("v1")}), nodes, Suspects::kIfNamed).placed());
  const auto placing = place_job(job(6), nodes, Suspects::kIfNamed);
  EXPECT_FALSE(placing.placed());
  EXPECT_THAT(placing.unheard, ElementsAre("v1"));
  EXPECT_TRUE(place_job(job(6), nodes, Suspects::kAlways).placed());
}

// Whatever a job says of hosts, it is placed on nodes it chose, or there is a reason.
RC_GTEST_PROP(PlacingProperty, WordsBecomeNodesOrAReason, ()) {
  const auto nodes = any_nodes();
  auto spec = any_job(nodes);
  for (auto& app : *spec.mutable_apps()) {
    const auto words = *rc::gen::inRange(0, 3);
    for (int i = 0; i < words; ++i) {
      auto& request = *(*rc::gen::arbitrary<bool>() ? app.add_hosts() : app.add_hostfile());
      request = *rc::gen::arbitrary<bool>() ? index_of(*rc::gen::inRange(0U, 9U))
                                            : empty_ones(*rc::gen::inRange(0U, 4U));
      request.set_excluded(request.kind() == wire::HostRequest::INDEX &&
                           *rc::gen::inRange(0, 3) == 0);
    }
  }
  const auto placing = place_job(spec, nodes, Suspects::kIfNamed);
  RC_CLASSIFY(placing.placed(), "placed");
  RC_CLASSIFY(placing.bad_hosts.has_value(), "bad hosts");
  if (!placing.placed()) {
    RC_ASSERT(!explain_failure(spec, placing).empty());
    return;
  }
  const auto& mapped = placing.chosen ? *placing.chosen : spec;
  for (const auto& placement : placing.result.placements) {
    const auto& app = mapped.apps(static_cast<int>(placement.app));
    const auto name = "v" + std::to_string(placement.daemon.value());
    RC_ASSERT(app.hosts().empty() || std::ranges::any_of(app.hosts(), [&](const auto& found) {
                return found.node() == name;
              }));
  }
}

}  // namespace
}  // namespace tide::core
