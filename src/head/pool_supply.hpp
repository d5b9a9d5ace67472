// Nodes from the managers that answer at once: the pool, and hosts by name.
#pragma once

#include "head/node_supply.hpp"
#include "head/supply.hpp"

namespace tide::head {

class PoolSupply final : public Supply {
 public:
  PoolSupply(const HeadOptions& options, NodePlaces& places, Dvm dvm)
      : grant_(options.grant), dvm_(std::move(dvm)), supply_(options, places) {}

  [[nodiscard]] std::vector<std::string> managers() const override { return supply_.managers(); }
  [[nodiscard]] Source source() const override;
  void start() override {}
  void ask(const core::AskForNodes& wanted) override;
  void ask(const core::AskForTime& wanted) override;
  void cancel(const core::CancelAsk& /*wanted*/) override {}  // it was answered at once
  void give_back(const core::ReturnNodes& order, bool late) override;
  void note_started(std::span<const std::string> nodes) override { supply_.note_started(nodes); }
  void daemon_ended(const std::string& /*node*/, std::function<void()> then) override { then(); }
  Result<wire::PoolAnswer> carry_out(const wire::PoolOrder& order) override;
  void finish(std::function<void()> then) override { then(); }
  [[nodiscard]] bool lets_go(pid_t /*pid*/) const override { return false; }

 private:
  std::optional<rm::Grant> grant_;
  Dvm dvm_;
  NodeSupply supply_;
};

}  // namespace tide::head
