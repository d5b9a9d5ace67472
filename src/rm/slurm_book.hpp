// Which nodes a DVM has of which of its Slurm jobs: of the one that it was started in, the parent,
// and of those that were made for it since. Pure. What is given back is the job's to give: one of
// which nothing is used any more is cancelled, another becomes smaller.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "core/events.hpp"
#include "hosts/host_word.hpp"
#include "rm/host.hpp"
#include "rm/slurm_job.hpp"

namespace tide::rm {

class SlurmBook {
 public:
  // What is granted of what is here, and what Slurm has to be asked for.
  struct Share {
    std::vector<Host> here{};
    std::uint32_t count = 0;
    std::vector<hosts::HostWord> named{};
  };
  // What has to be done for a job whose nodes go back.
  struct Order {
    enum class What : std::uint8_t { kNothing, kCancel, kResize, kKeep };
    What what = What::kNothing;
    std::vector<std::string> staying{};  // of kResize
    std::vector<std::string> leaving{};  // as above
    std::vector<std::string> kept{};     // were to go, too, and can't
  };
  // What Slurm has changed by itself.
  struct News {
    std::vector<std::string> gone{};   // that were in use
    std::vector<Host> come{};          // granted from now on
    std::vector<std::string> moved{};  // in use, and their job ends at another time
  };

  // The parent, before anything is known of it but its nodes. The first `in_use` of them are what
  // the DVM is started with.
  SlurmBook(std::string parent, std::span<const Host> nodes, std::size_t in_use);

  [[nodiscard]] const std::string& parent() const { return parent_; }
  [[nodiscard]] bool knows_job(const std::string& job) const { return jobs_.contains(job); }
  [[nodiscard]] std::vector<std::string> children() const;
  [[nodiscard]] bool is_busy(const std::string& job) const;
  // An order for it is being carried out; what Slurm says of it meanwhile is not looked at. Each
  // begin has its end.
  void begin_order(const std::string& job);
  void end_order(const std::string& job);
  // Changes with each order: what Slurm said before one says nothing after it.
  [[nodiscard]] std::uint64_t age(const std::string& job) const;
  [[nodiscard]] std::optional<std::uint64_t> ends_s(const std::string& job) const;
  // As a list of jobs tells of it, without looking closer.
  [[nodiscard]] bool agrees(const SlurmRow& row) const;

  // The name under which a node is here, however it is spelt.
  [[nodiscard]] std::optional<std::string> find(std::string_view name) const;
  // Of a node; empty: it is of none.
  [[nodiscard]] std::string job_of(const std::string& node) const;
  [[nodiscard]] std::vector<std::string> nodes() const;
  [[nodiscard]] std::vector<std::string> free_names() const;
  // One that is free, and that the DVM has lost before.
  [[nodiscard]] bool is_lost(const std::string& node) const;
  [[nodiscard]] std::vector<std::string> used_of(const std::string& job) const;
  [[nodiscard]] std::vector<Host> used_hosts_of(const std::string& job) const;
  // That are neither used nor named.
  [[nodiscard]] std::uint32_t count_free_beside(std::span<const hosts::HostWord> named) const;

  // What is free here first. An error if one of those that are named is taken.
  Result<Share> grant(std::uint32_t count, std::span<const hosts::HostWord> named);
  // What was granted, and is not used after all, without a word to Slurm. The jobs that it is of.
  std::set<std::string> unuse(std::span<const Host> hosts);
  // Until when a node may be used, if that is not when its job ends.
  void promise(const std::string& node, std::optional<std::uint64_t> until_ms);
  [[nodiscard]] std::optional<std::uint64_t> promised_ms(const std::string& node) const;
  // A job that was made for us. Its nodes are granted at once.
  void add_child(const SlurmJob& job);
  // Closer word of a job that is known. What comes new is granted if it is `wanted`, else free.
  News update(const SlurmJob& job, bool wanted);
  // It is over: those of its nodes that were in use.
  std::vector<std::string> remove(const std::string& job);

  void note_started(std::span<const std::string> names);
  // Those that are not known to the DVM any more were lost: they are there for whoever names them.
  // The jobs that have some.
  std::set<std::string> free_lost(const std::set<std::string>& known);

  // They are to go back. The jobs that they are of. What never joined the DVM and is of the parent
  // is free again: a failed start is no reason to make it smaller.
  std::set<std::string> give_back(std::span<const std::string> names, bool never_joined);
  [[nodiscard]] Order order_for(const std::string& job) const;
  [[nodiscard]] bool can_shrink(const std::string& job) const;
  // It was made smaller, or can't be: what was kept is free to be had again.
  void was_resized(const std::string& job, const Order& order);
  // It can't be made smaller (any more): what was to go back is free to be had again.
  void cannot_resize(const std::string& job);

 private:
  enum class State : std::uint8_t { kFree, kGranted, kStarted, kLost, kGoesBack };
  struct Node {
    Host host{};
    std::string job{};
    State state = State::kFree;
    std::optional<std::uint64_t> promised_ms{};
  };
  struct Job {
    std::optional<std::uint64_t> ends_s{};
    std::string batch_host{};
    bool can_shrink = true;
    std::uint32_t orders = 0;  // that are being carried out
    std::uint64_t age = 0;
  };

  static bool is_used(const Node& node) {
    return node.state == State::kGranted || node.state == State::kStarted;
  }
  void set_back(Node& node);

  std::string parent_;
  std::map<std::string, Job> jobs_;
  std::vector<std::string> order_;     // of the nodes, as they came
  std::map<std::string, Node> nodes_;  // by name
};

}  // namespace tide::rm
