// The head's part in what processes and tools ask of the DVM: it answers, or passes on what one
// wants to know of another. Nobody waits for a daemon or a job that is gone.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "core/allocation_services.hpp"
#include "core/collective_desk.hpp"
#include "core/message_limit.hpp"
#include "core/publish_board.hpp"
#include "core/requester.hpp"

namespace tide::core {

// What only whoever keeps the jobs can do.
class JobServices : public ProcDirectory {
 public:
  // Where the processes of a job are, without their environment; null: not (yet) known.
  [[nodiscard]] virtual std::shared_ptr<const wire::LaunchCommon> particulars_of(
      const std::string& nspace) const = 0;
  // Answered when its processes run or never will.
  virtual void spawn(const Requester& from, const wire::ServiceRequest& request, bool by_tool) = 0;
  // Who asked waits no longer for the job that this request was to start.
  virtual void cancel_spawn(const Requester& from) = 0;
  virtual Status control(const wire::ServiceRequest& request) = 0;
  // Answered when there is room for more.
  virtual void push(const Requester& from, const wire::ServiceRequest& request,
                    const Bytes& data) = 0;
  virtual Status pull(Rank daemon, const wire::ServiceRequest& request) = 0;
  virtual void on_tool_gone(const wire::ProcName& tool) = 0;
  // Without a node, what is local is so to the daemon that was asked.
  [[nodiscard]] virtual wire::QueryReply reply_to(Rank asked,
                                                  const wire::Question& question) const = 0;
};

class ServiceDesk {
 public:
  ServiceDesk(JobServices& jobs, AllocationServices& allocations, DaemonPort& daemons,
              std::size_t message_limit = kDefaultMessageLimit);

  void on_request(Rank origin, const wire::ServiceRequest& request, const Bytes& data);
  void on_cancel(Rank origin, const wire::ServiceCancel& cancel);
  void on_modex_request(Rank origin, const wire::ModexRequest& request);
  void on_modex_answer(Rank owner, const wire::ModexAnswer& answer, const Bytes& data);
  void on_event(Rank origin, const wire::EventNotice& notice);
  void on_tool_joined(Rank origin, const wire::ToolJoined& joined);
  void on_tool_left(Rank origin, const wire::ToolLeft& left);

  void on_node_lost(Rank rank, const std::string& node);
  void on_job_gone(const std::string& nspace);

  [[nodiscard]] CollectiveDesk& collectives() { return collectives_; }
  [[nodiscard]] const CollectiveDesk& collectives() const { return collectives_; }
  [[nodiscard]] bool idle() const {
    return collectives_.idle() && modexes_.empty() && board_.nobody_waits();
  }
  [[nodiscard]] std::size_t published() const { return board_.size(); }
  [[nodiscard]] std::size_t tools() const { return tools_.size(); }
  [[nodiscard]] const std::map<std::string, Group>& groups() const { return collectives_.groups(); }

 private:
  struct Modex {
    wire::ProcName whose;
    Rank owner;
  };
  using ModexKey = std::pair<Rank, std::uint64_t>;  // who asked, and its token

  [[nodiscard]] bool is_tool_at(Rank daemon, const wire::ProcName& who) const;
  Status publish(Rank origin, const wire::ServiceRequest& request);
  void unpublish(const Requester& from, const wire::ServiceRequest& request);
  void allocate(const Requester& from, const wire::ServiceRequest& request);
  void query(const Requester& from, const wire::Query& query);
  void tell_time_left(const wire::Question& question, wire::QueryReply& reply) const;
  void introduce(const Requester& from, const std::string& nspace);
  void answer_modex(const ModexKey& key, const Status& status, const Bytes& data);
  [[nodiscard]] std::set<Rank> audience_of(const wire::EventNotice& notice) const;
  void drop_tool(ProcId tool);

  JobServices& jobs_;
  AllocationServices& allocations_;
  DaemonPort& daemons_;
  std::size_t limit_;  // of one message
  CollectiveDesk collectives_;
  PublishBoard board_;
  std::map<ModexKey, Modex> modexes_;
  std::map<ProcId, Rank> tools_;                  // and where they are attached
  std::map<std::string, std::set<Rank>> guests_;  // daemons that know a job they do not host
};

}  // namespace tide::core
