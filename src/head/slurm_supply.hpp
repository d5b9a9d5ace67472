// Nodes from Slurm: its manager, wired to Slurm's commands and to the DVM.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <set>

#include "base/params.hpp"
#include "head/supply.hpp"
#include "rm/slurm_commands.hpp"
#include "rm/slurm_manager.hpp"

namespace tide::head {

class SlurmSupply final : public Supply, private rm::SlurmListener {
 public:
  using Timers = std::set<std::shared_ptr<asio::steady_timer>>;

  // `options` tell the job and its nodes. Nodes that come later are added to `places`, which has to
  // stay.
  SlurmSupply(asio::io_context& io, const Params& params, const HeadOptions& options,
              NodePlaces& places, const std::string& dvm_name, Dvm dvm);

  [[nodiscard]] std::vector<std::string> managers() const override;
  [[nodiscard]] Source source() const override;
  void start() override { manager_.start(); }
  void ask(const core::AskForNodes& wanted) override;
  void ask(const core::AskForTime& wanted) override { manager_.ask(wanted); }
  void cancel(const core::CancelAsk& wanted) override { manager_.cancel(wanted.ask); }
  void give_back(const core::ReturnNodes& order, bool late) override;
  void note_started(std::span<const std::string> nodes) override { manager_.note_started(nodes); }
  void daemon_ended(const std::string& node, std::function<void()> then) override {
    manager_.look_why(node, std::move(then));
  }
  Result<wire::PoolAnswer> carry_out(const wire::PoolOrder& order) override;
  void finish(std::function<void()> then) override;
  [[nodiscard]] bool lets_go(pid_t pid) const override { return manager_.gives_back(pid); }

 private:
  std::set<std::string> known() override { return dvm_.view().known; }
  void on_granted(std::uint32_t ask, Grant grant) override;
  void on_time_granted(std::uint32_t ask, std::uint32_t time_ms, bool cut) override;
  void on_refused(std::uint32_t ask, Error why) override;
  void on_queued(std::uint32_t ask, std::string text) override;
  void on_pushed(Grant grant) override;
  void on_reclaimed(std::vector<std::string> nodes, std::string reason) override;
  void on_lease_moved(std::vector<std::string> nodes, std::uint32_t time_ms) override;
  void on_returned(std::uint32_t number, core::ReturnVerdict verdict, std::string why) override;
  void on_parent_over(std::string reason) override;
  void on_parent_limit(std::uint64_t left_ms) override;
  void on_note(std::string text) override;

  std::vector<core::NodeRequest> requests_for(const std::vector<rm::Host>& hosts);

  NodePlaces& places_;
  std::string job_;
  std::optional<std::chrono::steady_clock::time_point> ends_;
  std::string job_name_;
  std::uint32_t end_grace_ms_;  // that programs have when our own job is over, as its daemons do
  Dvm dvm_;
  Timers timers_;  // those that run
  rm::SlurmCommands commands_;
  rm::SlurmManager manager_;
};

}  // namespace tide::head
