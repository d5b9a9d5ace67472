#include "sim/clients.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include "sim/changes.hpp"
#include "sim/services.hpp"
#include "sim/staged_files.hpp"
#include "sim/world.hpp"

namespace tide::sim {

namespace {

constexpr std::uint64_t kFirstKiller = 1'000'000;  // clients that come to kill, by job
constexpr std::uint64_t kDownClient = 2'000'000;
constexpr std::uint64_t kFirstSubmitter = 3'000'000;
constexpr std::uint64_t kFirstReader = 4'000'000;
constexpr std::uint64_t kFirstWriter = 5'000'000;
constexpr std::uint64_t kFirstSender = 6'000'000;
constexpr std::uint64_t kFirstDebugger = 7'000'000;
constexpr std::uint32_t kTooManyProcesses = 10'000;
constexpr std::uint64_t kReplyUs = 300;
constexpr std::uint64_t kAimPurpose = 0x61696D;
constexpr std::uint64_t kSlowUs = 400'000;
constexpr auto kAllocFailed = static_cast<std::uint32_t>(core::JobState::kAllocFailed);

wire::StopAt stop_of(HeldAt held_at) {
  switch (held_at) {
    case HeldAt::kExec:
      return wire::STOP_ON_EXEC;
    case HeldAt::kInit:
      return wire::STOP_IN_INIT;
    default:
      return wire::STOP_NOWHERE;
  }
}

}  // namespace

Clients::Clients(World& world) : world_(world) {
  for (const auto& plan : world.scenario().jobs) {
    outcomes_.emplace_back();
    outcomes_.back().plan = plan;
  }
}

void Clients::plan_all() {
  for (std::size_t i = 0; i < outcomes_.size(); ++i) {
    const What what{What::Kind::kArrival, kHeadHost, kFirstSubmitter + i};
    world_.schedule().at_ms(outcomes_[i].plan.at_ms, what, [this, i] { submit(i); });
  }
}

const JobPlan& Clients::plan_of(JobId job) const {
  return outcomes_.at(by_number_.at(job.value())).plan;
}

void Clients::submit(std::size_t index) {
  if (world_.head_exited()) return;
  Outcome& outcome = outcomes_[index];
  const JobPlan& plan = outcome.plan;
  outcome.submitted_ms = world_.schedule().now_ms();
  ++world_.journal().counts.jobs;
  ++world_.journal().counts.troubles.at(static_cast<std::size_t>(plan.trouble));
  ++world_.journal().counts.habits.at(static_cast<std::size_t>(plan.client));
  core::ClientMessage message{ClientId(index + 1), {}, {}};
  message.request.set_request(1);
  auto* job = message.request.mutable_submit()->mutable_job();
  job->set_stdin_rank(plan.input_bytes > 0 ? 0 : -1);
  job->set_oversubscribe(plan.misfit != Misfit::kTooMany);
  job->set_timeout_ms(plan.timeout_ms);
  auto* runtime = job->mutable_runtime();
  runtime->set_spawn_timeout_ms(plan.spawn_timeout_ms);
  runtime->set_get_stack_traces(plan.stack_traces);
  runtime->set_do_not_launch(plan.only_map);
  runtime->set_recoverable(plan.recoverable);
  runtime->set_max_restarts(plan.restarts);
  runtime->set_stop_at(stop_of(plan.held_at));
  job->set_map_by(plan.by_node ? wire::JobSpec::NODE : wire::JobSpec::SLOT);
  auto* app = job->add_apps();
  app->add_argv("virtual");
  app->set_processes(plan.processes);
  if (plan.misfit == Misfit::kNoSuchNode) app->add_hosts()->set_node("nowhere");
  if (plan.misfit == Misfit::kTooMany) app->set_processes(kTooManyProcesses);
  if (plan.misfit == Misfit::kTooLarge) app->add_argv(std::string(kMessageLimit / 2, 'x'));
  for (std::uint32_t i = 0; i < plan.files; ++i) job->add_files()->set_name(std::to_string(i));
  world_.changes().add_nodes(plan, index, *job);
  for (const auto& host : job->add_hosts()) outcome.named.push_back(host.node());
  if (plan.aimed) world_.services().reservations().aim(*job, world_.chance(kAimPurpose).of(index));
  world_.post_to_head(std::move(message));
  const bool acts = plan.client != ClientHabit::kStays && plan.client != ClientHabit::kSlow;
  const What what{What::Kind::kClient, kHeadHost, index};
  if (acts)
    world_.schedule().after(plan.client_after_ms * 1000, what, [this, index] { act(index); });
}

void Clients::act(std::size_t index) {
  Outcome& outcome = outcomes_[index];
  if (world_.head_exited()) return;
  if (outcome.plan.client == ClientHabit::kLeaves) {
    outcome.left = true;
    std::set<std::uint32_t> left{outcome.number};
    for (auto& [number, one] : children_) {  // who was spawned has a higher number than who did
      if (!left.contains(one.parent)) continue;
      one.left = true;
      left.insert(number);
    }
    world_.post_to_head(core::ClientGone{ClientId(index + 1)});
    return;
  }
  if (outcome.number == 0) return;
  core::ClientMessage message{ClientId(kFirstKiller + index), {}, {}};
  message.request.set_request(1);
  auto* kill = message.request.mutable_kill();
  kill->mutable_job()->set_number(outcome.number);
  kill->set_terminate(outcome.plan.client == ClientHabit::kKills);
  kill->set_signal(outcome.plan.client == ClientHabit::kKills ? SIGTERM : SIGUSR1);
  ++kills_unanswered_;
  world_.post_to_head(std::move(message));
}

void Clients::request_down() {
  down_requested_ = true;
  ++downs_unanswered_;
  core::ClientMessage message{ClientId(kDownClient), {}, {}};
  message.request.set_request(1);
  message.request.mutable_down();
  world_.post_to_head(std::move(message));
}

void Clients::on_reply(const core::Reply& reply) {
  const auto client = reply.client.value();
  if (client == kDownClient) {
    if (reply.reply.has_news()) return;
    if (--downs_unanswered_ < 0) throw BrokenPromise("one answer per request", "a down has two");
  } else if (client >= kFirstKiller) {
    --kills_unanswered_;
  } else if (client >= 1 && client <= outcomes_.size()) {
    const auto& body = reply.reply;
    const auto job = body.has_output() ? body.output().job() : body.ended().job();
    Outcome* spawned = child(job);
    on_job_reply(spawned != nullptr ? *spawned : outcomes_[client - 1], reply);
  }
}

// A job of the client's has spawned another one, or its own is accepted.
void Clients::on_accepted(Outcome& outcome, const wire::Accepted& accepted) {
  if (accepted.parent() != 0) {
    const bool known = accepted.parent() == outcome.number || children_.contains(accepted.parent());
    if (!known) throw BrokenPromise("who owns a job owns what it spawns", "another one was told");
    Outcome& one = children_[accepted.job()];
    one.number = accepted.job();
    one.parent = accepted.parent();
    one.submitted_ms = world_.now_ms();
    return;
  }
  if (outcome.number != 0) throw BrokenPromise("one answer per request", "accepted twice");
  outcome.number = accepted.job();
  by_number_[outcome.number] = static_cast<std::size_t>(&outcome - outcomes_.data());
  input_left_[outcome.number] = outcome.plan.input_bytes;
}

Outcome* Clients::child(std::uint32_t job) {
  const auto found = children_.find(job);
  return found == children_.end() ? nullptr : &found->second;
}

void Clients::on_job_reply(Outcome& outcome, const core::Reply& reply) {
  const auto& body = reply.reply;
  if (body.has_accepted()) {
    on_accepted(outcome, body.accepted());
  } else if (outcome.left) {
    return;
  } else if (body.has_output()) {
    take_output(outcome, reply);
  } else if (body.has_input_credit()) {
    send_input(outcome, reply);
  } else if (body.has_file_credit()) {
    send_files(outcome, reply);
  } else if (body.has_held()) {
    let_go(outcome);
  } else if (body.has_trace()) {
    take_trace(outcome, body.trace());
  } else if (body.has_ended()) {
    outcome.exit_status = body.ended().exit_status();
    outcome.late = body.ended().state() == kAllocFailed && names_a_leaver(outcome);
    for (const auto& message : body.ended().messages()) outcome.messages.push_back(message);
    answered(outcome);
  } else if (body.has_error()) {
    outcome.messages.push_back(body.error().message());
    answered(outcome);
  }
}

// In the step in which it is told: a node that is about to leave is refused to whoever names it.
bool Clients::names_a_leaver(const Outcome& outcome) const {
  return std::ranges::any_of(outcome.named, [this](const auto& name) {
    const auto* node = world_.head().roster().find(name);
    return node != nullptr && node->state >= core::NodeState::kLeaving;
  });
}

// Each has a process or a node in it, so two that are the same are one that was told twice.
void Clients::take_trace(Outcome& outcome, const wire::JobTrace& trace) {
  if (outcome.answers > 0) throw BrokenPromise("the end is the last word", "stacks after the end");
  if (!outcome.traces.insert(trace.text()).second) {
    throw BrokenPromise("stacks are told once", trace.text());
  }
}

void Clients::answered(Outcome& outcome) {
  ++outcome.answers;
  outcome.answered_ms = world_.schedule().now_ms();
  if (outcome.answers > 1) throw BrokenPromise("one answer per request", "a job ended twice");
  if (outcome.exit_status == 0) ++world_.journal().counts.jobs_succeeded;
}

void Clients::take_output(Outcome& outcome, const core::Reply& reply) {
  const auto& output = reply.reply.output();
  if (outcome.answers > 0) throw BrokenPromise("the end is the last word", "output after the end");
  auto& seen = outcome.output_bytes[output.rank()];
  auto& unpaid = outcome.unpaid[output.rank()];
  for (const char byte : reply.payload.view()) {
    if (byte == Services::kLogByte) {
      ++outcome.logged_bytes[output.rank()];
      ++unpaid;
      continue;
    }
    if (byte != static_cast<char>(seen++ % kByteCycle)) outcome.order_kept = false;
  }
  const auto size = reply.payload.size();
  auto& uncredited = outcome.uncredited[output.rank()];
  uncredited += size;
  if (uncredited > world_.scenario().window_bytes + unpaid) {
    throw BrokenPromise("output stays within the credit", "more came than the reader has room for");
  }
  core::ClientMessage credit{reply.client, {}, {}};
  auto* body = credit.request.mutable_credit();
  body->set_job(output.job());
  body->set_rank(output.rank());
  body->set_stream(output.stream());
  body->set_bytes(static_cast<std::uint32_t>(size));
  const auto pause = outcome.plan.client == ClientHabit::kSlow ? kSlowUs : kReplyUs;
  const What what{What::Kind::kClient, kHeadHost, kFirstReader + reply.client.value()};
  world_.schedule().after(pause, what, [this, &outcome, &uncredited, &unpaid, size, credit] {
    uncredited -= size;
    unpaid -= std::min<std::uint64_t>(unpaid, size);
    if (!world_.head_exited() && !outcome.left) world_.post_to_head(credit);
  });
}

// As many pieces as there is credit for, a while later.
void Clients::send_files(Outcome& outcome, const core::Reply& reply) {
  const auto pieces = outcome.plan.files * kPiecesPerFile;
  auto& sent = pieces_sent_[outcome.number];
  const What what{What::Kind::kClient, kHeadHost, kFirstSender + reply.client.value()};
  for (auto left = reply.reply.file_credit().chunks(); left > 0 && sent < pieces; --left, ++sent) {
    core::ClientMessage message{reply.client, {}, Bytes(std::string("piece"))};
    auto* chunk = message.request.mutable_file_chunk();
    chunk->set_job(outcome.number);
    chunk->set_file(sent / kPiecesPerFile);
    chunk->set_last((sent + 1) % kPiecesPerFile == 0);
    world_.schedule().after(kReplyUs, what, [this, &outcome, message] {
      if (!world_.head_exited() && !outcome.left) world_.post_to_head(message);
    });
  }
}

// row:L14 all wait when it is told, and it is told once
void Clients::let_go(Outcome& outcome) {
  const char* promise = "a client is told once that all processes wait";
  if (std::exchange(outcome.held, true)) throw BrokenPromise(promise, "it was told twice");
  if (!outcome.output_bytes.empty()) throw BrokenPromise(promise, "one has written before");
  const auto index = static_cast<std::size_t>(&outcome - outcomes_.data());
  const What what{What::Kind::kClient, kHeadHost, kFirstDebugger + index};
  world_.schedule().after(kReplyUs, what, [this, index, &outcome] {
    if (world_.head_exited() || outcome.left) return;
    core::ClientMessage message{ClientId(kFirstKiller + index), {}, {}};
    message.request.set_request(2);
    message.request.mutable_kill()->mutable_job()->set_number(outcome.number);
    message.request.mutable_kill()->set_signal(SIGCONT);
    ++kills_unanswered_;
    world_.post_to_head(std::move(message));
  });
}

void Clients::send_input(Outcome& outcome, const core::Reply& reply) {
  auto& left = input_left_[outcome.number];
  if (outcome.plan.input_bytes == 0) return;
  const auto bytes = std::min(left, reply.reply.input_credit().bytes());
  left -= bytes;
  core::ClientMessage message{reply.client, {}, Bytes(std::string(bytes, 'i'))};
  message.request.mutable_input()->set_job(outcome.number);
  message.request.mutable_input()->set_eof(left == 0);
  const What what{What::Kind::kClient, kHeadHost, kFirstWriter + reply.client.value()};
  world_.schedule().after(kReplyUs, what, [this, &outcome, message] {
    if (!world_.head_exited() && !outcome.left) world_.post_to_head(message);
  });
}

}  // namespace tide::sim
