#include "core/daemon_core.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/bulk.hpp"
#include "core/pmix_words.hpp"
#include "core/proc_names.hpp"
#include "core/rank_set.hpp"

namespace tide::core {

namespace {
// Acknowledge at the latest after this many messages: it bounds what the sender has to keep.
constexpr std::uint64_t kAckEvery = 64;
}  // namespace

DaemonCore::DaemonCore(DaemonConfig config)
    : config_(std::move(config)),
      overlay_(config_.overlay, *this, timers_, out_),
      jobs_(config_.jobs, *this, timers_, out_),
      files_(config_.overlay.self, *this, out_),
      services_(config_.overlay.self, config_.dvm_id, jobs_, *this, timers_, out_,
                config_.overlay.message_limit) {}

Actions DaemonCore::start(std::vector<wire::Endpoint> head, wire::Report report) {
  overlay_.join(std::move(head), std::move(report));
  if (!config_.below.empty()) out_.emplace_back(LaunchDaemons{config_.below});
  return std::exchange(out_, {});
}

Actions DaemonCore::on(const Event& event, std::uint64_t /*now_ms*/) {
  if (!ending_) std::visit([this](const auto& e) { handle(e); }, event);
  return std::exchange(out_, {});
}

void DaemonCore::handle(const TimerFired& event) {
  if (!timers_.take(event)) return;
  const auto kind = TimerBook::kind(event);
  if (kind == TimerKind::kAckFlush) {
    acknowledge_now();
  } else if (!overlay_.handle_timer(kind) &&
             !services_.handle_timer(kind, TimerBook::subject(event))) {
    jobs_.handle_timer(kind, TimerBook::subject(event));
  }
}

void DaemonCore::handle(const EndRequested& event) {
  end(0, event.reason);
}

void DaemonCore::handle(const ProcExited& event) {
  const auto* launch = jobs_.launch_of(event.proc.job);
  if (launch != nullptr) {
    services_.on_proc_ended(proc_name(launch->nspace(), event.proc.rank.value()));
  }
  jobs_.handle(event);
}

// A spawned process asks about its parent first, and must not do so before the local server knows
// the parent's job.
void DaemonCore::handle(const JobRegistered& event) {
  std::set<std::string> wanted;
  const auto* launch = jobs_.launch_of(event.job);
  if (launch != nullptr && !launch->parent_nspace().empty()) wanted.insert(launch->parent_nspace());
  services_.introduce(wanted, [this, event](const Status&) { jobs_.handle(event); });
}

// That it waits is for its daemon to count; whoever started it is told once for all.
void DaemonCore::handle(const EventRaised& event) {
  const bool waits = event.notice.code() == kEventReadyForDebug;
  if (!waits || !jobs_.on_ready_for_debug(event.notice)) services_.handle(event);
}

void DaemonCore::handle(const DaemonLaunchFailed& event) {
  overlay_.tell_launch_failed(event.rank, event.text);
}

void DaemonCore::handle(const DaemonExited& event) {
  overlay_.tell_launch_failed(event.rank, event.text);
}

void DaemonCore::end(int status, std::string reason) {
  if (ending_) return;
  ending_ = true;
  overlay_.enter_shutdown();
  out_.emplace_back(Exit{status, std::move(reason)});
}

// ---- from the head ----

void DaemonCore::on_operation(const wire::Operation& operation) {
  jobs_.on_applied(overlay_.membership().serial());
  // row:S16 once: others may be ordered to leave while this one has not left
  const bool own = operation.membership().orderly() &&
                   RankSet::from_wire(operation.membership().left()).contains(config_.overlay.self);
  if (own) services_.tell_tools_of_end();
  if (operation.has_release()) {
    out_.emplace_back(ReleaseFailpoint{operation.release().failpoint()});
  }
  if (operation.has_shutdown()) end(0, "the DVM was shut down");
}

void DaemonCore::on_down(const wire::DownEntry& entry, const wire::LaunchCommon& launch,
                         const Bytes& payload) {
  control_out_.acknowledge(entry.control_ack());
  bulk_out_.acknowledge(entry.bulk_ack());
  if (entry.seq() == 0) return;
  auto& channel = is_bulk(entry.body()) ? bulk_in_ : control_in_;
  if (channel.accept(entry.seq())) deliver(entry.body(), launch, payload);
  if (control_in_.debt() + bulk_in_.debt() >= kAckEvery) {
    acknowledge_now();
  } else if ((control_in_.owes_ack() || bulk_in_.owes_ack()) &&
             !timers_.armed(TimerKind::kAckFlush)) {
    out_.emplace_back(timers_.arm(TimerKind::kAckFlush, config_.ack_flush_ms));
  }
}

void DaemonCore::deliver(const wire::DownBody& body, const wire::LaunchCommon& launch,
                         const Bytes& payload) {
  switch (body.body_case()) {
    case wire::DownBody::kLaunch:
      jobs_.launch(launch, body.launch(), overlay_.membership().serial());
      return;
    case wire::DownBody::kSignal:
      jobs_.signal(body.signal());
      return;
    case wire::DownBody::kCredit:
      jobs_.grant(body.credit());
      return;
    case wire::DownBody::kInput:
      jobs_.input(body.input(), payload);
      return;
    case wire::DownBody::kForget:
      forget(JobId(body.forget().job()));
      return;
    case wire::DownBody::kTraceJob:
      jobs_.trace(body.trace_job());
      return;
    case wire::DownBody::kFileChunk:
      files_.take(body.file_chunk(), payload);
      return;
    case wire::DownBody::kRemoveFiles:
      files_.remove(body.remove_files());
      return;
    default:
      services_.deliver(body, payload);
      return;
  }
}

void DaemonCore::forget(JobId job) {
  if (const auto* launch = jobs_.launch_of(job)) services_.forget(launch->nspace());
  jobs_.forget(job);
}

// Of one who leaves the head hears from those who stay.
void DaemonCore::on_departed(Rank rank, bool let_go) {
  wire::UpBody body;
  body.mutable_departed()->set_rank(rank.value());
  body.mutable_departed()->set_let_go(let_go);
  send_to_head(std::move(body), {});
}

void DaemonCore::on_cut_off(const std::string& reason) {
  end(1, reason);
}

// ---- to the head ----

void DaemonCore::on_suspect(const Suspicion& suspicion) {
  wire::UpBody body;
  body.mutable_suspect()->set_rank(suspicion.rank.value());
  body.mutable_suspect()->set_reason(suspicion.reason);
  body.mutable_suspect()->set_silent(suspicion.silent);
  body.mutable_suspect()->set_missing(suspicion.missing);
  send_to_head(std::move(body), {});
}

wire::LinkMessage DaemonCore::up_message() {
  wire::LinkMessage message;
  auto* up = message.mutable_up();
  up->set_origin(config_.overlay.self.value());
  up->set_moves(overlay_.moves());
  up->set_control_ack(control_in_.take_ack());
  up->set_bulk_ack(bulk_in_.take_ack());
  return message;
}

void DaemonCore::send_to_head(wire::UpBody body, Bytes payload) {
  auto& channel = is_bulk(body) ? bulk_out_ : control_out_;
  transmit(channel.push(UpItem{std::move(body), std::move(payload)}));
}

void DaemonCore::transmit(const SendChannel<UpItem>::Entry& entry) {
  auto message = up_message();
  message.mutable_up()->set_seq(entry.seq);
  *message.mutable_up()->mutable_body() = entry.item.body;
  overlay_.send_up(std::move(message), entry.item.payload);
}

void DaemonCore::acknowledge_now() {
  timers_.cancel(TimerKind::kAckFlush);
  if (control_in_.owes_ack() || bulk_in_.owes_ack()) overlay_.send_up(up_message(), {});
}

void DaemonCore::on_path_changed() {
  auto message = up_message();
  message.mutable_up()->set_resync(true);
  overlay_.send_up(std::move(message), {});
  for (const auto& entry : control_out_.unacknowledged()) transmit(entry);
  for (const auto& entry : bulk_out_.unacknowledged()) transmit(entry);
  jobs_.contribute_again();
  files_.contribute_again();
  services_.contribute_again();
}

}  // namespace tide::core
