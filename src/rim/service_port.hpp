// Between a core and the PMIx server beside it: names on one side, numbers on the other.
#pragma once

#include <asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/actions.hpp"
#include "pmix/server.hpp"
#include "wire/link.pb.h"

namespace tide::rim {

class ServicePort : private pmix::Handler {
 public:
  using Post = std::function<void(core::ServiceEvent)>;

  // `directory` is its own and is made here.
  ServicePort(asio::io_context& io, Post post, std::string directory)
      : io_(io), post_(std::move(post)), directory_(std::move(directory)) {}

  // Before anything is performed. The directory is filled in here.
  Status start(pmix::ServerConfig config);
  void stop();
  // Where tools find the server; empty: there is none.
  [[nodiscard]] std::string uri() const { return server_ == nullptr ? "" : server_->uri(); }

  void perform(const core::RegisterJob& wish);
  void perform(const core::DeregisterJob& wish);
  void perform(const core::RegisterGuest& wish);
  void perform(const core::DeregisterGuest& wish);
  void perform(const core::AnswerCollective& answer);
  void perform(const core::AnswerModex& answer);
  void perform(const core::FetchModex& wish);
  void perform(const core::AnswerService& answer);
  void perform(const core::AnswerTool& answer);
  void perform(const core::DeliverEvent& event);
  void perform(const core::DeliverOutput& output);
  void process_ended(core::ProcKey proc);
  // Whether this signal may end a client of the server: then only one at a time, see SignalQueue.
  [[nodiscard]] bool ends_client(core::ProcKey proc, int signal) const;
  // Before it gets such a signal.
  void client_is_being_ended(core::ProcKey proc);
  // See Server.
  void when_settled(std::function<void()> then);
  // What the process needs to find its server is added to its surroundings.
  Status prepare(core::SpawnProc& spawn) const;

 private:
  // pmix::Handler
  void on_client_connected(const pmix::ProcName& proc) override;
  void on_client_finalized(const pmix::ProcName& proc) override;
  void on_client_lost(const pmix::ProcName& proc) override;
  void on_abort(const pmix::ProcName& who, int status, const std::string& message,
                std::vector<pmix::ProcName> whom, std::uint64_t ticket) override;
  void on_fence(std::vector<pmix::ProcName> participants, std::string data, bool collect,
                std::uint32_t timeout_s, bool broken, std::uint64_t ticket) override;
  void on_modex(const pmix::ProcName& whose, std::uint32_t timeout_s,
                std::uint64_t ticket) override;
  void on_collective(wire::CollectiveId::Kind kind, std::string name,
                     std::vector<pmix::ProcName> participants, std::string data,
                     std::uint32_t timeout_s, bool broken, std::uint64_t ticket) override;
  void on_request(wire::ServiceRequest request, std::string data, std::uint64_t ticket) override;
  void on_event(wire::EventNotice notice) override;
  void on_tool(const std::optional<pmix::ProcName>& wish, std::uint64_t ticket) override;
  void on_tool_gone(const pmix::ProcName& tool) override;

  [[nodiscard]] std::string job_directory(JobId job) const;
  void post_for(const pmix::ProcName& proc,
                const std::function<core::ServiceEvent(core::ProcKey)>& make) const;

  asio::io_context& io_;
  Post post_;
  std::string directory_;
  std::string node_;
  std::unique_ptr<pmix::Server> server_;
  std::map<JobId, std::string> nspaces_;  // of registered jobs
  std::map<std::string, JobId> jobs_;
};

}  // namespace tide::rim
