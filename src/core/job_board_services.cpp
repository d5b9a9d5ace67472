// What processes and tools want of jobs: to spawn them, to steer them, to read what they write.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "core/job_board.hpp"
#include "core/pmix_words.hpp"
#include "say/ending.hpp"
#include "say/reservations.hpp"
#include "say/running.hpp"
#include "wire/exit_status.hpp"
#include "wire/limits.hpp"

namespace tide::core {

namespace {

bool names(const wire::ProcNames& list, const std::string& nspace, std::uint32_t rank) {
  return std::ranges::any_of(list.names(), [&](const wire::ProcName& name) {
    return name.nspace() == nspace && (name.rank() == kAllRanks || name.rank() == rank);
  });
}

ErrorCode code_of_failed_spawn(JobState end, int exit_status) {
  switch (end) {
    case JobState::kMapFailed:
    case JobState::kAllocFailed:
      return ErrorCode::kOutOfResources;
    case JobState::kFailedToStart:
      return exit_status == kExitNotFound ? ErrorCode::kNotFound : ErrorCode::kSystem;
    default:
      return ErrorCode::kSystem;
  }
}

}  // namespace

// ---- spawn ----

Status JobBoard::check_spawn(const wire::ServiceRequest& request, bool by_tool) {
  if (closed_) return say::dvm_takes_no_more_jobs();
  const Job* parent = find_nspace(request.who().nspace());
  if (const auto makes_sense = check_spec(request.spawn().job()); !makes_sense) return makes_sense;
  if (parent == nullptr) {
    return by_tool ? ok_status() : Status(say::spawner_unknown(request.who().nspace()));
  }
  if (parent->exit_status) {  // has failed
    return Error{ErrorCode::kUnavailable, parent->messages.front()};
  }
  if (parent->owner && unended_[*parent->owner] >= kMaxJobsPerClient) {
    return say::too_many_jobs_of_client(unended_[*parent->owner]);
  }
  return ok_status();
}

// row:R1 row:R6
Result<std::set<std::string>> JobBoard::sessions_for(const wire::ServiceRequest& request,
                                                     bool by_tool) const {
  const auto& wish = request.spawn();
  const bool scheduler = by_tool && daemons_.is_scheduler(wish.scheduler_key());
  if (!wish.scheduler_key().empty() && !scheduler) return say::not_the_scheduler();
  if (wish.job().has_targets()) {
    return sessions_.targets(
        {.nspace = request.who().nspace(), .by_tool = by_tool, .owns_all = scheduler},
        wish.job().targets());
  }
  const Job* parent = find_nspace(request.who().nspace());
  if (parent == nullptr) return std::set<std::string>{kDefaultSession};
  auto out = sessions_.existing(parent->sessions);
  if (out.empty()) out.insert(kDefaultSession);
  return out;
}

void JobBoard::spawn(const Requester& from, const wire::ServiceRequest& request, bool by_tool) {
  const auto& wish = request.spawn();
  const auto acceptable = check_spawn(request, by_tool);
  if (!acceptable) return answer(daemons_, from, acceptable);
  auto sessions = sessions_for(request, by_tool);
  if (!sessions) return answer(daemons_, from, sessions.error());
  const Job* parent = find_nspace(request.who().nspace());
  Job& job = open_job(wish.job(), request.who(), std::move(*sessions));
  job.spawner = from;
  if (by_tool) {
    job.reader = ToolReader{from.daemon, request.who(), wish.forward_stdout(),
                            wish.forward_stderr(), wish.outlives_tool()};
  } else {
    job.owner = parent->owner;
    job.request = parent->request;
    job.reader = parent->reader;
    if (job.owner) ++unended_[*job.owner];
  }
  if (by_tool || wish.notify_completion()) job.notify = Notify{from.daemon, request.who()};
  if (wish.job().runtime().stop_at() != wire::STOP_NOWHERE) {
    job.debugger = Notify{from.daemon, request.who()};
  }
  notes_.add(Subsystem::kPlm, 1, "job {}: spawned by {}:{}", job.nspace, job.parent.nspace(),
             job.parent.rank());
  note_passage(job, "spawned");
  enter(job);
  run_transitions();
}

void JobBoard::cancel_spawn(const Requester& from) {
  for (auto& [id, job] : jobs_) {
    if (job.spawner != from) continue;
    fail(job, JobState::kKilledByCmd, exit_status_of_signal(SIGTERM),
         say::ended_because(job.nspace, "who spawned it waits no longer for its start"), SIGTERM);
  }
  run_transitions();
}

// Once: when all its processes run, or with the reason why they never will.
void JobBoard::answer_spawner(Job& job) {
  if (!job.spawner) return;
  const Requester to = *std::exchange(job.spawner, std::nullopt);
  wire::ServiceAnswer result;
  result.mutable_spawned()->set_nspace(job.nspace);
  Status status = ok_status();
  if (is_error(job.end_state)) {
    const std::string why = job.messages.empty() ? "" : job.messages.front();
    status = Error{code_of_failed_spawn(job.end_state, job.exit_status.value_or(0)), why};
  }
  answer(daemons_, to, status, std::move(result));
}

// A run is one: what a job that failed has spawned does not go on without it.
void JobBoard::end_children(const Job& parent) {
  for (auto& [id, job] : jobs_) {
    if (job.parent.nspace() != parent.nspace || job.id == parent.id) continue;
    fail(job, JobState::kKilledByCmd, exit_status_of_signal(SIGTERM),
         say::ended_because(job.nspace,
                            fmt::format("job {}, which spawned it, failed", parent.nspace)),
         SIGTERM);
  }
}

wire::EventNotice JobBoard::event_of(const Job& job, std::int32_t code, const Notify& to) {
  wire::EventNotice event;
  event.set_code(code);
  *event.mutable_source() = proc_name(job.nspace, kAllRanks);
  event.set_range(wire::RANGE_CUSTOM);
  *event.mutable_targets()->add_names() = to.whom;
  event.set_after_output(true);
  auto* fact = event.add_facts();
  fact->set_key(kFactNspace);
  fact->set_text(job.nspace);
  fact = event.add_facts();
  fact->set_key(kFactAffectedProc);
  *fact->mutable_proc() = proc_name(job.nspace, kAllRanks);
  return event;
}

// By one channel, or a start that was lost on the way comes after the end.
void JobBoard::send_event(const Notify& to, wire::EventNotice event) {
  wire::DownBody body;
  *body.mutable_event() = std::move(event);
  daemons_.scatter({{to.daemon, std::move(body)}}, nullptr, {});
}

void JobBoard::notify_event(const Job& job, std::int32_t code) {
  if (!job.notify) return;
  auto event = event_of(job, code, *job.notify);
  if (code == kEventJobEnd) {
    auto* fact = event.add_facts();
    fact->set_key(kFactJobStatus);
    fact->set_status(term_status_of(job.end_state));
    fact = event.add_facts();
    fact->set_key(kFactExitCode);
    fact->set_status(job.exit_status.value_or(kExitSuccess));
    if (!job.messages.empty()) {
      fact = event.add_facts();
      fact->set_key(kFactText);
      fact->set_text(job.messages.front());
    }
  }
  send_event(*job.notify, std::move(event));
}

// ---- who reads ----

// To the daemons whose tools want it, one copy each. True if one of them gives credit for it.
bool JobBoard::send_to_tools(Job& job, const wire::StreamChunk& chunk, const Bytes& data) {
  const bool is_stdout = chunk.stream() == wire::STDOUT;
  std::set<Rank> readers;
  const bool read = job.reader && (is_stdout ? job.reader->reads_stdout : job.reader->reads_stderr);
  if (read) readers.insert(job.reader->daemon);
  for (const auto& [key, pull] : pulls_) {
    if ((is_stdout ? pull.stdout() : pull.stderr()) &&
        names(pull.sources(), job.nspace, chunk.rank())) {
      readers.insert(key.daemon);
    }
  }
  if (readers.empty()) return false;
  wire::DownBody body;
  *body.mutable_tool_output()->mutable_source() = proc_name(job.nspace, chunk.rank());
  body.mutable_tool_output()->set_stream(chunk.stream());
  DaemonPort::Slices slices;
  for (const Rank rank : readers) slices.emplace_back(rank, body);
  daemons_.scatter(std::move(slices), nullptr, data);
  if (read) {
    job.unread[{chunk.rank(), chunk.stream()}] += static_cast<std::uint32_t>(data.size());
  }
  return read;
}

void JobBoard::give_credit(const Job& job, StreamId stream, std::uint32_t bytes) {
  wire::ClientCredit credit;
  credit.set_job(job.id.value());
  credit.set_rank(stream.first);
  credit.set_stream(static_cast<wire::Stream>(stream.second));
  credit.set_bytes(bytes);
  grant(job, credit);
}

// Nobody will read what is on its way, and the processes must not wait for that.
void JobBoard::give_back_credit(Job& job) {
  for (const auto& [stream, bytes] : std::exchange(job.unread, {})) {
    give_credit(job, stream, bytes);
  }
}

void JobBoard::on_tool_output_taken(Rank daemon, const wire::ToolOutputTaken& taken) {
  Job* job = find_nspace(taken.source().nspace());
  if (job == nullptr || !job->reader || job->reader->daemon != daemon) return;
  const StreamId stream{taken.source().rank(), taken.stream()};
  const auto unread = job->unread.find(stream);
  if (unread == job->unread.end()) return;
  const std::uint32_t bytes = std::min(taken.bytes(), unread->second);
  unread->second -= bytes;
  if (unread->second == 0) job->unread.erase(unread);
  give_credit(*job, stream, bytes);
}

Status JobBoard::pull(Rank daemon, const wire::ServiceRequest& request) {
  const PullKey key{daemon, id_of(request.who()), request.pull().subscription()};
  if (request.pull().stop()) {
    pulls_.erase(key);
  } else {
    pulls_[key] = request.pull();
  }
  return ok_status();
}

// One process of a job reads, as was said when it was submitted; it is also meant by "all".
Status JobBoard::check_push(const wire::ProcName& target) const {
  const Job* job = find_nspace(target.nspace());
  if (job == nullptr) return say::targets_unknown();
  if (!job->scattered) return say::job_reads_not_yet(job->nspace);
  const auto reader = job->spec.stdin_rank();
  if (reader < 0 || static_cast<std::size_t>(reader) >= job->placements.size()) {
    return say::job_reads_nothing(job->nspace);
  }
  const auto reading = static_cast<std::uint32_t>(reader);
  if (target.rank() != kAllRanks && target.rank() != reading) {
    return say::process_reads_nothing(job->nspace, target.rank(), reading);
  }
  return ok_status();
}

void JobBoard::push(const Requester& from, const wire::ServiceRequest& request, const Bytes& data) {
  const auto& targets = request.push().targets().names();
  for (const auto& name : targets) {
    if (const Status status = check_push(name); !status) return answer(daemons_, from, status);
  }
  for (const auto& name : targets) {
    Job* job = find_nspace(name.nspace());
    send_input(*job, request.push().eof(), data);
    job->input_credit -= static_cast<std::int64_t>(data.size());
    if (job->input_credit >= 0) continue;
    job->pushers.push_back(from);  // is answered when there is room again
    return;
  }
  answer(daemons_, from, ok_status());
}

void JobBoard::answer_pushers(Job& job) {
  if (job.input_credit < 0) return;
  for (const auto& pusher : std::exchange(job.pushers, {})) {
    answer(daemons_, pusher, ok_status());
  }
}

void JobBoard::on_tool_gone(const wire::ProcName& tool) {
  events_.add_of_dvm(EventKind::kToolGone, fmt::format("{}:{}", tool.nspace(), tool.rank()));
  std::erase_if(pulls_, [&](const auto& entry) { return entry.first.tool == id_of(tool); });
  for (auto& [id, job] : jobs_) {
    if (job.notify && id_of(job.notify->whom) == id_of(tool)) job.notify.reset();
    if (job.debugger && id_of(job.debugger->whom) == id_of(tool)) job.debugger.reset();
    if (!job.reader || id_of(job.reader->tool) != id_of(tool)) continue;
    const bool goes_on = job.reader->outlived;
    job.reader.reset();
    give_back_credit(job);
    if (goes_on) continue;
    fail(job, JobState::kKilledByCmd, exit_status_of_signal(SIGTERM),
         say::ended_without_client(job.nspace), SIGTERM);
  }
  run_transitions();
}

// ---- steering ----

bool JobBoard::knows(const wire::ProcNames& procs) const {
  return std::ranges::all_of(procs.names(), [this](const wire::ProcName& name) {
    const Job* job = find_nspace(name.nspace());
    return job != nullptr && (name.rank() == kAllRanks || name.rank() < job->placements.size());
  });
}

Status JobBoard::control(const wire::ServiceRequest& request) {
  const auto& order = request.control();
  wire::ProcNames targets = order.targets();
  if (targets.names().empty()) {
    *targets.add_names() = proc_name(request.who().nspace(), kAllRanks);
  }
  if (!knows(targets)) return say::targets_unknown();
  const int signal = order.kill() ? SIGKILL : order.terminate() ? SIGTERM : order.signal();
  if (signal <= 0 || signal >= NSIG) return say::not_a_signal(signal);
  for (const auto& name : targets.names()) {
    Job* found = find_nspace(name.nspace());
    if (found == nullptr) continue;  // what was said of it before has ended it
    const Job& job = *found;
    if (name.rank() != kAllRanks) {
      signal_process(*found, name.rank(), signal);
      continue;
    }
    wire::KillJob kill_job;
    kill_job.mutable_job()->set_number(job.id.value());
    kill_job.set_signal(signal);
    kill_job.set_terminate(order.kill() || order.terminate());
    if (const Status done = kill(kill_job); !done) return done;
  }
  return ok_status();
}

void JobBoard::signal_process(Job& job, std::uint32_t rank, int signal) {
  if (!job.scattered) return;
  job.procs[rank].requested_signal = signal;
  wire::DownBody body;
  body.mutable_signal()->set_job(job.id.value());
  body.mutable_signal()->set_signal(signal);
  body.mutable_signal()->add_ranks(rank);
  daemons_.scatter({{job.placements[rank].daemon, std::move(body)}}, nullptr, {});
}

// ---- questions ----

std::shared_ptr<const wire::LaunchCommon> JobBoard::particulars_of(
    const std::string& nspace) const {
  const Job* job = find_nspace(nspace);
  if (job == nullptr || !job->scattered) return nullptr;
  auto out = std::make_shared<wire::LaunchCommon>(*job->launch);
  for (auto& app : *out->mutable_apps()) app.clear_environment();
  return out;
}

wire::QueryReply JobBoard::reply_to(Rank asked, const wire::Question& question) const {
  wire::QueryReply reply;
  const Job* job = find_nspace(question.nspace());
  switch (question.what()) {
    case wire::Question::NAMESPACES:
      describe_jobs(reply);
      break;
    case wire::Question::JOBS:
      if (question.nspace().empty()) {
        describe_jobs(reply);
        break;
      }
      [[fallthrough]];
    case wire::Question::JOB_STATUS:
    case wire::Question::JOB_SIZE:
      reply.set_known(job != nullptr);
      if (job != nullptr) describe_job(*job, *reply.add_jobs());
      break;
    case wire::Question::PROCESSES:
    case wire::Question::LOCAL_PROCESSES:
      reply.set_known(job != nullptr);
      if (job != nullptr) describe_processes(*job, asked, question, reply);
      break;
    case wire::Question::ALLOCATION:
    case wire::Question::SERVER_URI:
      describe_nodes(question, reply);
      break;
    default:
      break;
  }
  return reply;
}

void JobBoard::describe_jobs(wire::QueryReply& reply) const {
  reply.set_known(true);
  for (const auto& [id, job] : jobs_) describe_job(job, *reply.add_jobs());
}

void JobBoard::describe_job(const Job& job, wire::JobRow& row) const {
  const auto status = status_of(job, now_ms_);
  row.set_nspace(job.nspace);
  row.set_command(status.command());
  row.set_state(static_cast<std::uint32_t>(job.state));
  row.set_size(static_cast<std::uint32_t>(job.placements.size()));
  if (!job.parent.nspace().empty()) *row.mutable_parent() = job.parent;
}

void JobBoard::describe_processes(const Job& job, Rank asked, const wire::Question& question,
                                  wire::QueryReply& reply) const {
  const bool all = question.what() == wire::Question::PROCESSES;
  for (const auto& placement : job.placements) {
    const auto node = roster_.nodes().find(placement.daemon);
    const std::string host = node == roster_.nodes().end() ? "" : node->second.name;
    const bool local =
        question.node().empty() ? placement.daemon == asked : host == question.node();
    const std::uint32_t rank = placement.rank.value();
    if ((!local && !all) || rank >= job.procs.size()) continue;
    auto* row = reply.add_processes();
    *row->mutable_name() = proc_name(job.nspace, rank);
    row->set_node(host);
    row->set_executable(job.spec.apps(static_cast<int>(placement.app)).argv(0));
    row->set_pid(job.procs[rank].pid);
    row->set_exit_code(job.procs[rank].exit_code);
    row->set_state(static_cast<std::uint32_t>(job.procs[rank].state));
  }
}

void JobBoard::describe_nodes(const wire::Question& question, wire::QueryReply& reply) const {
  if (question.what() == wire::Question::SERVER_URI && question.node().empty()) {
    reply.set_known(!service_uri_.empty());
    reply.add_nodes()->set_uri(service_uri_);
    return;
  }
  for (const auto& [rank, node] : roster_.nodes()) {
    if (!question.node().empty() && question.node() != node.name) continue;
    auto* row = reply.add_nodes();
    row->set_name(node.name);
    row->set_rank(rank.value());
    row->set_slots(node.slots);
    row->set_slots_used(node.used);
    row->set_uri(node.report.service_uri());
  }
  reply.set_known(reply.nodes_size() > 0);
}

}  // namespace tide::core
