#include "pmix/server.hpp"

#include <pmix.h>
#include <pmix_server.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "pmix/bridge.hpp"
#include "pmix/connections.hpp"
#include "pmix/convert.hpp"
#include "pmix/event_notice.hpp"
#include "pmix/info_list.hpp"
#include "pmix/job_info.hpp"
#include "pmix/library.hpp"
#include "pmix/modex_fetches.hpp"
#include "pmix/output.hpp"
#include "pmix/own_keys.hpp"
#include "pmix/proc_environment.hpp"
#include "pmix/pulls.hpp"
#include "pmix/settling.hpp"
#include "pmix/tools.hpp"
#include "pmix/upcalls.hpp"
#include "pmix/upcalls_events.hpp"

namespace tide::pmix {
namespace {

const ProcName kNobody{"nobody", 0};  // no namespace of ours is called so
Error not_here(const ProcName& proc) {
  const std::string rank = proc.rank == kAllRanks ? "" : ":" + std::to_string(proc.rank);
  return Error{ErrorCode::kNotFound, "PMIx knows no local process " + proc.nspace + rank};
}

// What a registration waits for: the namespace and each process that is here.
struct Registration {
  InfoArray info;
  std::size_t open = 0;
  pmix_status_t status = PMIX_SUCCESS;
  std::function<void(Status)> done;

  void step(pmix_status_t result) {
    if (status == PMIX_SUCCESS) status = result;
    if (--open > 0) return;
    done(status == PMIX_SUCCESS ? ok_status() : from_pmix(status, "libpmix refuses the job"));
  }
};

}  // namespace

// Hears what happens before the user's handler does, because it has to know who is connected.
class Server::Impl : public Handler {
 public:
  Impl(ServerConfig config, asio::io_context& io, Handler& handler)
      : config_(std::move(config)),
        library_(config_),
        handler_(handler),
        bridge_(std::make_shared<Bridge>(io, *this)),
        settling_(io, [this] { return unsettled_connections(library_.guard().port()); }),
        tools_(bridge_->door()),
        outputs_(*bridge_),
        fetches_(*bridge_),
        pulls_(*bridge_) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() override {
    bridge_->close();
    library_.stop();
  }

  Status start();
  void register_job(const JobDescription& job, std::function<void(Status)> done);
  void deregister_job(const std::string& nspace);
  void process_ended(const ProcName& proc);
  void process_starts_again(const ProcName& proc);
  [[nodiscard]] bool has_client(const ProcName& proc) const {
    const Job* job = job_of(proc);
    return job != nullptr && job->connected.contains(proc.rank);
  }
  void when_settled(std::function<void()> then);
  void process_is_being_ended(const ProcName& proc) {
    bridge_->local_waiters().is_being_ended(proc);
  }
  Result<ProcEnvironment> environment_of(const ProcName& proc);
  void fetch_modex(const ProcName& whose, Modex what, ModexFetches::Done done);
  void notify(const wire::EventNotice& notice);
  Bridge& bridge() { return *bridge_; }
  Outputs& outputs() { return outputs_; }
  [[nodiscard]] const Library& library() const { return library_; }

 private:
  struct Job {
    JobDescription description;
    std::vector<std::uint32_t> local_ranks;
    bool crowded = false;                    // more processes on this host than processors
    std::multiset<std::uint32_t> connected;  // a rank may have several processes
    std::set<std::uint32_t> finalized;
    std::set<std::uint32_t> lost;  // disconnected without that
    std::set<std::uint32_t> gone;  // ended without that
    std::set<std::uint32_t> deregistered;
    bool had_client = false;  // one has connected at some time
    bool leaving = false;     // to be deregistered when nobody is connected
  };

