#include "cli/run_loop.hpp"

#include <poll.h>

#include <cerrno>
#include <csignal>

#include "cli/map_text.hpp"
#include "say/ending.hpp"
#include "say/running.hpp"
#include "wire/exit_status.hpp"

namespace tide::cli {
namespace {

// A terminal is looked at this often while we are in its background.
constexpr int kForegroundCheckMs = 500;

// So much output is taken in before some is written: little enough to stay in the cache.
constexpr std::size_t kRoundBytes = 256UL << 10U;

constexpr std::uint32_t kSubmitRequest = 1;

// Only for a job that was refused; one that ran says with what to exit.
int status_of_refusal(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return kExitUsage;
    case ErrorCode::kNotFound:
    case ErrorCode::kOutOfResources:
      return kExitMapFailed;
    case ErrorCode::kTimedOut:
      return kExitTimedOut;
    case ErrorCode::kUnavailable:
    case ErrorCode::kConnectionLost:
      return kExitNoDvm;
    default:
      return kExitJobFailed;
  }
}

}  // namespace

RunLoop::RunLoop(net::LocalChannel& channel, SignalSource* signals, const RunOptions& options,
                 wire::JobSpec job)
    : channel_(channel),
      signals_(signals),
      options_(options),
      job_(std::move(job)),
      detached_(job_.runtime().detached()),
      children_apart_(job_.runtime().children_apart()),
      output_(options.output, options.stdout_fd, options.stderr_fd),
      input_(options.stdin_fd, job_.stdin_rank() >= 0),
      files_(options.files) {}

int RunLoop::run() {
  submit();
  while (!leave_with_ && (phase_ != Phase::kEnded || !output_.empty())) {
    wait_and_read();
    take_replies();
    send_files();
    write_output();
  }
  const bool lost = output_lost_ || input_lost_;
  return leave_with_.value_or(lost && status_ == kExitSuccess ? kExitFailure : status_);
}

void RunLoop::submit() {
  wire::ClientRequest request;
  *request.mutable_submit()->mutable_job() = std::move(job_);
  send(std::move(request));
}

void RunLoop::wait_and_read() {
  std::vector<pollfd> polls;
  if (phase_ != Phase::kEnded) {
    const int events = (output_.full() ? 0 : POLLIN) | (channel_.wants_write() ? POLLOUT : 0);
    polls.push_back({channel_.fd(), static_cast<short>(events), 0});
  }
  if (signals_ != nullptr) polls.push_back({signals_->fd(), POLLIN, 0});
  for (const int fd : output_.blocked_fds()) polls.push_back({fd, POLLOUT, 0});
  const bool wants_input = phase_ == Phase::kRunning && input_.wants_to_read();
  const bool reads_input = wants_input && input_.may_read();
  if (reads_input) polls.push_back({input_.fd(), POLLIN, 0});

  int timeout_ms = wants_input && !reads_input ? kForegroundCheckMs : -1;
  if (replies_left_ && !output_.full()) timeout_ms = 0;  // they may be past the socket already
  if (poll(polls.data(), polls.size(), timeout_ms) < 0) return;  // EINTR: look again
  if (phase_ != Phase::kEnded && (polls[0].revents & POLLOUT) != 0) {
    if (Status status = channel_.pump(); !status) return connection_lost(status.error().message);
  }
  if (reads_input && polls.back().revents != 0) read_input();
  if (signals_ != nullptr) take_signals();
}

void RunLoop::read_input() {
  JobInput::Piece piece = input_.read();
  if (piece.bytes.empty() && !piece.eof) return;
  if (piece.errnum != 0) {
    input_lost_ = true;
    tell(say::input_not_read(piece.errnum));
  }
  wire::ClientRequest request;
  request.mutable_input()->set_job(job_number_);
  request.mutable_input()->set_eof(piece.eof);
  send(std::move(request), piece.bytes);
}

// What the socket does not take now is not even read.
void RunLoop::send_files() {
  while (phase_ == Phase::kRunning && files_.wants_to_send() && !channel_.wants_write()) {
    FileSender::Piece piece = files_.next();
    wire::ClientRequest request;
    wire::ClientFileChunk& chunk = *request.mutable_file_chunk();
    chunk.set_job(job_number_);
    chunk.set_file(piece.file);
    chunk.set_last(piece.last);
    chunk.set_failure(piece.failure);
    send(std::move(request), piece.bytes);
  }
}

void RunLoop::take_signals() {
  while (const std::optional<int> signal = signals_->take()) take_signal(*signal);
}

void RunLoop::take_signal(int signal) {
  if (!options_.forwarded_signals.contains(signal)) return end_job(signal);
  signal == SIGTSTP ? stop_self() : send_kill(signal, false);
}

void RunLoop::end_job(int signal) {
  ++end_requests_;
  // The job is over and only its output is left, or patience is.
  if (phase_ == Phase::kEnded) leave_with_ = status_ != 0 ? status_ : exit_status_of_signal(signal);
  if (end_requests_ > 2) leave_with_ = exit_status_of_signal(signal);
  if (leave_with_) return;
  if (end_requests_ == 1) {
    tell(say::job_is_being_ended(signal));
    send_kill(signal, true);
  } else {
    tell(say::job_is_being_killed(signal));
    send_kill(SIGKILL, true);
  }
}

void RunLoop::stop_self() {
  // SIGSTOP, because SIGTSTP does nothing to processes that have no shell above them.
  send_kill(SIGSTOP, false);
  raise(SIGSTOP);
}

