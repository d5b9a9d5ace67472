// The head's part in what processes do together: it sees fences, connections and groups complete,
// and tells all when one cannot be. Nobody waits for a daemon, a process or a job that is gone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "core/daemon_port.hpp"
#include "core/proc_names.hpp"

namespace tide::core {

// Where processes are.
class ProcDirectory {
 public:
  virtual ~ProcDirectory() = default;
  // The daemons that host these; nullopt: one of them is not known.
  [[nodiscard]] virtual std::optional<std::set<Rank>> hosts_of(
      const wire::ProcNames& procs) const = 0;
  // On a daemon where one of them was its whole job has ended, or the daemon was lost.
  [[nodiscard]] virtual bool any_ended(const wire::ProcNames& procs) const = 0;
};

struct Group {
  wire::ProcNames members;
  std::uint64_t context = 0;
};

// One that has begun and is not complete.
struct OpenCollective {
  int kind = 0;      // wire::CollectiveId::Kind
  std::string name;  // of a group
  wire::ProcNames participants;
  std::vector<Rank> missing;  // daemons on which not all have come
};

class CollectiveDesk {
 public:
  CollectiveDesk(const ProcDirectory& procs, DaemonPort& daemons, std::size_t message_limit)
      : procs_(procs), daemons_(daemons), limit_(message_limit) {}

  // Contributions, possibly again.
  void on_contributions(const wire::Reduction& reduction);
  void on_failed(Rank origin, const wire::CollectiveFailed& failed);
  void on_node_lost(Rank rank, const std::string& node);
  // All processes of the job on this daemon have ended: those that have not come never will.
  void on_share_ended(Rank rank, const std::string& nspace);
  void on_job_gone(const std::string& nspace);

  [[nodiscard]] bool idle() const { return open_.empty(); }
  // Those in which processes of this job take part.
  [[nodiscard]] std::vector<OpenCollective> open_of(const std::string& nspace) const;
  [[nodiscard]] const std::map<std::string, Group>& groups() const { return groups_; }

 private:
  struct Open {
    std::set<Rank> daemons;
    std::map<Rank, std::string> data;
    std::size_t bytes = 0;  // of all data
  };

  static void take(Open& open, const wire::Reduction& reduction);
  Open* find_or_open(const CollectiveKey& key);
  [[nodiscard]] bool hosts_some(Rank rank, const std::string& nspace,
                                const std::string& participants) const;
  void conclude(const CollectiveKey& key, const Status& status);
  void conclude_all(const std::vector<CollectiveKey>& keys, const Status& status);
  std::uint64_t change_groups(const CollectiveKey& key);
  void tell(const CollectiveKey& key, const std::set<Rank>& daemons, const Status& status,
            Bytes data, std::uint64_t context);
  void tell_members(const std::string& name, const Group& group, const std::string& lost);

  const ProcDirectory& procs_;
  DaemonPort& daemons_;
  std::size_t limit_;                          // of one message
  std::map<CollectiveKey, Open> open_;         // not complete
  std::map<Series, std::uint32_t> concluded_;  // the last number
  std::map<std::string, Group> groups_;
  std::uint64_t last_context_ = 0;
};

}  // namespace tide::core
