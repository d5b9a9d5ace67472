// An elastic head with two nodes, and a tool that is attached to the first and asks for changes.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/elastic_rig.hpp"
#include "core/pmix_words.hpp"
#include "core/proc_names.hpp"

namespace tide::core {

using wire::AllocationRequest;

inline constexpr const char* kTool = "tool";

struct Told {
  std::uint32_t daemon = 0;  // 0: the head
  wire::EventNotice notice;

  [[nodiscard]] std::optional<wire::EventFact> fact(const std::string& key) const {
    for (const auto& one : notice.facts()) {
      if (one.key() == key) return one;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::string text(const std::string& key) const {
    const auto found = fact(key);
    return found ? found->text() : "-";
  }
};

inline std::vector<Told> told(const Actions& actions) {
  std::vector<Told> out;
  for (const auto& [rank, body] : downs(actions)) {
    if (body.has_event()) out.push_back({rank, body.event()});
  }
  for (const auto& deliver : all_of<DeliverEvent>(actions)) out.push_back({0, deliver.notice});
  std::erase_if(out, [](const Told& one) {
    return one.notice.code() != kEventDvmIsReady && one.notice.code() != kEventDvmModFailed;
  });
  return out;
}

inline std::vector<wire::ServiceAnswer> answers(const Actions& actions) {
  std::vector<wire::ServiceAnswer> out;
  for (const auto& [rank, body] : downs(actions)) {
    if (body.has_service_answer()) out.push_back(body.service_answer());
  }
  for (const auto& one : all_of<AnswerService>(actions)) out.push_back(one.answer);
  return out;
}

inline ErrorCode code_of(const Actions& actions) {
  const auto all = answers(actions);
  return all.empty() ? ErrorCode::kInternal : static_cast<ErrorCode>(all.back().error_code());
}

inline AllocationRequest wants(AllocationRequest::What what, std::uint32_t count,
                               const std::vector<std::string>& nodes = {}) {
  AllocationRequest out;
  out.set_what(what);
  out.set_count(count);
  for (const auto& node : nodes) out.add_hosts()->set_node(node);
  return out;
}

inline AllocationRequest about(AllocationRequest request, const std::string& allocation,
                               const std::string& request_id = "") {
  request.set_allocation(allocation);
  request.set_request_id(request_id);
  return request;
}

inline AllocationRequest shared(AllocationRequest request) {
  request.set_share(true);
  return request;
}

class Allocations : public ::testing::Test {
 public:
  explicit Allocations(bool elastic = true) : Allocations(elastic_config(elastic)) {}
  explicit Allocations(HeadConfig config) : rig(2, std::move(config)) { attach_tool(1, kTool); }

  void attach_tool(std::uint32_t daemon, const std::string& name) {
    wire::UpBody body;
    *body.mutable_tool_joined()->mutable_tool() = proc_name(name, 0);
    rig.up(daemon, std::move(body));
  }
  void detach_tool(std::uint32_t daemon, const std::string& name) {
    wire::UpBody body;
    *body.mutable_tool_left()->mutable_tool() = proc_name(name, 0);
    rig.up(daemon, std::move(body));
  }
  Actions ask(std::uint32_t daemon, const wire::ProcName& who, const AllocationRequest& request) {
    wire::UpBody body;
    auto& service = *body.mutable_service_request();
    service.set_token(++tokens_);
    *service.mutable_who() = who;
    *service.mutable_allocation() = request;
    return rig.up(daemon, std::move(body));
  }
  Actions ask(const AllocationRequest& request, const std::string& tool = kTool) {
    return ask(1, proc_name(tool, 0), request);
  }
  // The answer when so many nodes are granted; they get the next ranks.
  wire::AllocationAnswer granted(const AllocationRequest& request, std::uint32_t count) {
    const auto asked = all_of<AskForNodes>(ask(request));
    EXPECT_EQ(asked.size(), 1U);
    const auto actions = rig.grant(asked.at(0).ask, count);
    EXPECT_EQ(code_of(actions), ErrorCode::kOk);
    return answers(actions).at(0).allocation();
  }
  void complete_grow(std::uint32_t first, std::uint32_t count, std::uint32_t campaign) {
    for (auto rank = first; rank < first + count; ++rank) rig.report_of(rank, campaign);
    for (auto rank = first; rank < first + count; ++rank) rig.attach_at(rank);
    std::vector<std::uint32_t> members;
    for (const auto& [rank, node] : rig.head.roster().nodes()) members.push_back(rank.value());
    for (const auto rank : members) rig.acknowledge(rank);
  }
  [[nodiscard]] std::string session_of(std::uint32_t rank) const {
    return rig.head.roster().nodes().at(Rank(rank)).session;
  }
  Actions exits(std::uint32_t rank) { return rig.on(DaemonExited{Rank(rank), "ended"}); }

  ElasticRig rig;

 private:
  std::uint64_t tokens_ = 0;
};

}  // namespace tide::core