  [[nodiscard]] const Job* job_of(const ProcName& proc) const;
  [[nodiscard]] bool may_be_here(const wire::ProcName& target) const;
  void begin_registration(const std::string& nspace, const Job& job,
                          const std::shared_ptr<Registration>& waiting);
  [[nodiscard]] bool misses_somebody(const std::vector<ProcName>& participants) const;
  void after_rounds(std::size_t rounds, std::function<void()> then);
  void let_go(const std::string& nspace);
  void forget(const std::string& nspace);
  void register_client(const ProcName& proc, Bridge::Then then);
  void deregister_client(const ProcName& proc, Bridge::Then then = nullptr);
  void give_up_client(const ProcName& proc);
  void deregister_from_library(const std::string& nspace, const Job& job);
  bool disconnected(const ProcName& proc);  // false: another of that rank is connected
  void forget_tool_in_library(const ProcName& tool);
  void connection_answered();
  void on_client_connected(const ProcName& proc) override;
  void on_client_finalized(const ProcName& proc) override;
  void on_client_lost(const ProcName& proc) override;
  void on_abort(const ProcName& who, int status, const std::string& message,
                std::vector<ProcName> whom, std::uint64_t ticket) override {
    handler_.on_abort(who, status, message, std::move(whom), ticket);
  }
  void on_fence(std::vector<ProcName> participants, std::string data, bool collect,
                std::uint32_t timeout_s, bool broken, std::uint64_t ticket) override {
    broken = broken || misses_somebody(participants);
    handler_.on_fence(std::move(participants), std::move(data), collect, timeout_s, broken, ticket);
  }
  void on_modex(const ProcName& whose, std::uint32_t timeout_s, std::uint64_t ticket) override {
    handler_.on_modex(whose, timeout_s, ticket);
  }
  void on_collective(wire::CollectiveId::Kind kind, std::string name,
                     std::vector<ProcName> participants, std::string data, std::uint32_t timeout_s,
                     bool broken, std::uint64_t ticket) override {
    broken = broken || misses_somebody(participants);
    handler_.on_collective(kind, std::move(name), std::move(participants), std::move(data),
                           timeout_s, broken, ticket);
  }
  void on_request(wire::ServiceRequest request, std::string data, std::uint64_t ticket) override;
  void on_event(wire::EventNotice notice) override {
    // What notify() tells in our own name comes back here.
    const bool own =
        notice.source().nspace() == config_.nspace && notice.source().rank() == config_.rank;
    if (!own) handler_.on_event(std::move(notice));
  }
  void on_tool(const std::optional<ProcName>& name, std::uint64_t ticket) override;
  void on_tool_gone(const ProcName& tool) override;

