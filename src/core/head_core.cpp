#include "core/head_core.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/bulk.hpp"
#include "say/ending.hpp"
#include "say/finding.hpp"
#include "say/starting.hpp"

namespace tide::core {

namespace {
// Acknowledge at the latest after this many messages: it bounds what a daemon has to keep.
constexpr std::uint64_t kAckEvery = 64;

HeadConfig with_limits(HeadConfig config) {
  const auto limit = config.overlay.message_limit;
  config.jobs.message_limit = limit;
  config.jobs.elastic = config.elastic.enabled;
  // A client may send half as much as a daemon.
  const auto of_message = static_cast<std::uint32_t>(std::min<std::size_t>(limit / 4, UINT32_MAX));
  config.jobs.files.chunk_bytes = std::min(config.jobs.files.chunk_bytes, of_message);
  return config;
}
}  // namespace

HeadCore::HeadCore(HeadConfig config)
    : config_(with_limits(std::move(config))),
      notes_(out_, config_.jobs.verbosity),
      overlay_(config_.overlay, *this, timers_, out_),
      roster_(config_.roster, overlay_, *this, timers_, out_),
      events_(config_.history_events, out_),
      sessions_(roster_, events_, config_.dvm_id + "@user"),
      jobs_(config_.jobs, roster_, sessions_, *this, timers_, events_, out_),
      elastic_(config_.elastic, roster_, sessions_, jobs_, *this, timers_, events_, out_),
      services_(jobs_, elastic_, *this, config_.overlay.message_limit),
      own_services_(kHeadRank, config_.dvm_id, *this, *this, timers_, out_,
                    config_.overlay.message_limit) {}

Actions HeadCore::on(const Event& event, std::uint64_t now_ms) {
  now_ms_ = now_ms;
  jobs_.set_now(now_ms);
  elastic_.set_now(now_ms);
  events_.set_now(now_ms);
  if (!exited_) {
    std::visit([this](const auto& e) { handle(e); }, event);
    do {
      talk_to_itself();
      elastic_.look();
    } while (!to_itself_.empty() || !from_itself_.empty());
    tell_nodes();
    progress_end();
    events_.tell();
  } else if (const auto* late = std::get_if<ClientMessage>(&event);
             late != nullptr && late->request.has_events()) {
    handle_watcher(*late);  // the last event, for a follower that was just about to ask
  }
  return std::exchange(out_, {});
}

void HeadCore::handle(const TimerFired& event) {
  if (!timers_.take(event)) return;
  const auto kind = TimerBook::kind(event);
  if (kind == TimerKind::kAckFlush) {
    acknowledge_all();
  } else if (kind == TimerKind::kShutdown) {
    end_remaining();
  } else if (kind == TimerKind::kEndingNews) {
    tell_what_the_end_waits_for();
  } else if (!overlay_.handle_timer(kind) &&
             !roster_.handle_timer(kind, TimerBook::subject(event), now_ms_) &&
             !elastic_.handle_timer(kind, TimerBook::subject(event)) &&
             !own_services_.handle_timer(kind, TimerBook::subject(event))) {
    jobs_.handle_timer(kind, TimerBook::subject(event));
  }
}

// ---- start ----

void HeadCore::go(JobState state, const char* cause) {
  notes_.add(Subsystem::kState, 1, "job {}@0: {} -> {} ({})", config_.dvm_id,
             job_state_name(state_), job_state_name(state), cause);
  state_ = state;
}

void HeadCore::note_table() {
  for (const auto& row : job_state_table()) {
    notes_.add(Subsystem::kState, 5, "table: {} ({}) -> {}", job_state_name(row.state),
               static_cast<std::uint32_t>(row.state), row.handler);
  }
}

void HeadCore::handle(const StartDvm& event) {
  started_ms_ = now_ms_;
  events_.set_start(now_ms_);
  events_.add_of_dvm(EventKind::kDvmStarting, say::counted(event.nodes.size(), "node", "nodes"));
  note_table();
  go(JobState::kInitComplete, "the DVM itself");
  go(JobState::kAllocate, "identified");
  go(JobState::kAllocationComplete, "nodes are known");
  go(JobState::kLaunchDaemons, "allocated");
  roster_.start(event);
}

void HeadCore::on_daemons_launched() {
  go(JobState::kDaemonsLaunched, "the launcher was told");
}

void HeadCore::on_daemons_reported() {
  go(JobState::kDaemonsReported, "every daemon has reported");
}

void HeadCore::on_ready() {
  go(JobState::kVmReady, "node map and wireup are everywhere");
  phase_ = Phase::kReady;
  events_.add_of_dvm(EventKind::kDvmReady, say::counted(roster_.nodes().size(), "node", "nodes"));
  out_.emplace_back(
      AnnounceReady{static_cast<std::uint32_t>(roster_.nodes().size()), roster_.total_slots()});
  jobs_.release_early_jobs();
}

void HeadCore::on_start_failed(const std::string& reason) {
  failure_ = reason;
  events_.add_of_dvm(EventKind::kDvmFailed, say::first_line(reason));
  out_.emplace_back(Progress{say::dvm_not_started(reason), true});
  begin_end("the DVM could not be started", true);
}

void HeadCore::handle(const DaemonLaunchFailed& event) {
  roster_.on_launch_failed(event);
}

void HeadCore::on_launch_failed(Rank by, const wire::LaunchFailed& failed) {
  roster_.on_launch_failed(by, failed);
}

void HeadCore::on_left(Rank rank, bool silent) {
  roster_.on_left(rank, silent);
}

void HeadCore::handle(const DaemonExited& event) {
  roster_.on_daemon_exited(event);
}

// ---- daemons ----

void HeadCore::on_operation(const wire::Operation& operation) {
  const auto& change = operation.membership();
  const auto span = overlay_.membership().span();
  RankSet::from_wire(change.joined()).for_each(span, [this](Rank rank) { peers_[rank]; });
  RankSet::from_wire(change.left()).for_each(span, [this](Rank rank) { peers_.erase(rank); });
}

void HeadCore::on_reduction(const wire::Reduction& reduction) {
  if (reduction.id().kind() == wire::ReductionId::COLLECTIVE) {
    return services_.collectives().on_contributions(reduction);
  }
  jobs_.on_reduction(reduction);
}

void HeadCore::hear(Rank rank) {
  if (!roster_.heard_from(rank)) return;
  events_.add_of_node(EventKind::kNodeBack, roster_.nodes().at(rank).name, "");
  jobs_.map_undecided_jobs();
}

void HeadCore::on_up(const wire::Up& up, const Bytes& payload) {
  const Rank origin{up.origin()};
  const auto found = peers_.find(origin);
  // A last word of one that is gone may still come by another's link; it is owed nothing any more.
  if (found == peers_.end() || roster_.find(origin) == nullptr) return;
  Peer& peer = found->second;
  // Words from before the question may arrive after it, of one that is dead.
  if (up.control_ack() >= peer.asked) hear(origin);
  peer.control_out.acknowledge(up.control_ack());
  peer.bulk_out.acknowledge(up.bulk_ack());
  if (up.resync()) send_again(origin, peer);
  if (up.seq() == 0) return;
  auto& channel = is_bulk(up.body()) ? peer.bulk_in : peer.control_in;
  const bool fresh = channel.accept(up.seq());
  if (peer.control_in.debt() + peer.bulk_in.debt() >= kAckEvery) {
    wire::DownScatter scatter;
    address(*scatter.add_entries(), origin, peer, 0);
    overlay_.send_down(std::move(scatter), {});
  } else if (!timers_.armed(TimerKind::kAckFlush)) {
    out_.emplace_back(timers_.arm(TimerKind::kAckFlush, config_.ack_flush_ms));
  }
  if (fresh) deliver(origin, up.body(), payload);
}

void HeadCore::deliver(Rank origin, const wire::UpBody& body, const Bytes& payload) {
  switch (body.body_case()) {
    case wire::UpBody::kSuspect:
      on_suspect({Rank(body.suspect().rank()), body.suspect().reason(), body.suspect().silent(),
                  body.suspect().missing()});
      return;
    case wire::UpBody::kDeparted:
      roster_.on_departed(Rank(body.departed().rank()), body.departed().let_go());
      return;
    case wire::UpBody::kProcFailed:
      jobs_.on_proc_failed(origin, body.proc_failed());
      return;
    case wire::UpBody::kStream:
      jobs_.on_stream(origin, body.stream(), payload);
      return;
    case wire::UpBody::kOutputComplete:
      jobs_.on_output_complete(origin, JobId(body.output_complete().job()));
      return;
    case wire::UpBody::kInputCredit:
      jobs_.on_input_credit(origin, body.input_credit());
      return;
    case wire::UpBody::kCollectiveFailed:
      services_.collectives().on_failed(origin, body.collective_failed());
      return;
    case wire::UpBody::kServiceRequest:
      services_.on_request(origin, body.service_request(), payload);
      return;
    case wire::UpBody::kServiceCancel:
      services_.on_cancel(origin, body.service_cancel());
      return;
    case wire::UpBody::kEvent:
      services_.on_event(origin, body.event());
      return;
    case wire::UpBody::kToolJoined:
      note_tool(origin, body.tool_joined().tool());
      services_.on_tool_joined(origin, body.tool_joined());
      return;
    case wire::UpBody::kToolLeft:
      services_.on_tool_left(origin, body.tool_left());
      return;
    case wire::UpBody::kToolOutputTaken:
      jobs_.on_tool_output_taken(origin, body.tool_output_taken());
      return;
    case wire::UpBody::kModexRequest:
      services_.on_modex_request(origin, body.modex_request());
      return;
    case wire::UpBody::kModexAnswer:
      services_.on_modex_answer(origin, body.modex_answer(), payload);
      return;
    case wire::UpBody::kFilesFailed:
      jobs_.on_files_failed(origin, body.files_failed());
      return;
    case wire::UpBody::kStackTrace:
      jobs_.on_stack_trace(origin, body.stack_trace(), payload);
      return;
    case wire::UpBody::kTracesComplete:
      jobs_.on_traces_complete(origin, body.traces_complete());
      return;
    case wire::UpBody::kProcAborted:
      jobs_.on_aborted(origin, body.proc_aborted());
      return;
    case wire::UpBody::BODY_NOT_SET:
      return;
  }
}

void HeadCore::address(wire::DownEntry& entry, Rank rank, Peer& peer, std::uint64_t seq) {
  entry.set_destination(rank.value());
  entry.set_seq(seq);
  entry.set_control_ack(peer.control_in.take_ack());
  entry.set_bulk_ack(peer.bulk_in.take_ack());
}

void HeadCore::scatter(Slices slices, std::shared_ptr<const wire::LaunchCommon> launch,
                       Bytes payload) {
  wire::DownScatter message;
  std::size_t bytes = 0;  // of the entries; common part and payload have the rest of the limit
  const auto send = [&] {
    if (message.entries_size() == 0) return;
    if (launch) *message.mutable_launch() = *launch;
    overlay_.send_down(std::exchange(message, {}), payload);
  };
  for (auto& [rank, body] : slices) {
    if (rank == kHeadRank) {
      from_itself_.emplace_back(std::move(body), payload);
      continue;
    }
    const auto found = peers_.find(rank);
    if (found == peers_.end()) continue;
    Peer& peer = found->second;
    auto& channel = is_bulk(body) ? peer.bulk_out : peer.control_out;
    const auto& entry = channel.push(DownItem{std::move(body), launch, payload});
    const std::size_t more = entry.item.body.ByteSizeLong();
    if (bytes + more > config_.overlay.message_limit / 2) {
      send();
      bytes = 0;
    }
    bytes += more;
    auto* down = message.add_entries();
    address(*down, rank, peer, entry.seq);
    *down->mutable_body() = entry.item.body;
  }
  send();
}

std::set<Rank> HeadCore::everybody() const {
  std::set<Rank> out{kHeadRank};
  for (const auto& [rank, peer] : peers_) out.insert(rank);
  return out;
}

void HeadCore::send_to_head(wire::UpBody body, Bytes payload) {
  to_itself_.emplace_back(std::move(body), std::move(payload));
}

// What it says to itself is heard when it is done with what made it say so.
void HeadCore::talk_to_itself() {
  while (!to_itself_.empty() || !from_itself_.empty()) {
    for (auto said = std::exchange(to_itself_, {}); auto& [body, payload] : said) {
      deliver(kHeadRank, body, payload);
    }
    for (auto said = std::exchange(from_itself_, {}); auto& [body, payload] : said) {
      own_services_.deliver(body, payload);
    }
  }
}

void HeadCore::send_again(Rank rank, Peer& peer) {
  for (auto* channel : {&peer.control_out, &peer.bulk_out}) {
    for (const auto& entry : channel->unacknowledged()) {
      wire::DownScatter message;
      auto* down = message.add_entries();
      address(*down, rank, peer, entry.seq);
      *down->mutable_body() = entry.item.body;
      if (entry.item.launch) *message.mutable_launch() = *entry.item.launch;
      overlay_.send_down(std::move(message), entry.item.payload);
    }
  }
}

void HeadCore::acknowledge_all() {
  wire::DownScatter message;
  for (auto& [rank, peer] : peers_) {
    if (peer.control_in.owes_ack() || peer.bulk_in.owes_ack()) {
      address(*message.add_entries(), rank, peer, 0);
    }
  }
  if (message.entries_size() > 0) overlay_.send_down(std::move(message), {});
}

// ---- clients ----

void HeadCore::answer(ClientId client, std::uint32_t request, const Status& status) {
  wire::ClientReply reply;
  reply.set_request(request);
  if (status) {
    reply.mutable_done();
  } else {
    reply.mutable_error()->set_code(static_cast<std::uint32_t>(status.error().code));
    reply.mutable_error()->set_message(status.error().message);
  }
  out_.emplace_back(Reply{client, std::move(reply), {}});
}

void HeadCore::handle(const ClientMessage& event) {
  const auto& request = event.request;
  switch (request.body_case()) {
    case wire::ClientRequest::kSubmit:
      if (phase_ >= Phase::kEnding) {
        answer(event.client, request.request(), say::dvm_takes_no_more_jobs());
      } else {
        jobs_.submit(event.client, request.request(), request.submit().job());
      }
      return;
    case wire::ClientRequest::kKill:
      answer(event.client, request.request(), jobs_.kill(request.kill()));
      return;
    case wire::ClientRequest::kStatus: {
      wire::ClientReply reply;
      reply.set_request(request.request());
      *reply.mutable_status() = status(request.status().history(), now_ms_);
      if (!request.status().jobs()) reply.mutable_status()->clear_jobs();
      out_.emplace_back(ReplyStatus{event.client, std::move(reply)});
      return;
    }
    case wire::ClientRequest::kDown:
      waiting_for_end_.emplace_back(event.client, request.request());
      begin_end("the DVM is taken down", request.down().force());
      return;
    case wire::ClientRequest::kCredit:
      jobs_.credit(event.client, request.credit());
      return;
    case wire::ClientRequest::kInput:
      jobs_.input(event.client, request.input(), event.payload);
      return;
    case wire::ClientRequest::kFileChunk:
      jobs_.file_chunk(event.client, request.file_chunk(), event.payload);
      return;
    case wire::ClientRequest::kRelease: {
      wire::Operation operation;
      operation.mutable_release()->set_failpoint(request.release().name());
      overlay_.broadcast(std::move(operation));
      out_.emplace_back(ReplyFromRim{event.client, request});
      return;
    }
    case wire::ClientRequest::kGrow:
      return elastic_.grow({event.client, request.request()}, request.grow());
    case wire::ClientRequest::kShrink:
      return elastic_.shrink({event.client, request.request()}, request.shrink());
    case wire::ClientRequest::kExplain:
    case wire::ClientRequest::kProcs:
    case wire::ClientRequest::kEvents:
      return handle_watcher(event);
    case wire::ClientRequest::kParams:
    case wire::ClientRequest::kPool:
    case wire::ClientRequest::kRecorder:
      out_.emplace_back(ReplyFromRim{event.client, request});
      return;
    case wire::ClientRequest::kAllocation:
      return elastic_.allocate(event.client, request.request(), request.allocation());
    case wire::ClientRequest::kHello:
    case wire::ClientRequest::BODY_NOT_SET:
      answer(event.client, request.request(), say::unknown_request());
      return;
  }
}

void HeadCore::handle(const ClientGone& event) {
  events_.client_gone(event.client);
  elastic_.client_gone(event.client);
  std::erase_if(waiting_for_end_, [&](const auto& entry) { return entry.first == event.client; });
  jobs_.client_gone(event.client);
}

wire::StatusReply HeadCore::status(std::uint32_t history, std::uint64_t now_ms) const {
  wire::StatusReply out;
  out.set_dvm_name(config_.dvm_name);
  out.set_dvm_id(config_.dvm_id);
  out.set_state(phase_ == Phase::kStarting ? "starting"
                : phase_ == Phase::kReady  ? "ready"
                                           : "ending");
  out.set_age_ms(now_ms - started_ms_);
  out.set_radix(overlay_.membership().radix());
  out.set_serial(overlay_.membership().serial().value());
  out.set_span(overlay_.membership().span());
  for (const auto& [rank, node] : roster_.nodes()) {
    static constexpr const char* kStates[] = {"starting", "reported", "wiring",   "up",
                                              "suspect",  "leaving",  "departing"};
    auto* row = out.add_nodes();
    row->set_name(node.name);
    row->set_rank(rank.value());
    row->set_state(kStates[static_cast<std::size_t>(node.state)]);
    row->set_slots(node.slots);
    row->set_slots_used(node.used);
    row->set_processes(node.used);
    row->set_pid(node.pid);
    row->set_log(node.report.log());
    row->set_allocation(node.allocation);
    row->set_reservation(node.session);
    row->set_manager(node.manager);
    if (const auto parent = overlay_.membership().tree().parent(rank)) {
      row->set_parent(parent->value());
    }
  }
  elastic_.describe(out, now_ms);
  jobs_.describe(out, history, now_ms);
  return out;
}

// ---- the end ----

void HeadCore::begin_end(const std::string& reason, bool force, std::uint32_t grace_ms) {
  if (phase_ >= Phase::kEnding && (!force || forced_)) return;
  if (phase_ < Phase::kEnding) {
    phase_ = Phase::kEnding;
    events_.add_of_dvm(EventKind::kDvmEnding, reason);
    arm_end(grace_ms);
    out_.emplace_back(timers_.arm(TimerKind::kEndingNews, config_.ending_news_ms));
  }
  forced_ = forced_ || force;
  jobs_.end_all(reason, force,
                grace_ms);  // who is parked ends with the DVM, not with what it waits for
  elastic_.end_all(reason);
  if (phase_ == Phase::kShuttingDown) kill_daemons();
}

// Looked at after every event: jobs first, then the daemons, then the head itself.
void HeadCore::progress_end() {
  if (config_.jobs.one_shot && phase_ == Phase::kReady && jobs_.submitted() > 0 && jobs_.idle()) {
    begin_end("the run is over", false);
  }
  if (phase_ == Phase::kEnding && jobs_.idle()) {
    phase_ = Phase::kShuttingDown;
    go(JobState::kAllJobsComplete, "no job is left and the DVM ends");
    overlay_.enter_shutdown();
    roster_.enter_shutdown();
    wire::Operation operation;
    operation.mutable_shutdown();
    overlay_.broadcast(std::move(operation));
    if (!roster_.ready()) {  // half-started daemons are no members yet and do not hear the order
      kill_daemons();
    }
    arm_end();
  }
  if (phase_ == Phase::kShuttingDown && roster_.nodes().empty()) {
    go(JobState::kDaemonsTerminated, "every daemon has ended");
    finish(failure_ ? 1 : 0, failure_.value_or("shut down"));
  }
}

void HeadCore::end_remaining() {
  if (phase_ == Phase::kEnding) {
    jobs_.abandon_all();
    return;
  }
  if (killed_) {
    finish(1, "daemons did not end in time; their warden ends them");
    return;
  }
  for (const auto& [rank, node] : roster_.nodes()) {
    notes_.add(Subsystem::kErrmgr, 0, "the daemon on node {} does not end and is killed",
               node.name);
  }
  roster_.give_up_the_unwatched();
  kill_daemons();
  arm_end();
}

void HeadCore::kill_daemons() {
  killed_ = true;
  for (const auto& [rank, node] : roster_.nodes()) out_.emplace_back(EndDaemon{rank});
}

void HeadCore::arm_end(std::uint32_t grace_ms) {
  const auto stage_ms = config_.shutdown_timeout_ms + grace_ms;
  end_stage_until_ms_ = now_ms_ + stage_ms;
  out_.emplace_back(timers_.arm(TimerKind::kShutdown, stage_ms));
}

// With the time that those have who are killed because they did not end when they were asked to.
std::uint64_t HeadCore::end_left_ms() const {
  const auto stage = end_stage_until_ms_ > now_ms_ ? end_stage_until_ms_ - now_ms_ : 0;
  const bool kill_follows = phase_ == Phase::kShuttingDown && !killed_;
  return stage + (kill_follows ? config_.shutdown_timeout_ms : 0);
}

void HeadCore::tell_what_the_end_waits_for() {
  tell_who_waits(phase_ == Phase::kEnding
                     ? say::waiting_for_jobs(jobs_.unfinished(), roster_.suspected(), end_left_ms())
                     : say::waiting_for_nodes(roster_.remaining(), end_left_ms()));
  out_.emplace_back(timers_.arm(TimerKind::kEndingNews, config_.ending_news_ms));
}

void HeadCore::tell_who_waits(const std::string& text) {
  notes_.add(Subsystem::kErrmgr, 0, "{}", say::first_line(text));
  for (const auto& [client, request] : waiting_for_end_) {
    wire::ClientReply reply;
    reply.set_request(request);
    reply.mutable_news()->set_text(text);
    out_.emplace_back(Reply{client, std::move(reply), {}});
  }
}

void HeadCore::finish(int status, std::string reason) {
  if (exited_) return;
  exited_ = true;
  const auto unreached = roster_.unreached();
  if (!unreached.empty()) tell_who_waits(say::ended_without_word_from(unreached));
  elastic_.finish();
  talk_to_itself();
  events_.add_of_dvm(EventKind::kDvmEnded, say::first_line(reason));
  events_.tell();
  for (const auto& [client, request] : waiting_for_end_) answer(client, request, ok_status());
  out_.emplace_back(Exit{status, std::move(reason)});
}

}  // namespace tide::core
