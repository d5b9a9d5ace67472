// An elastic head with daemons played by the test, all of them directly below it.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/head_rig.hpp"

namespace tide::core {

inline constexpr std::uint64_t kAsker = 9;
inline constexpr std::uint64_t kUser = 5;

inline HeadConfig elastic_config(bool enabled = true) {
  auto out = HeadRig::verbose_config();
  out.elastic.enabled = enabled;
  out.elastic.verbosity.fill(1);
  return out;
}

class ElasticRig : public HeadRig {
 public:
  explicit ElasticRig(std::uint32_t nodes, bool enabled = true)
      : ElasticRig(nodes, elastic_config(enabled)) {}
  ElasticRig(std::uint32_t nodes, HeadConfig config)
      : HeadRig(nodes, std::move(config)), next_(nodes + 1) {
    make_ready();
  }

  // ---- grow ----
  Actions ask(std::uint32_t count, std::uint64_t client = kAsker) {
    wire::ClientRequest message;
    message.mutable_grow()->set_count(count);
    return request(client, std::move(message));
  }
  // The nodes get the next ranks.
  Actions grant(std::uint32_t ask, std::uint32_t count, Lease lease = {}) {
    NodesGranted granted{ask, {}, lease};
    for (std::uint32_t i = 0; i < count; ++i, ++next_) {
      granted.nodes.push_back({"v" + std::to_string(next_), kSlots, incarnation(next_)});
    }
    return on(granted);
  }
  // The first of its nodes gets the rank that is returned.
  std::uint32_t begin_grow(std::uint32_t count, std::uint64_t client = kAsker) {
    const auto first = next_;
    const auto asked = all_of<AskForNodes>(ask(count, client));
    grant(asked.at(0).ask, count);
    return first;
  }
  Actions link_up_of(std::uint32_t rank, std::uint32_t campaign) {
    return on(LinkUp{LinkId(rank), Rank(rank), incarnation(rank), campaign, false});
  }
  void report_of(std::uint32_t rank, std::uint32_t campaign) {
    link_up_of(rank, campaign);
    report(rank);
  }
  [[nodiscard]] std::uint64_t serial() const {
    return head.overlay().membership().serial().value();
  }
  void attach_at(std::uint32_t rank) {
    wire::LinkMessage message;
    message.mutable_attach()->set_applied(serial());
    message.mutable_attach()->set_acknowledged(serial());
    say(rank, message);
  }
  void acknowledge(std::uint32_t rank) {
    wire::LinkMessage message;
    message.mutable_operation_ack()->set_serial(serial());
    say(rank, message);
  }
  void grow_wholly(std::uint32_t count, std::uint32_t campaign) {
    const auto first = begin_grow(count);
    for (auto rank = first; rank < first + count; ++rank) report_of(rank, campaign);
    for (auto rank = first; rank < first + count; ++rank) attach_at(rank);
    for (std::uint32_t rank = 1; rank < first; ++rank) {
      if (head.roster().nodes().contains(Rank(rank))) acknowledge(rank);
    }
  }

  // ---- shrink ----
  Actions release(const std::vector<std::string>& nodes, std::uint64_t client = kAsker) {
    wire::ClientRequest message;
    message.mutable_shrink();
    for (const auto& node : nodes) message.mutable_shrink()->add_nodes(node);
    return request(client, std::move(message));
  }
  Actions give_back() { return answer(all_of<ReturnNodes>(seen).back()); }
  Actions answer(const ReturnNodes& offer, ReturnVerdict verdict = ReturnVerdict::kTaken) {
    return on(ReturnAnswered{offer.number, offer.manager, verdict});
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& [rank, node] : head.roster().nodes()) out.push_back(node.name);
    return out;
  }
  [[nodiscard]] NodeState state_of(std::uint32_t rank) const {
    return head.roster().nodes().at(Rank(rank)).state;
  }

 private:
  std::uint32_t next_;
};

inline std::vector<wire::ChangeBegun> begun(const Actions& actions) {
  std::vector<wire::ChangeBegun> out;
  for (const auto& reply : all_of<Reply>(actions)) {
    if (reply.reply.has_change_begun()) out.push_back(reply.reply.change_begun());
  }
  return out;
}
inline std::vector<wire::ChangeEnded> outcomes(const Actions& actions) {
  std::vector<wire::ChangeEnded> out;
  for (const auto& reply : all_of<Reply>(actions)) {
    if (reply.reply.has_change_ended()) out.push_back(reply.reply.change_ended());
  }
  return out;
}
inline std::string refusal(const Actions& actions) {
  for (const auto& reply : all_of<Reply>(actions)) {
    if (reply.reply.has_error()) return reply.reply.error().message();
  }
  return {};
}
inline std::vector<RankSet> orders_to_leave(const Actions& actions) {
  std::vector<RankSet> out;
  std::uint64_t last = 0;
  for (const auto& send : all_of<Send>(actions)) {
    const auto& operation = send.message.operation();
    if (!operation.membership().orderly() || operation.serial() <= last) continue;
    last = operation.serial();
    out.push_back(RankSet::from_wire(operation.membership().left()));
  }
  return out;
}
inline wire::JobSpec on_node(const std::string& node, std::uint32_t processes = 1) {
  auto out = job_spec(processes);
  out.mutable_apps(0)->add_hosts()->set_node(node);
  return out;
}
inline std::set<std::uint32_t> launched_on(const Actions& actions) {
  std::set<std::uint32_t> out;
  for (const auto& [rank, body] : downs(actions)) {
    if (body.has_launch()) out.insert(rank);
  }
  return out;
}

}  // namespace tide::core
