// The files that jobs bring, as the head sees it. Pieces come from the client one after the other
// and go down the tree at once, to all daemons that the job may use; the daemons say together how
// far they are, and the client gets credit for more when all of them are. So what is under way is
// bounded by the credit, however large the files and however slow the slowest daemon.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/actions.hpp"
#include "core/daemon_port.hpp"
#include "core/notes.hpp"
#include "core/rank_set.hpp"
#include "core/roster.hpp"
#include "core/timers.hpp"
#include "wire/limits.hpp"

namespace tide::core {

// So many pieces a daemon takes before it says so: a part of the window that a job has, so the next
// ones are on their way meanwhile.
inline constexpr std::uint32_t kFilesAckEvery = 4;

struct FileDeskConfig {
  std::uint32_t window_chunks = 16;   // of one job, under way
  std::uint32_t jobs_at_once = 4;     // the others wait for their turn
  std::uint32_t timeout_ms = 60'000;  // without any progress
  std::uint32_t chunk_bytes = kMaxFileChunkBytes;
};

class FileDeskListener {
 public:
  virtual ~FileDeskListener() = default;
  // They are on all daemons. `what`: "2 files on 4 nodes".
  virtual void on_files_staged(JobId job, std::string what) = 0;
  virtual void on_files_failed(JobId job, std::string message) = 0;
  // Nothing of them is left.
  virtual void on_files_removed(JobId job) = 0;
};

class FileDesk {
 public:
  FileDesk(FileDeskConfig config, Verbosity verbosity, const Roster& roster, DaemonPort& daemons,
           TimerBook& timers, FileDeskListener& listener, Actions& out);

  struct Order {
    JobId job;
    std::string nspace;
    ClientId client;  // who has the files; of no meaning without any
    std::uint32_t request = 0;
    std::vector<wire::StagedFile> files;  // none: only the directory is made
    std::set<Rank> daemons;
  };
  void begin(Order order);
  void take(ClientId client, const wire::ClientFileChunk& chunk, const Bytes& data);
  void on_reduction(const wire::Reduction& reduction);
  void on_failed(Rank daemon, const wire::FilesFailed& failed);
  void on_node_lost(Rank daemon);

  // True: nothing of the job's files is on any node. Else they are being removed, and the listener
  // is told.
  bool remove(JobId job);
  // Waits for nobody any more; the daemons go on removing.
  void abandon(JobId job);
  bool handle_timer(TimerKind kind, std::uint32_t subject);

  // Whom it waits for; nobody: for the client, or for its turn.
  struct Wait {
    bool removes = false;  // else the files are on their way
    std::vector<Rank> daemons;
  };
  [[nodiscard]] std::optional<Wait> wait_of(JobId job) const;
  // Whether the daemon has all that the job brings.
  [[nodiscard]] bool knows(JobId job) const { return stagings_.contains(job); }
  [[nodiscard]] bool has_all(JobId job, Rank daemon) const;

 private:
  enum class Step : std::uint8_t { kWaiting, kSending, kStaged, kFailed, kRemoving };
  struct Staging {
    Order order;
    Step step = Step::kWaiting;
    std::string participants;                        // serialized
    std::size_t file = 0;                            // whose pieces come
    bool in_file = false;                            // its first piece has come
    std::uint32_t sent = 0;                          // pieces
    std::uint32_t granted = 0;                       // pieces that the client may have sent by now
    bool complete = false;                           // the last one was sent
    std::map<Rank, std::uint32_t> taken;             // by each daemon, the pieces up to here
    std::map<std::uint32_t, std::uint32_t> counted;  // how many are there
    std::set<Rank> removing;                         // not heard of yet
  };

  void start_waiting();
  void start(Staging& staging);
  void send(Staging& staging, wire::FileChunk chunk, const Bytes& data);
  static std::uint32_t level(const Staging& staging);
  void grant(Staging& staging);
  void advance(Staging& staging, Rank daemon, std::uint32_t number);
  void drop(Staging& staging, Rank daemon);
  void progress(Staging& staging);
  void fail(Staging& staging, std::string message);
  void finish_removal(JobId job);
  void order_removal(const Staging& staging, bool forget);
  void watch(JobId job);
  // Has pieces that it should have spoken of.
  static bool is_behind(const Staging& staging, std::uint32_t taken);
  [[nodiscard]] std::string whom_it_waits_for(const Staging& staging) const;
  [[nodiscard]] std::string place(Rank daemon) const;
  Staging* find(JobId job);

  FileDeskConfig config_;
  Notes notes_;
  const Roster& roster_;
  DaemonPort& daemons_;
  TimerBook& timers_;
  FileDeskListener& listener_;
  Actions& out_;
  std::map<JobId, Staging> stagings_;
  std::deque<JobId> waiting_;
  std::uint32_t sending_ = 0;  // jobs
};

}  // namespace tide::core
