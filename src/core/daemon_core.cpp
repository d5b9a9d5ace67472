#include "core/daemon_core.hpp"

#include <fmt/format.h>

#include <utility>

namespace tide::core {

namespace {
// Acknowledge at the latest after this many messages: it bounds what the sender has to keep.
constexpr std::uint64_t kAckEvery = 64;
}  // namespace

DaemonCore::DaemonCore(DaemonConfig config)
    : config_(std::move(config)),
      overlay_(config_.overlay, *this, timers_, out_),
      jobs_(config_.jobs, *this, timers_, out_) {}

Actions DaemonCore::start(std::vector<wire::Endpoint> head, wire::Report report) {
  overlay_.join(std::move(head), std::move(report));
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
  } else if (!overlay_.handle_timer(kind)) {
    jobs_.handle_timer(kind, TimerBook::subject(event));
  }
}

void DaemonCore::handle(const EndRequested& event) {
  end(0, event.reason);
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
  auto& channel = entry.body().has_input() ? bulk_in_ : control_in_;
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
      jobs_.forget(JobId(body.forget().job()));
      return;
    case wire::DownBody::kPing:
    case wire::DownBody::BODY_NOT_SET:
      return;
  }
}

void DaemonCore::on_cut_off(const std::string& reason) {
  end(1, reason);
}

// ---- to the head ----

void DaemonCore::on_suspect(Rank rank, const std::string& reason) {
  wire::UpBody body;
  body.mutable_suspect()->set_rank(rank.value());
  body.mutable_suspect()->set_reason(reason);
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
  const bool bulk = body.has_stream() || body.has_output_complete();
  auto& channel = bulk ? bulk_out_ : control_out_;
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
}

}  // namespace tide::core
