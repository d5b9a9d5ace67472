// Slurm asked by its own commands: squeue, scontrol, salloc, scancel. They are executed as they
// are, by no shell, and end after a time if they don't by themselves.
//
// A job for more nodes is an salloc that runs `cat`, which tells the environment it was given, and
// so the nodes, and then reads a pipe of ours: when that closes, because the job is given back or
// because we are no more, cat ends, and salloc gives the job back to Slurm. While it waits in the
// queue it does not look at the pipe: it is told by a signal, by us or by the kernel when we are no
// more. When the job ends by itself salloc ends cat, and then itself.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "exec/command.hpp"
#include "rm/slurm_control.hpp"

namespace tide::rm {

struct SlurmCommandsConfig {
  // Of each; of salloc until it has granted, or said that the request waits.
  std::uint32_t timeout_ms = 20'000;
  std::uint32_t grace_ms = 5'000;          // for salloc, to take its request back
  std::vector<std::string> salloc_args{};  // more of what people want of new jobs
};

class SlurmCommands final : public SlurmControl {
 public:
  SlurmCommands(asio::io_context& io, SlurmCommandsConfig config);
  ~SlurmCommands() override;
  SlurmCommands(const SlurmCommands&) = delete;
  SlurmCommands& operator=(const SlurmCommands&) = delete;
  SlurmCommands(SlurmCommands&&) = delete;
  SlurmCommands& operator=(SlurmCommands&&) = delete;

  void show(const std::string& job, Then<Result<SlurmJob>> then) override;
  void list(Then<Result<std::vector<SlurmRow>>> then) override;
  std::unique_ptr<SlurmHold> allocate(const SlurmWish& wish, SlurmHold::Events events) override;
  void resize(const std::string& job, std::span<const std::string> staying,
              Then<Status> then) override;
  void prolong(const std::string& job, std::uint32_t minutes, Then<Status> then) override;
  void cancel(const std::string& job, const std::string& name, Then<Status> then) override;
  void settle(std::uint32_t limit_ms, Then<bool> then) override;
  [[nodiscard]] bool gives_back(pid_t pid) const override;

 private:
  class Hold;
  using OnEnd = std::function<void(const Result<exec::CommandEnd>&)>;

  std::shared_ptr<exec::Command> run(std::vector<std::string> argv, OnEnd then);
  void question(std::vector<std::string> argv, OnEnd then);
  void order(std::vector<std::string> argv, Then<Status> then);
  void look_whether_settled();

  asio::io_context& io_;
  SlurmCommandsConfig config_;
  exec::Environment environment_;
  std::set<std::shared_ptr<exec::Command>> running_;    // and salloc that gives its job back
  std::set<std::shared_ptr<exec::Command>> questions_;  // of these
  std::set<const Hold*> holds_;
  asio::steady_timer settle_timer_;
  Then<bool> settled_;
  // Handlers that outlive this see that it is gone.
  std::shared_ptr<const bool> lifetime_ = std::make_shared<const bool>(true);
};

// The command line of a request for nodes.
std::vector<std::string> salloc_argv(const SlurmWish& wish,
                                     const std::vector<std::string>& more_args);
// The job of which an environment tells, its entries apart by NUL; nothing while it is not all
// there.
std::optional<Result<SlurmJob>> slurm_job_in_environment(std::string_view entries);
// What salloc has said of the job that it asks for; nothing as long as it has said nothing of it.
struct SallocWords {
  std::string job{};
  bool waits = false;       // in the queue
  bool given_back = false;  // Slurm has it
};
std::optional<SallocWords> read_salloc(std::string_view errors);

}  // namespace tide::rm
