#include "rim/service_port.hpp"

#include <sys/stat.h>
#include <csignal>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/log.hpp"

namespace tide::rim {
namespace {

constexpr mode_t kPrivate = 0700;
constexpr int kWalks = 10;

Status make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), kPrivate) == 0) return ok_status();
  return system_error("cannot make " + path, errno);
}

// libpmix empties it at the same time, and what is gone meanwhile ends a walk through it.
void remove_directory(const std::string& path) {
  std::error_code error;
  for (int walk = 0; walk < kWalks; ++walk) {
    std::filesystem::remove_all(path, error);
    if (error != std::errc::no_such_file_or_directory) break;
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    log_warning("cannot remove " + path + ": " + error.message());
  }
}

wire::ProcName to_wire(const pmix::ProcName& name) {
  wire::ProcName out;
  out.set_nspace(name.nspace);
  out.set_rank(name.rank);  // the word for all ranks is the same on both sides
  return out;
}

wire::ProcNames to_wire(const std::vector<pmix::ProcName>& names) {
  wire::ProcNames out;
  for (const auto& name : names) *out.add_names() = to_wire(name);
  return out;
}

pmix::JobDescription description_of(const wire::LaunchCommon& launch, const std::string& node,
                                    std::string directory) {
  pmix::JobDescription out;
  out.nspace = launch.nspace();
  for (const auto& app : launch.apps()) {
    out.apps.push_back({app.first_rank(),
                        app.size(),
                        {app.argv().begin(), app.argv().end()},
                        app.working_directory()});
  }
  std::string cpuset;
  for (const auto& host : launch.hosts()) {
    auto& place = out.nodes.emplace_back(pmix::JobDescription::Node{host.node(), {}});
    if (!host.cpuset().empty()) cpuset = host.cpuset();
    place.all_cpus = cpuset;
    auto& ranks = place.ranks;
    for (const auto& range : host.ranks()) {
      for (std::uint64_t rank = range.first(); rank <= range.last(); ++rank) {
        ranks.push_back(static_cast<std::uint32_t>(rank));
      }
    }
  }
  out.this_node = node;
  out.universe_size = launch.universe_size();
  out.session_directory = std::move(directory);
  out.stop_at = launch.stop_at();
  out.debug_target = launch.beside();
  if (!launch.parent_nspace().empty()) {
    out.parent = pmix::ProcName{launch.parent_nspace(), launch.parent_rank()};
  }
  return out;
}

void add(std::vector<wire::EnvDirective>& list, wire::EnvDirective::Kind kind,
         const pmix::ProcEnvironment::Variables& variables) {
  for (const auto& [name, value] : variables) {
    wire::EnvDirective directive;
    directive.set_kind(kind);
    directive.set_name(name);
    directive.set_value(value);
    list.push_back(std::move(directive));
  }
}

}  // namespace

Status ServicePort::start(pmix::ServerConfig config) {
  node_ = config.node;
  if (auto made = make_directory(directory_); !made) return made;
  config.directory = directory_;
  auto server = pmix::Server::start(std::move(config), io_, *this);
  if (!server) return server.error();
  server_ = std::move(*server);
  return ok_status();
}