void RunLoop::send_kill(int signal, bool terminate) {
  if (phase_ == Phase::kEnded) return;
  wire::KillJob kill;
  kill.set_signal(signal);
  kill.set_terminate(terminate);
  if (phase_ == Phase::kSubmitted) {
    waiting_kills_.push_back(std::move(kill));
    return;
  }
  for (const std::uint32_t job : std::set(running_)) {  // a lost connection ends all of them
    kill.mutable_job()->set_number(job);
    wire::ClientRequest request;
    *request.mutable_kill() = kill;
    send(std::move(request));
  }
}

void RunLoop::take_replies() {
  const std::size_t queued_before = output_.bytes();
  replies_left_ = true;
  while (phase_ != Phase::kEnded && !output_.full() &&
         output_.bytes() < queued_before + kRoundBytes) {
    Result<std::optional<net::LocalChannel::Incoming>> incoming = channel_.receive(0);
    if (!incoming) return connection_lost(incoming.error().message);
    if (!incoming->has_value()) {
      replies_left_ = false;
      return;
    }
    take_reply(*std::move(*incoming));
  }
}

void RunLoop::take_reply(net::LocalChannel::Incoming incoming) {
  const wire::ClientReply& reply = incoming.reply;
  switch (reply.body_case()) {
    case wire::ClientReply::kOutput: {
      const wire::ClientOutput& output = reply.output();
      output_.take({output.job(), output.rank(), output.stream()}, std::move(incoming.payload),
                   output.eof());
      return;
    }
    case wire::ClientReply::kInputCredit:
      return input_.grant(reply.input_credit().bytes());
    case wire::ClientReply::kFileCredit:
      return files_.grant(reply.file_credit().chunks(), reply.file_credit().chunk_bytes());
    case wire::ClientReply::kAccepted:
      return take_accepted(reply.accepted());
    case wire::ClientReply::kMap:
      return take_map(reply.map());
    case wire::ClientReply::kHeld:
      return tell(reply.held().text());
    case wire::ClientReply::kTrace:
      return tell(reply.trace().text());
    case wire::ClientReply::kDone:
      return take_done(reply.request());
    case wire::ClientReply::kEnded:
      return take_ended(reply.ended());
    case wire::ClientReply::kError:
      return take_error(reply.request(), reply.error());
    default:
      return;
  }
}

void RunLoop::take_accepted(const wire::Accepted& accepted) {
  running_.insert(accepted.job());
  if (accepted.parent() != 0) {
    if (options_.verbose) tell(say::job_is_spawned(accepted.nspace(), accepted.parent()));
    return;
  }
  phase_ = Phase::kRunning;
  job_number_ = accepted.job();
  nspace_ = accepted.nspace();
  if (options_.verbose) {
    tell(say::job_is_accepted(job_number_, accepted.nspace()));
  }
  for (const wire::KillJob& kill : std::exchange(waiting_kills_, {})) {
    send_kill(kill.signal(), kill.terminate());
  }
}

void RunLoop::take_map(const wire::JobMap& map) {
  output_.show(map_text(map));
}

// A job that was to be left alone goes on without us.
void RunLoop::take_done(std::uint32_t request) {
  if (!detached_ || request != kSubmitRequest || phase_ != Phase::kRunning) return;
  output_.show(nspace_ + "\n");
  output_.finish();
  finish(kExitSuccess);
}

// The run is over when the job and all that it spawned are. Its own status counts, unless only a
// spawned one has failed.
void RunLoop::take_ended(const wire::JobEnded& ended) {
  running_.erase(ended.job());
  if (running_.empty()) output_.finish();
  // A reader that went away wanted no more words either.
  if (!output_lost_) {
    for (const std::string& message : ended.messages()) tell(message);
  }
  const bool own = ended.job() == job_number_;
  const bool counts = own && ended.exit_status() != kExitSuccess;
  const bool may_count = own || !children_apart_;
  if (counts || (may_count && status_ == kExitSuccess)) status_ = ended.exit_status();
  if (running_.empty()) finish(status_);
}

void RunLoop::take_error(std::uint32_t request, const wire::ErrorInfo& error) {
  tell(error.message());
  if (request == kSubmitRequest && phase_ == Phase::kSubmitted) {
    finish(status_of_refusal(static_cast<ErrorCode>(error.code())));
  }
}

void RunLoop::write_output() {
  const Status written = output_.write();
  if (!written && !output_lost_) {
    output_lost_ = true;
    if (written.error().code != ErrorCode::kConnectionLost) {
      tell(say::output_not_written(written.error().message));
    }
    send_kill(SIGTERM, true);
  }
  if (phase_ != Phase::kRunning) return;
  for (const CreditGrant& grant : output_.grants()) {
    wire::ClientRequest request;
    wire::ClientCredit& credit = *request.mutable_credit();
    credit.set_job(grant.key.job);
    credit.set_rank(grant.key.rank);
    credit.set_stream(grant.key.stream);
    credit.set_bytes(grant.bytes);
    send(std::move(request));
  }
}

void RunLoop::connection_lost(const std::string& why) {
  if (phase_ == Phase::kEnded) return;
  output_.finish();
  tell(say::connection_lost(why));
  finish(kExitNoDvm);
}

void RunLoop::finish(int status) {
  phase_ = Phase::kEnded;
  status_ = status;
}

void RunLoop::send(wire::ClientRequest request, std::string_view payload) {
  request.set_request(++last_request_);
  if (Status status = channel_.send(request, payload); !status) {
    connection_lost(status.error().message);
  }
}

}  // namespace tide::cli
