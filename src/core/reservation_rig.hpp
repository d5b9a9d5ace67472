// An elastic head with a scheduler's key, two nodes and two tools on the first; jobs of one process
// that the test starts and ends.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/allocation_rig.hpp"

namespace tide::core {

inline constexpr const char* kKey = "sixteen bytes or more";
inline constexpr std::uint32_t kNone = 1;
inline constexpr std::uint32_t kChild = 2;
inline constexpr std::uint32_t kDefault = 3;
inline constexpr std::uint32_t kChildDefault = 4;

inline HeadConfig with_scheduler() {
  auto out = elastic_config();
  out.elastic.scheduler_key = kKey;
  return out;
}

inline AllocationRequest for_owner(AllocationRequest request, const std::string& owner) {
  request.set_target(owner);
  return request;
}
inline AllocationRequest inherited(AllocationRequest request, std::uint32_t inheritance) {
  request.set_inheritance(inheritance);
  return request;
}
inline AllocationRequest by_scheduler(AllocationRequest request, const std::string& key = kKey) {
  request.set_scheduler_key(key);
  return request;
}
inline wire::Targets at(const std::vector<std::string>& allocations, bool default_session = false) {
  wire::Targets out;
  for (const auto& id : allocations) out.add_allocations(id);
  out.set_default_session(default_session);
  return out;
}

class Owned : public Allocations {
 protected:
  Owned() : Allocations(with_scheduler()) { attach_tool(1, "other"); }

  // ---- who asks ----
  // A job that a command submitted and that runs; of one process on v1, or where it may be.
  std::string job(const wire::JobSpec& spec = on_node("v1")) {
    return running(rig.submit(kUser, spec));
  }
  Actions process_asks(const std::string& nspace, const AllocationRequest& request) {
    return ask(1, proc_name(nspace, 0), request);
  }
  Actions command(const AllocationRequest& request) {
    wire::ClientRequest message;
    *message.mutable_allocation() = request;
    return rig.request(kAsker, std::move(message));
  }
  // ---- jobs ----
  Actions spawn(const wire::ProcName& who, const wire::JobSpec& spec, const std::string& key = "") {
    wire::UpBody body;
    auto& service = *body.mutable_service_request();
    service.set_token(1000 + rig.head.jobs().submitted());
    *service.mutable_who() = who;
    *service.mutable_spawn()->mutable_job() = spec;
    service.mutable_spawn()->set_scheduler_key(key);
    service.mutable_spawn()->set_outlives_tool(true);
    return rig.up(1, std::move(body));
  }
  static wire::JobSpec aimed(const wire::Targets& targets, std::uint32_t processes = 1) {
    auto out = job_spec(processes);
    *out.mutable_targets() = targets;
    return out;
  }
  // The job whose launch this is runs.
  std::string running(const Actions& actions) {
    const auto number = static_cast<std::uint32_t>(rig.head.jobs().submitted());
    for (const auto& [rank, body] : downs(actions)) {
      if (!body.has_launch()) continue;
      auto& ranks = processes_[number][rank];
      for (const auto& proc : body.launch().procs()) ranks.push_back(proc.rank());
      rig.launched(rank, number, ranks);
    }
    return "dvm@" + std::to_string(number);
  }
  // … and ends, on all its nodes.
  void ends(const std::string& nspace) {
    const auto number = static_cast<std::uint32_t>(std::stoul(nspace.substr(4)));
    for (const auto& [rank, ranks] : processes_[number]) rig.ended(rank, number, ranks);
  }
  void finish(const Actions& launch) {
    if (!launched_on(launch).empty()) ends(running(launch));
  }
  // ---- what is there ----
  std::string reserve(const AllocationRequest& request, const std::string& tool = kTool) {
    const auto actions = ask(request, tool);
    EXPECT_EQ(code_of(actions), ErrorCode::kOk);
    return answers(actions).at(0).allocation().allocation();
  }
  // With a node of its own, v3 if it is the first.
  std::string grown(const AllocationRequest& request, const std::string& tool = kTool) {
    const auto rank = next_rank();
    const auto asked = all_of<AskForNodes>(ask(request, tool));
    EXPECT_EQ(asked.size(), 1U);
    const auto answer = answers(rig.grant(asked.at(0).ask, 1)).at(0).allocation();
    complete_grow(rank, 1, rig.head.roster().nodes().at(Rank(rank)).campaign.value());
    return answer.allocation();
  }
  [[nodiscard]] std::uint32_t next_rank() const {
    return static_cast<std::uint32_t>(rig.head.overlay().membership().span());
  }
  [[nodiscard]] const Allocation* find(const std::string& id) const {
    return rig.head.elastic().sessions().find(id);
  }
  [[nodiscard]] std::vector<std::string> news(const std::string& id) const {
    std::vector<std::string> out;
    for (const auto& event : rig.head.events().events()) {
      if (event.kind().starts_with("allocation-") && event.detail().starts_with(id + " ")) {
        out.push_back(event.kind().substr(std::string("allocation-").size()));
      }
    }
    return out;
  }
  // Everything that people can see, but for what depends on the time.
  [[nodiscard]] std::string state() const { return rig.head.status(0, 0).SerializeAsString(); }

 private:
  // By job and daemon.
  std::map<std::uint32_t, std::map<std::uint32_t, std::vector<std::uint32_t>>> processes_;
};

}  // namespace tide::core
