#include "sim/clients.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include "sim/world.hpp"

namespace tide::sim {

namespace {

constexpr std::uint64_t kFirstKiller = 1'000'000;  // clients that come to kill, by job
constexpr std::uint64_t kDownClient = 2'000'000;
constexpr std::uint64_t kFirstSubmitter = 3'000'000;
constexpr std::uint64_t kFirstReader = 4'000'000;
constexpr std::uint64_t kFirstWriter = 5'000'000;
constexpr std::uint64_t kReplyUs = 300;
constexpr std::uint64_t kSlowUs = 400'000;

}  // namespace

Clients::Clients(World& world) : world_(world) {
  for (const auto& plan : world.scenario().jobs) {
    outcomes_.emplace_back();
    outcomes_.back().plan = plan;
  }
}

void Clients::plan_all() {
  for (std::size_t i = 0; i < outcomes_.size(); ++i) {
    const What what{What::Kind::kDeadline, kHeadHost, kFirstSubmitter + i};
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
  job->set_oversubscribe(true);
  job->set_timeout_ms(plan.timeout_ms);
  job->set_map_by(plan.by_node ? wire::JobSpec::NODE : wire::JobSpec::SLOT);
  auto* app = job->add_apps();
  app->add_argv("virtual");
  app->set_processes(plan.processes);
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
    if (--downs_unanswered_ < 0) throw BrokenPromise("one answer per request", "a down has two");
  } else if (client >= kFirstKiller) {
    --kills_unanswered_;
  } else if (client >= 1 && client <= outcomes_.size()) {
    on_job_reply(outcomes_[client - 1], reply);
  }
}

void Clients::on_job_reply(Outcome& outcome, const core::Reply& reply) {
  const auto& body = reply.reply;
  if (body.has_accepted()) {
    if (outcome.number != 0) throw BrokenPromise("one answer per request", "accepted twice");
    outcome.number = body.accepted().job();
    by_number_[outcome.number] = static_cast<std::size_t>(&outcome - outcomes_.data());
    input_left_[outcome.number] = outcome.plan.input_bytes;
  } else if (outcome.left) {
    return;
  } else if (body.has_output()) {
    take_output(outcome, reply);
  } else if (body.has_input_credit()) {
    send_input(outcome, reply);
  } else if (body.has_ended()) {
    outcome.exit_status = body.ended().exit_status();
    for (const auto& message : body.ended().messages()) outcome.messages.push_back(message);
    answered(outcome);
  } else if (body.has_error()) {
    outcome.messages.push_back(body.error().message());
    answered(outcome);
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
  for (const char byte : reply.payload.view()) {
    if (byte != static_cast<char>(seen++ % kByteCycle)) outcome.order_kept = false;
  }
  const auto size = reply.payload.size();
  auto& uncredited = outcome.uncredited[output.rank()];
  uncredited += size;
  if (uncredited > world_.scenario().window_bytes) {
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
  world_.schedule().after(pause, what, [this, &outcome, &uncredited, size, credit] {
    uncredited -= size;
    if (!world_.head_exited() && !outcome.left) world_.post_to_head(credit);
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
