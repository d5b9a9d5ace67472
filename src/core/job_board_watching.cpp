// What a job waits for, from the state itself. Whatever holds a job up has its place in waits_of():
// one that nobody could name there would be a job that stands still without a reason.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/job_board.hpp"
#include "core/placing.hpp"
#include "say/elastic.hpp"
#include "say/watching.hpp"
#include "wire/exit_status.hpp"

namespace tide::core {

namespace {

constexpr int kNamedNodes = 16;
constexpr std::size_t kPastJobs = 1000;                    // whose way is remembered
constexpr std::size_t kPastBytes = std::size_t{4} << 20U;  // of their processes

void name_nodes(wire::JobPoint& point, const std::vector<std::string>& nodes) {
  for (const auto& node : nodes) {
    if (point.nodes_size() == kNamedNodes) break;
    point.add_nodes(node);
  }
  point.set_more_nodes(static_cast<std::uint32_t>(nodes.size()) -
                       static_cast<std::uint32_t>(point.nodes_size()));
}

wire::JobPoint& add_point(google::protobuf::RepeatedPtrField<wire::JobPoint>& list,
                          const char* kind, std::string text,
                          const std::vector<std::string>& nodes = {}) {
  auto& point = *list.Add();
  point.set_kind(kind);
  point.set_text(std::move(text));
  name_nodes(point, nodes);
  return point;
}

std::string collective_words(const OpenCollective& one) {
  switch (one.kind) {
    case wire::CollectiveId::FENCE:
      return "a fence";
    case wire::CollectiveId::CONNECT:
      return "a connect";
    case wire::CollectiveId::DISCONNECT:
      return "a disconnect";
    case wire::CollectiveId::GROUP_CONSTRUCT:
      return "the making of group " + say::quoted(one.name);
    default:
      return "the end of group " + say::quoted(one.name);
  }
}

bool takes_part(const wire::ProcNames& names, const std::string& nspace, std::uint32_t rank) {
  return std::ranges::any_of(names.names(), [&](const wire::ProcName& name) {
    return name.nspace() == nspace && (name.rank() == kAllRanks || name.rank() == rank);
  });
}

std::uint64_t since(std::uint64_t at_ms, std::uint64_t now_ms) {
  return now_ms > at_ms ? now_ms - at_ms : 0;
}

}  // namespace

// ---- what is kept ----

void JobBoard::note_passage(Job& job, std::string cause) {
  wire::DvmEvent event;
  event.set_job(job.id.value());
  event.set_processes(static_cast<std::uint32_t>(job.placements.size()));
  if (job.state == JobState::kInit) {
    event.set_detail(command_of(job.spec));
    events_.add(EventKind::kJobSubmitted, std::move(event));
  } else if (job.state == JobState::kStarted) {
    events_.add(EventKind::kJobStarted, std::move(event));
  } else if (job.state == JobState::kRunning) {
    events_.add(EventKind::kJobRunning, std::move(event));
  } else if (job.state == JobState::kRegistered) {
    events_.add(EventKind::kJobRegistered, std::move(event));
  } else if (is_error(job.state) || job.state == JobState::kNotified) {
    const bool over = job.state == JobState::kNotified;
    if (!job.messages.empty()) event.set_detail(std::string(say::first_line(job.messages[0])));
    event.set_state(std::string(job_state_name(over ? job.end_state : job.state)));
    event.set_exit_status(job.exit_status.value_or(kExitSuccess));
    events_.add(over ? EventKind::kJobEnded : EventKind::kJobFailing, std::move(event));
  }
  job.watch.passages.push_back(Passage{job.state, now_ms_, std::move(cause)});
}

void JobBoard::note_past(const Job& job) {
  wire::JobProcs processes;
  list_processes(job, 0, job.placements.size(), processes);
  processes.set_ended(true);
  Past& past = past_[job.id];
  past.passages = job.watch.passages;
  past.parent = job.parent;
  past.processes = processes.SerializeAsString();
  past_bytes_ += past.processes.size();
  past_order_.push_back(job.id);
  for (const JobId id : past_order_) {  // the oldest make room
    if (past_bytes_ <= kPastBytes) break;
    past_bytes_ -= past_.at(id).processes.size();
    past_.at(id).processes = {};
  }
  while (past_order_.size() > std::min<std::size_t>(kPastJobs, config_.history_jobs)) {
    past_bytes_ -= past_.at(past_order_.front()).processes.size();
    past_.erase(past_order_.front());
    past_order_.pop_front();
  }
}

std::vector<JobId> JobBoard::unended_jobs() const {
  std::vector<JobId> out;
  for (const auto& [id, job] : jobs_) out.push_back(id);
  return out;
}

std::optional<JobBoard::Glance> JobBoard::glance(JobId id) const {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return std::nullopt;
  const Job& job = found->second;
  Glance out{.state = job.state,
             .processes = job.procs.size(),
             .nspace = job.nspace,
             .spawner = job.parent.nspace(),
             .sessions = job.sessions,
             .launched = job.scattered,
             .recoverable = job.spec.runtime().recoverable()};
  for (const auto& [rank, share] : job.shares) out.mapped.insert(rank);
  if (const Job* parent = find_nspace(job.parent.nspace())) out.parent = parent->id;
  return out;
}

// ---- what it waits for ----

std::vector<JobBoard::WaitsFor> JobBoard::waits_of(const Job& job) const {
  const auto waits = [](const std::vector<JobId>& list, JobId id) {
    return std::ranges::find(list, id) != list.end();
  };
  if (job.state == JobState::kInit && waits(early_, job.id)) return {WaitsFor::kDvm};
  if (waiting_for_nodes(job.id) != nullptr) return {WaitsFor::kGrant};
  if (fence_.parks(job.id)) return {WaitsFor::kChange};
  if (files_.wait_of(job.id)) return {WaitsFor::kFiles};
  if (job.state == JobState::kMap && waits(undecided_, job.id)) return {WaitsFor::kSuspects};
  if (job.scattered && (job.state <= JobState::kUnterminated || is_error(job.state))) {
    return waits_of_launched(job);
  }
  return {WaitsFor::kHead};
}

std::vector<JobBoard::WaitsFor> JobBoard::waits_of_launched(const Job& job) {
  const auto any = [&job](ShareTest test) {
    return std::ranges::any_of(job.shares,
                               [test](const auto& entry) { return test(entry.second); });
  };
  const bool ends = is_error(job.state);
  const bool unlaunched = any([](const Share& share) { return !share.launched; });
  const bool unended = any([](const Share& share) { return !share.ended; });
  std::vector<WaitsFor> out;
  if (stalled_streams(job) > 0) out.push_back(WaitsFor::kReader);
  if (unlaunched && !ends) out.push_back(WaitsFor::kLaunch);
  if (job.state == JobState::kReadyForDebug && unended) {
    out.push_back(WaitsFor::kDebugger);
  } else if (job.traces) {
    out.push_back(WaitsFor::kTraces);
  } else if (unended && (ends || !unlaunched)) {
    out.push_back(ends ? WaitsFor::kEnd : WaitsFor::kProcesses);
  }
  if (any([](const Share& share) { return share.ended && !share.output_complete; })) {
    out.push_back(WaitsFor::kOutput);
  }
  if (out.empty()) out.push_back(WaitsFor::kHead);
  return out;
}

// How many may not be written to any more, because nobody takes what was.
std::size_t JobBoard::stalled_streams(const Job& job) {
  if (job.launch == nullptr) return 0;
  const auto full = [&job](const auto& entry) {
    return entry.second >= job.launch->window_bytes();
  };
  std::size_t out = 0;
  if (job.owner) out += static_cast<std::size_t>(std::ranges::count_if(job.watch.untaken, full));
  if (job.reader) out += static_cast<std::size_t>(std::ranges::count_if(job.unread, full));
  return out;
}

namespace {

// By WaitsFor.
constexpr std::array kWaitWords = {"dvm",    "grant",  "files",    "nodes",     "change",
                                   "launch", "reader", "debugger", "processes", "stacks",
                                   "end",    "output", "head"};

}  // namespace

void JobBoard::describe_watch(const Job& job, std::uint64_t now_ms, wire::JobStatus& out) const {
  out.set_nodes(static_cast<std::uint32_t>(job.shares.size()));
  if (job.watch.passages.empty() || job.state == JobState::kNotified) return;
  out.set_state_age_ms(since(job.watch.passages.back().at_ms, now_ms));
  out.set_waits_for(kWaitWords.at(static_cast<std::size_t>(waits_of(job).front())));
}

std::string JobBoard::node_name(const Job& job, Rank daemon) const {
  const auto node = roster_.nodes().find(daemon);
  if (node != roster_.nodes().end()) return node->second.name;
  if (job.launch != nullptr) {  // lost: it is in the launch, whose hosts are in order
    const auto& hosts = job.launch->hosts();
    const auto host =
        std::lower_bound(hosts.begin(), hosts.end(), daemon.value(),
                         [](const auto& one, std::uint32_t rank) { return one.daemon() < rank; });
    if (host != hosts.end() && host->daemon() == daemon.value()) return host->node();
  }
  return fmt::format("rank {}", daemon.value());
}

std::vector<std::string> JobBoard::nodes_of(const Job& job, ShareTest test) const {
  std::vector<std::string> out;
  for (const auto& [rank, share] : job.shares) {
    if (test(share)) out.push_back(node_name(job, rank));
  }
  return out;
}

void JobBoard::describe_wait_for_files(const Job& job, wire::ExplainReply& out) const {
  const auto wait = files_.wait_of(job.id).value_or(FileDesk::Wait{});
  std::vector<std::string> nodes;
  for (const Rank daemon : wait.daemons) nodes.push_back(node_name(job, daemon));
  add_point(*out.mutable_waits(), kWaitWords.at(static_cast<std::size_t>(WaitsFor::kFiles)),
            say::waits_for_files(nodes, wait.removes), nodes);
}

void JobBoard::describe_wait(const Job& job, WaitsFor what, wire::ExplainReply& out) const {
  const auto unended = [](const Share& share) { return !share.ended; };
  const auto add = [&](std::string text, const std::vector<std::string>& nodes) {
    add_point(*out.mutable_waits(), kWaitWords.at(static_cast<std::size_t>(what)), std::move(text),
              nodes);
  };
  std::vector<std::string> nodes;
  const std::size_t of = job.shares.size();
  switch (what) {
    case WaitsFor::kDvm:
      for (const auto& [rank, node] : roster_.nodes()) {
        if (node.state == NodeState::kLaunching) nodes.push_back(node.name);
      }
      return add(say::waits_for_dvm(nodes, roster_.nodes().size()), nodes);
    case WaitsFor::kGrant:
      return add(say::waits_for_grant(), nodes);
    case WaitsFor::kChange:
      if (!job.awaited_grows.empty()) return add(say::waits_for_its_nodes(), nodes);
      return add(say::waits_for_changes(fence_.awaited_by(job.id).size()), nodes);
    case WaitsFor::kFiles:
      return describe_wait_for_files(job, out);
    case WaitsFor::kSuspects:
      nodes = place_job(job.spec, nodes_to_map(job), Suspects::kIfNamed).unheard;
      return add(say::waits_for_suspects(nodes), nodes);
    case WaitsFor::kLaunch:
      nodes = nodes_of(job, [](const Share& share) { return !share.launched; });
      return add(say::waits_for_launch(nodes, of), nodes);
    case WaitsFor::kReader: {
      std::uint64_t bytes = 0;
      for (const auto& [stream, size] : job.watch.untaken) bytes += job.owner ? size : 0;
      for (const auto& [stream, size] : job.unread) bytes += size;
      const char* who = job.owner ? "its client" : "the tool that started it";
      return add(say::waits_for_reader(who, stalled_streams(job), bytes), {});
    }
    case WaitsFor::kDebugger:
      return add(say::waits_for_debugger(job.breakpoint, job.id.value()), {});
    case WaitsFor::kProcesses:
      nodes = nodes_of(job, unended);
      return add(say::waits_for_processes(nodes, of), nodes);
    case WaitsFor::kTraces:
      for (const Rank daemon : job.traces->awaited) nodes.push_back(node_name(job, daemon));
      return add(say::waits_for_stacks(nodes, of), nodes);
    case WaitsFor::kEnd:
      nodes = nodes_of(job, unended);
      return add(say::waits_for_end(nodes, of, job.watch.ordered_signal,
                                    since(job.watch.ordered_ms, now_ms_)),
                 nodes);
    case WaitsFor::kOutput:
      nodes = nodes_of(job, [](const Share& one) { return one.ended && !one.output_complete; });
      return add(say::waits_for_output(nodes), nodes);
    case WaitsFor::kHead:
      return add(say::waits_for_head(job_state_name(job.state)), {});
  }
}

// A node counts as missing until all its processes have come, so not each of these need be late.
void JobBoard::describe_collectives(const Job& job, const CollectiveDesk& collectives,
                                    wire::ExplainReply& out) const {
  for (const auto& one : collectives.open_of(job.nspace)) {
    std::vector<std::string> nodes;
    std::vector<std::uint32_t> ranks;
    for (const Rank daemon : one.missing) {
      nodes.push_back(node_name(job, daemon));
      const auto share = job.shares.find(daemon);
      if (share == job.shares.end()) continue;
      for (const auto rank : share->second.ranks) {
        if (takes_part(one.participants, job.nspace, rank)) ranks.push_back(rank);
      }
    }
    std::ranges::sort(ranks);
    add_point(*out.mutable_waits(), "collective",
              say::waits_for_collective(collective_words(one), nodes, ranks), nodes);
  }
}

void JobBoard::describe_spawns(const Job& job, wire::ExplainReply& out) const {
  for (const auto& [id, child] : jobs_) {
    if (!child.spawner || child.parent.nspace() != job.nspace) continue;
    add_point(*out.mutable_waits(), "spawn",
              say::waits_for_spawned(child.parent.rank(), id.value()))
        .add_jobs(id.value());
  }
}

// ---- what else is known ----

void JobBoard::describe_children(std::string_view nspace, wire::ExplainReply& out) const {
  std::vector<std::string> names;
  wire::JobPoint point;
  for (const auto& [id, job] : jobs_) {
    if (job.parent.nspace() != nspace) continue;
    names.push_back(std::to_string(id.value()));
    point.add_jobs(id.value());
  }
  if (names.empty()) return;
  point.set_kind("children");
  point.set_text(say::fact_children(names));
  *out.add_facts() = std::move(point);
}

void JobBoard::describe_facts(const Job& job, wire::ExplainReply& out) const {
  auto& facts = *out.mutable_facts();
  std::vector<std::string> suspected;
  std::size_t nodes = 0;
  std::size_t processes = 0;
  for (const auto& [rank, share] : job.shares) {
    const auto node = roster_.nodes().find(rank);
    const bool lost = node == roster_.nodes().end();
    if (!lost && node->second.state == NodeState::kSuspect && !share.settled()) {
      suspected.push_back(node->second.name);
    }
    if (!share.registered) continue;
    ++nodes;
    processes += share.ranks.size();
  }
  if (!suspected.empty()) add_point(facts, "suspects", say::fact_suspected(suspected), suspected);
  if (job.scattered && !is_error(job.state)) {
    add_point(facts, "pmix",
              say::fact_pmix(processes, job.placements.size(), nodes, job.shares.size()));
  }
  if (!job.parent.nspace().empty()) {
    add_point(facts, "parent", say::fact_parent(job.parent.nspace(), job.parent.rank()));
  }
  describe_children(job.nspace, out);
  const std::uint64_t until_ms = job.submitted_ms + job.spec.timeout_ms();
  if (timers_.armed(TimerKind::kJobTimeout, job.id.value()) && until_ms > now_ms_) {
    add_point(facts, "timeout", say::fact_timeout(until_ms - now_ms_));
  }
  if (!job.owner && !job.reader) add_point(facts, "unread", say::fact_nobody_reads());
  if (!job.pushers.empty()) add_point(facts, "input", say::fact_input_waits(job.pushers.size()));
}

// ---- all of it ----

namespace {

template <class Passages>
void add_passages(const Passages& passages, wire::ExplainReply& out) {
  for (const auto& one : passages) {
    auto* row = out.add_passages();
    row->set_state(std::string(job_state_name(one.state)));
    row->set_at_ms(one.at_ms);
    row->set_cause(one.cause);
  }
}

}  // namespace

Result<wire::ExplainReply> JobBoard::explain(const wire::JobRef& ref,
                                             const CollectiveDesk& collectives) const {
  const auto by_number = jobs_.find(JobId(ref.number()));
  const Job* job = ref.ref_case() == wire::JobRef::kNspace ? find_nspace(ref.nspace())
                   : by_number == jobs_.end()              ? nullptr
                                                           : &by_number->second;
  if (job == nullptr) return explain_past(ref);
  wire::ExplainReply out;
  *out.mutable_job() = status_of(*job, now_ms_);
  const auto waits = waits_of(*job);
  if (waits.front() == WaitsFor::kReader) describe_wait(*job, WaitsFor::kReader, out);
  if (!is_error(job->state)) {
    describe_collectives(*job, collectives, out);
    describe_spawns(*job, out);
  }
  for (const auto what : waits) {
    if (what != WaitsFor::kReader) describe_wait(*job, what, out);
  }
  describe_facts(*job, out);
  add_passages(job->watch.passages, out);
  out.set_now_ms(now_ms_);
  out.set_start_ms(events_.start_ms());
  return out;
}

const wire::JobStatus* JobBoard::find_past(const wire::JobRef& ref) const {
  const auto found = std::ranges::find_if(history_, [&ref](const wire::JobStatus& one) {
    return ref.ref_case() == wire::JobRef::kNspace ? one.nspace() == ref.nspace()
                                                   : one.number() == ref.number();
  });
  return found == history_.end() ? nullptr : &*found;
}

Error JobBoard::unknown_job(const wire::JobRef& ref) const {
  const bool by_name = ref.ref_case() == wire::JobRef::kNspace;
  const bool was = !by_name && ref.number() > 0 && ref.number() <= submitted();
  const std::string name = by_name ? ref.nspace() : std::to_string(ref.number());
  return was ? say::job_forgotten(name) : say::job_never_submitted(name, submitted());
}

Result<wire::ExplainReply> JobBoard::explain_past(const wire::JobRef& ref) const {
  const wire::JobStatus* status = find_past(ref);
  if (status == nullptr) return unknown_job(ref);
  wire::ExplainReply out;
  *out.mutable_job() = *status;
  if (const auto past = past_.find(JobId(status->number())); past != past_.end()) {
    if (const auto& parent = past->second.parent; !parent.nspace().empty()) {
      add_point(*out.mutable_facts(), "parent", say::fact_parent(parent.nspace(), parent.rank()));
    }
    add_passages(past->second.passages, out);
  }
  describe_children(status->nspace(), out);
  out.set_now_ms(now_ms_);
  out.set_start_ms(events_.start_ms());
  return out;
}

}  // namespace tide::core
