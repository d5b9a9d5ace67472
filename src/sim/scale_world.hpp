// One huge DVM of real cores: all messages take the same time, nothing is lost and nobody is slow,
// so that what is counted follows from the tree alone.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "core/daemon_core.hpp"
#include "core/head_core.hpp"

namespace tide::sim {

// Messages by wire::LinkMessage::BodyCase.
struct Traffic {
  static constexpr std::size_t kKinds = wire::LinkMessage::kLetGo + 1;  // the highest
  std::array<std::uint64_t, kKinds> messages{};
  std::array<std::uint64_t, 2> reductions{};  // by wire::ReductionId::Kind
  std::uint64_t launches = 0;                 // those of the messages down that start processes
  std::uint64_t bytes = 0;
  [[nodiscard]] std::uint64_t of(wire::LinkMessage::BodyCase kind) const {
    return messages.at(static_cast<std::size_t>(kind));
  }
  [[nodiscard]] std::uint64_t all() const;
  [[nodiscard]] Traffic since(const Traffic& earlier) const;
};

class ScaleWorld {
 public:
  static constexpr std::uint64_t kRunUs = 500'000;  // of a process

  ScaleWorld(std::uint32_t daemons, std::uint32_t radix, std::uint32_t latency_us);
  ScaleWorld(const ScaleWorld&) = delete;
  ScaleWorld& operator=(const ScaleWorld&) = delete;
  ScaleWorld(ScaleWorld&&) = delete;
  ScaleWorld& operator=(ScaleWorld&&) = delete;
  ~ScaleWorld() = default;

  void start();
  void broadcast();   // an operation that does nothing
  void submit_job();  // with one process on every daemon that is left
  void kill(Rank rank);
  void grow(std::uint32_t daemons);
  void shrink(const std::vector<Rank>& ranks);
  // Whatever happens by itself in so much virtual time.
  void run_for(std::uint64_t ms);

  [[nodiscard]] std::uint64_t now_us() const { return now_us_; }
  [[nodiscard]] const Traffic& traffic() const { return traffic_; }
  [[nodiscard]] const core::HeadCore& head() const { return *head_; }
  [[nodiscard]] const core::DaemonCore* daemon(Rank rank) const;  // nullptr: dead
  // When it happened last, if it did.
  [[nodiscard]] std::optional<std::uint64_t> ready_us() const { return ready_us_; }
  [[nodiscard]] std::optional<std::uint64_t> completed_us(Serial serial) const;
  [[nodiscard]] std::optional<std::uint64_t> job_ended_us() const { return job_ended_us_; }
  [[nodiscard]] int job_exit_status() const { return job_exit_status_; }
  // Changes of size that were said to be done, and when the last of them was.
  [[nodiscard]] std::uint64_t changes_done() const { return changes_done_; }
  [[nodiscard]] std::uint64_t changed_us() const { return changed_us_; }
  // How often the tree was computed anew because somebody left: by the head and all daemons, also
  // those that are gone.
  [[nodiscard]] std::uint64_t repairs() const;

  // For measuring memory: afterwards the world is of no more use.
  void drop_daemons() { daemons_.clear(); }
  void drop_head() { head_.reset(); }

 private:
  using HostId = std::uint32_t;  // the rank, and the port; 0 is the head
  struct Link {
    std::array<HostId, 2> host{};  // 0 is the one that connected
    std::array<bool, 2> open{};
  };
  struct Happening {
    HostId host = 0;
    std::variant<core::DaemonEvent, core::HeadEvent> event;
  };

  static LinkId end_id(std::size_t link, std::size_t end) { return LinkId(link * 2 + end); }
  void after(std::uint64_t delay_us, HostId host, core::DaemonEvent event);
  void after(std::uint64_t delay_us, core::HeadEvent event);
  void happen(Happening happening);
  bool link_changes(const core::DaemonEvent& event);
  [[nodiscard]] bool alive(HostId host) const;

  void perform_all(HostId self, core::Actions actions);
  void perform(HostId self, core::Action& action);
  void launch(const core::LaunchTarget& target);
  void connect(HostId from, const core::Connect& wish);
  void send(const core::Send& message);
  std::vector<core::NodeRequest> more_nodes(std::uint32_t count);
  void grant(const core::AskForNodes& ask);
  void take_reply(const core::Reply& reply);
  void close(const core::CloseLink& closing);
  void spawn(HostId host, core::ProcKey proc);
  [[nodiscard]] core::LinkUp link_up(std::size_t link, std::size_t end) const;

  std::uint32_t radix_;
  std::uint32_t latency_us_;
  std::uint32_t daemons_wanted_;
  std::unique_ptr<core::HeadCore> head_;
  std::map<HostId, std::unique_ptr<core::DaemonCore>> daemons_;
  struct Ticket {
    Incarnation incarnation;
    std::uint32_t campaign = 0;
  };
  std::map<HostId, Ticket> tickets_;
  std::vector<Link> links_;
  std::map<HostId, std::vector<std::size_t>> links_of_;
  std::map<std::uint64_t, std::vector<Happening>> agenda_;  // by time
  std::uint64_t now_us_ = 0;
  std::uint64_t next_client_ = 1;
  Traffic traffic_;
  std::optional<std::uint64_t> ready_us_;
  std::map<Serial, std::uint64_t> completed_us_;
  std::optional<std::uint64_t> job_ended_us_;
  int job_exit_status_ = -1;
  std::uint32_t nodes_given_ = 0;
  std::uint64_t changes_done_ = 0;
  std::uint64_t changed_us_ = 0;
  std::uint64_t repairs_of_the_gone_ = 0;
};

}  // namespace tide::sim