  ServerConfig config_;
  Library library_;
  Handler& handler_;
  std::shared_ptr<Bridge> bridge_;
  Settling settling_;
  Tools tools_;
  Outputs outputs_;
  ModexFetches fetches_;
  Pulls pulls_;
  bool release_posted_ = false;
  std::map<std::string, Job> jobs_;
};

Status Server::Impl::start() {
  if (auto ready = library_.prepare(); !ready) return ready;
  if (!bridge_->install()) {
    return Error{ErrorCode::kAlreadyExists, "this process has had its PMIx server"};
  }
  bridge_->door().open(config_.nspace + "-tool-" + std::to_string(config_.rank) + "-" +
                       std::to_string(::getpid()) + "-");
  if (auto started = library_.start(); !started) return started;
  begin_to_hear(*bridge_);
  return ok_status();
}

void Server::Impl::register_job(const JobDescription& job, std::function<void(Status)> done) {
  const auto refuse = [&](Error error) {
    bridge_->post([done, error = std::move(error)](Handler&) { done(error); });
  };
  if (jobs_.contains(job.nspace)) {
    refuse(Error{ErrorCode::kAlreadyExists, "PMIx knows the job " + job.nspace + " already"});
    return;
  }
  if (const auto usable = check_job(job); !usable) return refuse(usable.error());
  auto info = job_info(job);
  if (!info) return refuse(info.error());
  Job known;
  known.description = job;
  if (const auto* here = find_node(job, job.this_node)) known.local_ranks = here->ranks;
  known.crowded = is_crowded(job, config_.shared_host || config_.shared_processors);
  const auto waiting = std::make_shared<Registration>();
  waiting->info = std::move(info).value();
  waiting->done = [this, nspace = job.nspace, done = std::move(done)](const Status& status) {
    if (!status) deregister_job(nspace);
    done(status);
  };
  begin_registration(job.nspace, jobs_.emplace(job.nspace, std::move(known)).first->second,
                     waiting);
}

void Server::Impl::begin_registration(const std::string& nspace, const Job& job,
                                      const std::shared_ptr<Registration>& waiting) {
  const auto step = [waiting](pmix_status_t status, const std::string&) { waiting->step(status); };
  waiting->open = 1 + job.local_ranks.size();
  bridge_->local_counts().registered(nspace, job.local_ranks.size());
  bridge_->begin(
      [&](void* number) {
        const pmix_proc_t name = to_pmix(ProcName{nspace, 0});
        return PMIx_server_register_nspace(name.nspace, static_cast<int>(job.local_ranks.size()),
                                           waiting->info.data(), waiting->info.size(),
                                           operation_done, number);
      },
      step);
  for (const std::uint32_t rank : job.local_ranks) {
    register_client({nspace, rank}, step);
  }
}

void Server::Impl::register_client(const ProcName& proc, Bridge::Then then) {
  bridge_->begin(
      [&](void* number) {
        const pmix_proc_t name = to_pmix(proc);
        return PMIx_server_register_client(&name, ::getuid(), ::getgid(), nullptr, operation_done,
                                           number);
      },
      std::move(then));
}

void Server::Impl::deregister_job(const std::string& nspace) {
  const auto found = jobs_.find(nspace);
  if (found == jobs_.end() || std::exchange(found->second.leaving, true)) return;
  bridge_->fail_tickets_of(nspace, PMIX_ERR_NOT_FOUND);
  fetches_.fail({nspace, kAllRanks}, not_here({nspace, kAllRanks}));
  // Processes that ended are disconnected in a moment. Before that libpmix 4.2.2 would close the
  // socket of one, but not take it out of its event loop, which hears no other with that number.
  if (found->second.connected.empty()) let_go(nspace);
}

void Server::Impl::let_go(const std::string& nspace) {
  if (jobs_.at(nspace).local_ranks.empty()) return forget(nspace);
  when_settled([this, nspace] { forget(nspace); });
}

void Server::Impl::forget(const std::string& nspace) {
  const auto found = jobs_.find(nspace);
  // Whoever is connected brings us here again.
  if (found == jobs_.end() || !found->second.leaving || !found->second.connected.empty()) return;
  const auto node = jobs_.extract(found);
  deregister_from_library(nspace, node.mapped());
}

// What libpmix does when it sees the end of a connection may have to follow.
void Server::Impl::when_settled(std::function<void()> then) {
  settling_.wait([this, then = std::move(then)]() mutable { after_rounds(2, std::move(then)); });
}

void Server::Impl::after_rounds(std::size_t rounds, std::function<void()> then) {
  const auto next = [this, rounds, then = std::move(then)](pmix_status_t, const std::string&) {
    rounds > 1 ? after_rounds(rounds - 1, then) : then();
  };
  deregister_client(kNobody, next);  // only for the answer
}

void Server::Impl::deregister_from_library(const std::string& nspace, const Job& job) {
  bridge_->local_counts().deregistered(nspace);
  for (const std::uint32_t rank : job.local_ranks) {
    if (!job.deregistered.contains(rank)) deregister_client({nspace, rank});
  }
  bridge_->begin(
      [&](void* number) {
        const pmix_proc_t name = to_pmix(ProcName{nspace, 0});
        PMIx_server_deregister_nspace(name.nspace, operation_done, number);
        return PMIX_SUCCESS;
      },
      nullptr);
}

void Server::Impl::deregister_client(const ProcName& proc, Bridge::Then then) {
  bridge_->begin(
      [&](void* number) {
        const pmix_proc_t name = to_pmix(proc);
        PMIx_server_deregister_client(&name, operation_done, number);
        return PMIX_SUCCESS;
      },
      std::move(then));
}

void Server::Impl::process_ended(const ProcName& proc) {
  bridge_->local_waiters().gone(proc);
  if (job_of(proc) == nullptr) return;
  Job& job = jobs_.at(proc.nspace);
  // What it put can be had only as long as libpmix knows it.
  if (job.finalized.contains(proc.rank)) return;
  job.gone.insert(proc.rank);
  fetches_.fail(proc, not_here(proc));
  settling_.wait([this, proc] { give_up_client(proc); });  // it may be about to be let in
}

void Server::Impl::give_up_client(const ProcName& proc) {
  const auto found = jobs_.find(proc.nspace);
  if (found == jobs_.end()) return;
  Job& job = found->second;
  if (!job.gone.contains(proc.rank) || job.connected.contains(proc.rank)) return;
  if (job.deregistered.insert(proc.rank).second) deregister_client(proc);
}

// libpmix does what we ask in our order: it knows the process before that can ask it for anything.
void Server::Impl::process_starts_again(const ProcName& proc) {
  const auto found = jobs_.find(proc.nspace);
  if (found == jobs_.end() || found->second.leaving) return;
  Job& job = found->second;
  job.gone.erase(proc.rank);
  job.finalized.erase(proc.rank);
  if (job.deregistered.erase(proc.rank) > 0) register_client(proc, nullptr);
}

void Server::Impl::connection_answered() {
  if (std::exchange(release_posted_, true)) return;  // once for several: it looks at all
  bridge_->post([this](Handler&) {
    release_posted_ = false;
    library_.guard().release_answered();
  });
}

void Server::Impl::on_client_connected(const ProcName& proc) {
  connection_answered();
  if (const auto job = jobs_.find(proc.nspace); job != jobs_.end()) {
    job->second.connected.insert(proc.rank);
    job->second.finalized.erase(proc.rank);  // one process may run several programs
    job->second.lost.erase(proc.rank);
    if (!std::exchange(job->second.had_client, true)) fetches_.on_client(proc.nspace);
  }
  handler_.on_client_connected(proc);
}

void Server::Impl::on_client_finalized(const ProcName& proc) {
  if (tools_.is_here(proc)) {
    if (tools_.finalized(proc)) on_tool_gone(proc);
    return;
  }
  if (const auto job = jobs_.find(proc.nspace); job != jobs_.end()) {
    job->second.finalized.insert(proc.rank);
  }
  disconnected(proc);
  handler_.on_client_finalized(proc);
}

void Server::Impl::on_client_lost(const ProcName& proc) {
  if (tools_.is_here(proc) || tools_.left_before(proc)) {
    if (tools_.lost(proc)) on_tool_gone(proc);
    forget_tool_in_library(proc);
    return;
  }
  const bool rank_is_lost = disconnected(proc);
  if (!rank_is_lost) return;
  if (const auto job = jobs_.find(proc.nspace); job != jobs_.end()) {
    job->second.lost.insert(proc.rank);
  }
  handler_.on_client_lost(proc);
}

// It has its name already, or is being told: what libpmix is asked for now it does after that.
void Server::Impl::on_tool(const std::optional<ProcName>& name, std::uint64_t /*none yet*/) {
  deregister_client(kNobody, [this](pmix_status_t, const std::string&) { connection_answered(); });
  // A process of a job may use the functions for tools instead of those for clients.
  if (job_of(*name) != nullptr) return on_client_connected(*name);
  if (!tools_.came(*name)) return;
  const auto ticket =
      bridge_->open_ticket({[this, name = *name](pmix_status_t status, const ProcName&) {
                              if (status != PMIX_SUCCESS)
                                tools_.refuse(name, from_pmix(status, "the tool is refused"));
                            },
                            {name->nspace}});
  if (ticket) handler_.on_tool(name, *ticket);
}

void Server::Impl::on_tool_gone(const ProcName& tool) {
  bridge_->fail_tickets_of(tool.nspace, PMIX_ERR_LOST_CONNECTION);
  if (tools_.is_empty()) pulls_.stop_all();
  handler_.on_tool_gone(tool);
}

// Or it keeps the namespace, and the next tool of the same name is a second one to it.
void Server::Impl::forget_tool_in_library(const ProcName& tool) {
  bridge_->begin(
      [&](void* number) {
        const pmix_proc_t name = to_pmix(tool);
        PMIx_server_deregister_nspace(name.nspace, operation_done, number);
        return PMIX_SUCCESS;
      },
      nullptr);
}

void Server::Impl::on_request(wire::ServiceRequest request, std::string data,
                              std::uint64_t ticket) {
  if (request.who().nspace().empty()) {
    request.mutable_who()->set_nspace(config_.nspace);
    request.mutable_who()->set_rank(config_.rank);
  }
  const ProcName who{request.who().nspace(), request.who().rank()};
  if (const auto refused = tools_.refusal_of(who)) {
    bridge_->answer(ticket, to_pmix(refused->code), {});
    return;
  }
  if (request.has_pull() && !request.pull().stop()) pulls_.remember(request);
  // Tools of other users are refused, and processes are our own.
  request.set_user(::getuid());
  request.set_group(::getgid());
  handler_.on_request(std::move(request), std::move(data), ticket);
}

// libpmix does not count those it lost before the first of the others entered, and says nothing.
bool Server::Impl::misses_somebody(const std::vector<ProcName>& participants) const {
  return std::any_of(participants.begin(), participants.end(), [this](const ProcName& proc) {
    const auto found = jobs_.find(proc.nspace);
    if (found == jobs_.end()) return false;
    const Job& job = found->second;
    if (proc.rank == kAllRanks) return !job.lost.empty() || !job.gone.empty();
    return job.lost.contains(proc.rank) || job.gone.contains(proc.rank);
  });
}

bool Server::Impl::disconnected(const ProcName& proc) {
  const auto found = jobs_.find(proc.nspace);
  if (found == jobs_.end()) return true;
  Job& job = found->second;
  const auto one = job.connected.find(proc.rank);
  const bool was_here = one != job.connected.end();
  if (was_here) job.connected.erase(one);
  if (job.connected.contains(proc.rank)) return false;
  if (was_here) settling_.wait([this, proc] { give_up_client(proc); });
  if (job.leaving && job.connected.empty()) let_go(proc.nspace);
  return true;
}

const Server::Impl::Job* Server::Impl::job_of(const ProcName& proc) const {
  const auto found = jobs_.find(proc.nspace);
  if (found == jobs_.end() || found->second.leaving) return nullptr;
  const Job& job = found->second;
  const bool here = std::binary_search(job.local_ranks.begin(), job.local_ranks.end(), proc.rank);
  return here && !job.gone.contains(proc.rank) ? &job : nullptr;
}

Result<ProcEnvironment> Server::Impl::environment_of(const ProcName& proc) {
  const Job* job = job_of(proc);
  if (job == nullptr) return not_here(proc);
  return proc_environment(proc,
                          {config_.shared_host, job->crowded, job->description.session_directory});
}

void Server::Impl::fetch_modex(const ProcName& whose, Modex what, ModexFetches::Done done) {
  const Job* job = job_of(whose);
  if (job == nullptr) {
    bridge_->post([done = std::move(done), whose](Handler&) { done(not_here(whose)); });
    return;
  }
  if (what == Modex::kPut) return fetches_.fetch(whose, std::move(done));
  auto keys = process_info(job->description, whose.rank);
  if (!keys) {
    bridge_->post([done = std::move(done), error = keys.error()](Handler&) { done(error); });
    return;
  }
  fetches_.fetch(whose, std::move(keys).value(), job->had_client, std::move(done));
}

// A process that we know to be elsewhere is not. Of tools libpmix knows.
bool Server::Impl::may_be_here(const wire::ProcName& target) const {
  const auto found = jobs_.find(target.nspace());
  if (found == jobs_.end()) return true;
  const auto& ranks = found->second.local_ranks;
  return target.rank() == kAllRanks ? !ranks.empty()
                                    : std::binary_search(ranks.begin(), ranks.end(), target.rank());
}

void Server::Impl::notify(const wire::EventNotice& notice) {
  const auto range = local_range(notice);
  const bool ours = !notice.has_source();
  if (!is_known_code(notice.code())) return;  // row:C8
  if (!range || !(ours || is_nspace(notice.source().nspace()))) return;
  // libpmix would keep it for those who come later, in place of another one.
  const auto& targets = notice.targets().names();
  const bool for_nobody =
      notice.range() == wire::RANGE_CUSTOM &&
      std::none_of(targets.begin(), targets.end(),
                   [this](const wire::ProcName& target) { return may_be_here(target); });
  if (for_nobody) return;
  auto info = event_info(notice);
  if (!info) return;
  const auto kept = std::make_shared<InfoArray>(std::move(info).value());
  const pmix_proc_t source =
      to_pmix(ours ? ProcName{config_.nspace, config_.rank}
                   : ProcName{notice.source().nspace(), notice.source().rank()});
  bridge_->begin(
      [&](void* number) {
        return PMIx_Notify_event(notice.code(), &source, *range, kept->data(), kept->size(),
                                 operation_done, number);
      },
      [kept](pmix_status_t, const std::string&) {});
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::start(ServerConfig config, asio::io_context& io,
                                              Handler& handler) {
  auto impl = std::make_unique<Impl>(std::move(config), io, handler);
  if (const auto started = impl->start(); !started) return started.error();
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

void Server::register_job(const JobDescription& job, std::function<void(Status)> done) {
  impl_->register_job(job, std::move(done));
}

void Server::deregister_job(const std::string& nspace) {
  impl_->deregister_job(nspace);
}

bool Server::has_client(const ProcName& proc) const {
  return impl_->has_client(proc);
}

void Server::when_settled(std::function<void()> then) {
  impl_->when_settled(std::move(then));
}

void Server::process_is_being_ended(const ProcName& proc) {
  impl_->process_is_being_ended(proc);
}

void Server::process_ended(const ProcName& proc) {
  impl_->process_ended(proc);
}

void Server::process_starts_again(const ProcName& proc) {
  impl_->process_starts_again(proc);
}

Result<ProcEnvironment> Server::environment_of(const ProcName& proc) {
  return impl_->environment_of(proc);
}

void Server::modex_done(std::uint64_t ticket, const Status& status, std::string data) {
  impl_->bridge().answer(ticket, to_pmix(status), std::move(data));
}

void Server::done(std::uint64_t ticket, const Status& status) {
  impl_->bridge().answer(ticket, to_pmix(status), {});
}

void Server::collective_done(std::uint64_t ticket, const Status& status, const std::string& data,
                             std::uint64_t context) {
  impl_->bridge().answer_collective(ticket, to_pmix(status), data, context);
}

void Server::answer(std::uint64_t ticket, const wire::ServiceAnswer& answer) {
  const pmix_status_t status = to_pmix(static_cast<ErrorCode>(answer.error_code()));
  impl_->bridge().answer_service(ticket, status, answer);
}

void Server::name_tool(std::uint64_t ticket, const Status& status, const ProcName& name) {
  impl_->bridge().answer_tool(ticket, to_pmix(status), name);
}

void Server::deliver_output(const ProcName& source, wire::Stream stream, std::string data,
                            std::function<void()> done) {
  impl_->outputs().deliver(source, stream, std::move(data), std::move(done));
}

std::string Server::uri() const {
  return impl_->library().uri();
}

std::string Server::uri_for_file() const {
  return impl_->library().uri_for_file();
}

void Server::notify(const wire::EventNotice& notice) {
  impl_->outputs().when_sent([impl = impl_.get(), notice] { impl->notify(notice); });
}

void Server::fetch_modex(const ProcName& whose, Modex what,
                         std::function<void(Result<std::string>)> done) {
  impl_->fetch_modex(whose, what, std::move(done));
}

}  // namespace tide::pmix