void ServicePort::stop() {
  server_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

std::string ServicePort::job_directory(JobId job) const {
  return directory_ + "/job." + std::to_string(job.value());
}

// ---- from the core ----

void ServicePort::perform(const core::RegisterJob& wish) {
  const std::string directory = job_directory(wish.job);
  core::JobRegistered registered{wish.job, wish.launch->attempt()};
  registered.status = server_ == nullptr
                          ? Status(Error{ErrorCode::kUnavailable, "this node has no PMIx server"})
                          : make_directory(directory);
  if (!registered.status) return post_(std::move(registered));
  nspaces_[wish.job] = wish.launch->nspace();
  jobs_[wish.launch->nspace()] = wish.job;
  server_->register_job(description_of(*wish.launch, node_, directory),
                        [this, registered](const Status& status) mutable {
                          registered.status = status;
                          post_(std::move(registered));
                        });
}

void ServicePort::perform(const core::DeregisterJob& wish) {
  const auto nspace = nspaces_.extract(wish.job);
  if (nspace.empty()) return;
  jobs_.erase(nspace.mapped());
  if (server_ != nullptr) server_->deregister_job(nspace.mapped());
  remove_directory(job_directory(wish.job));
}

// Its processes are elsewhere, so it needs no directory of its own.
void ServicePort::perform(const core::RegisterGuest& wish) {
  if (server_ == nullptr) {
    const Error none{ErrorCode::kUnavailable, "this node has no PMIx server"};
    return post_(core::GuestRegistered{wish.launch->nspace(), none});
  }
  server_->register_job(description_of(*wish.launch, node_, directory_),
                        [this, nspace = wish.launch->nspace()](const Status& status) {
                          post_(core::GuestRegistered{nspace, status});
                        });
}

void ServicePort::perform(const core::DeregisterGuest& wish) {
  if (server_ != nullptr) server_->deregister_job(wish.nspace);
}

void ServicePort::perform(const core::AnswerCollective& answer) {
  if (server_ == nullptr) return;
  server_->collective_done(answer.ticket, answer.status, std::string(answer.data.view()),
                           answer.context);
}

void ServicePort::perform(const core::AnswerService& answer) {
  if (server_ != nullptr) server_->answer(answer.ticket, answer.answer);
}

void ServicePort::perform(const core::AnswerTool& answer) {
  if (server_ == nullptr) return;
  server_->name_tool(answer.ticket, answer.status, {answer.name.nspace(), answer.name.rank()});
}

void ServicePort::perform(const core::DeliverEvent& event) {
  if (server_ != nullptr) server_->notify(event.notice);
}

void ServicePort::perform(const core::DeliverOutput& output) {
  if (server_ == nullptr) return;
  server_->deliver_output({output.source.nspace(), output.source.rank()}, output.stream,
                          std::string(output.data.view()), [this, delivery = output.delivery] {
                            post_(core::OutputDelivered{delivery});
                          });
}

void ServicePort::perform(const core::AnswerModex& answer) {
  if (server_ == nullptr) return;
  server_->modex_done(answer.ticket, answer.status, std::string(answer.data.view()));
}

void ServicePort::perform(const core::FetchModex& wish) {
  if (server_ == nullptr) return;
  const auto what = wish.for_strangers ? pmix::Modex::kPutAndKeys : pmix::Modex::kPut;
  server_->fetch_modex({wish.whose.nspace(), wish.whose.rank()}, what,
                       [this, fetch = wish.fetch](Result<std::string> found) {
                         core::ModexFetched fetched;
                         fetched.fetch = fetch;
                         if (found) {
                           fetched.data = Bytes(std::move(*found));
                         } else {
                           fetched.status = found.error();
                         }
                         post_(std::move(fetched));
                       });
}

bool ServicePort::ends_client(core::ProcKey proc, int signal) const {
  const auto nspace = nspaces_.find(proc.job);
  const bool ends = signal == SIGTERM || signal == SIGKILL;  // the steps by which jobs are ended
  return ends && server_ != nullptr && nspace != nspaces_.end() &&
         server_->has_client({nspace->second, proc.rank.value()});
}

void ServicePort::client_is_being_ended(core::ProcKey proc) {
  const auto nspace = nspaces_.find(proc.job);
  if (server_ == nullptr || nspace == nspaces_.end()) return;
  server_->process_is_being_ended({nspace->second, proc.rank.value()});
}

void ServicePort::when_settled(std::function<void()> then) {
  server_ == nullptr ? then() : server_->when_settled(std::move(then));
}

void ServicePort::process_ended(core::ProcKey proc) {
  const auto nspace = nspaces_.find(proc.job);
  if (server_ == nullptr || nspace == nspaces_.end()) return;
  server_->process_ended({nspace->second, proc.rank.value()});
}

Status ServicePort::prepare(core::SpawnProc& spawn) const {
  const auto nspace = nspaces_.find(spawn.proc.job);
  if (server_ == nullptr || nspace == nspaces_.end()) {
    return Error{ErrorCode::kUnavailable, "the PMIx server of this node does not know the job"};
  }
  const pmix::ProcName name{nspace->second, spawn.proc.rank.value()};
  if (spawn.again) server_->process_starts_again(name);
  const auto environment = server_->environment_of(name);
  if (!environment) return environment.error();
  add(spawn.environment, wire::EnvDirective::SET, environment->required);
  add(spawn.environment, wire::EnvDirective::DEFAULT, environment->defaults);
  return ok_status();
}

// ---- from the server ----

void ServicePort::post_for(const pmix::ProcName& proc,
                           const std::function<core::ServiceEvent(core::ProcKey)>& make) const {
  const auto job = jobs_.find(proc.nspace);
  if (job != jobs_.end()) post_(make({job->second, ProcRank(proc.rank)}));
}

void ServicePort::on_client_connected(const pmix::ProcName& proc) {
  post_for(proc, [](core::ProcKey key) { return core::ProcRegistered{key}; });
}

void ServicePort::on_client_finalized(const pmix::ProcName& proc) {
  log_note("odls", 2,
           "process " + std::to_string(proc.rank) + " of " + proc.nspace + " has finalized PMIx");
}

// Its end is seen by who started it.
void ServicePort::on_client_lost(const pmix::ProcName& proc) {
  log_note(
      "odls", 2,
      "process " + std::to_string(proc.rank) + " of " + proc.nspace + " left PMIx without a word");
}

void ServicePort::on_abort(const pmix::ProcName& who, int status, const std::string& message,
                           std::vector<pmix::ProcName> whom, std::uint64_t ticket) {
  post_for(who, [&](core::ProcKey key) {
    return core::ProcAborted{key, status, message, to_wire(whom)};
  });
  server_->done(ticket, ok_status());
}

void ServicePort::on_fence(std::vector<pmix::ProcName> participants, std::string data,
                           bool /*collect*/, std::uint32_t timeout_s, bool broken,
                           std::uint64_t ticket) {
  on_collective(wire::CollectiveId::FENCE, {}, std::move(participants), std::move(data), timeout_s,
                broken, ticket);
}

void ServicePort::on_collective(wire::CollectiveId::Kind kind, std::string name,
                                std::vector<pmix::ProcName> participants, std::string data,
                                std::uint32_t timeout_s, bool broken, std::uint64_t ticket) {
  core::CollectiveEntered entered;
  entered.kind = kind;
  entered.name = std::move(name);
  entered.broken = broken;
  entered.ticket = ticket;
  entered.participants = to_wire(participants);
  entered.data = Bytes(std::move(data));
  entered.timeout_ms = timeout_s * 1000;
  post_(std::move(entered));
}

void ServicePort::on_request(wire::ServiceRequest request, std::string data, std::uint64_t ticket) {
  post_(core::ServiceAsked{ticket, std::move(request), Bytes(std::move(data))});
}

void ServicePort::on_event(wire::EventNotice notice) {
  post_(core::EventRaised{std::move(notice)});
}

void ServicePort::on_tool(const std::optional<pmix::ProcName>& wish, std::uint64_t ticket) {
  post_(core::ToolArrived{ticket, wish ? to_wire(*wish) : wire::ProcName()});
}

void ServicePort::on_tool_gone(const pmix::ProcName& tool) {
  post_(core::ToolGone{to_wire(tool)});
}

void ServicePort::on_modex(const pmix::ProcName& whose, std::uint32_t timeout_s,
                           std::uint64_t ticket) {
  post_(core::ModexAsked{ticket, to_wire(whose), timeout_s * 1000});
}

}  // namespace tide::rim
