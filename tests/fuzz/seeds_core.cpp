#include <vector>

#include "core/head_rig.hpp"
#include "core/rank_set.hpp"
#include "tests/fuzz/record_kinds.hpp"
#include "tests/fuzz/records.hpp"
#include "tests/fuzz/seeds.hpp"

namespace tide::fuzz {
namespace {

using core::ProcState;
using core::RankSet;
using Story = std::vector<Record>;

const std::string kStarting("\0", 1);
const std::string kReady("\1", 1);

template <class Kind>
Record record(Kind kind, std::uint8_t who, std::string body = {}) {
  return Record{static_cast<std::uint8_t>(kind), who, std::move(body)};
}
template <class Kind, class Message>
Record record_of(Kind kind, std::uint8_t who, const Message& message) {
  return record(kind, who, message.SerializeAsString());
}

Story operator+(Story first, const Story& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// ---- the head ----

Record request(std::uint8_t client, const wire::ClientRequest& request) {
  return record_of(HeadRecord::kRequest, client, request);
}

Record submit(std::uint8_t client, const wire::JobSpec& spec) {
  wire::ClientRequest out;
  out.set_request(1);
  *out.mutable_submit()->mutable_job() = spec;
  return request(client, out);
}

wire::JobSpec wide_job() {
  auto spec = core::job_spec(4, "sh");
  spec.set_stdin_rank(0);
  spec.set_timeout_ms(1000);
  spec.set_map_by(wire::JobSpec::NODE);
  spec.set_oversubscribe(true);
  auto* second = spec.add_apps();
  second->add_argv("env");
  second->set_processes(2);
  second->add_hosts()->set_node("v2");
  auto* variable = second->add_environment();
  variable->set_name("A");
  variable->set_value("1");
  return spec;
}

// Who: bit 0 the kind, then the daemon, then the job.
Record reduction(bool ended, std::uint32_t daemon, std::uint32_t job,
                 const std::vector<std::uint32_t>& ranks, ProcState state, int exit_code = 0) {
  wire::LocalReport local;
  for (const auto rank : ranks) *local.add_procs() = core::proc_report(job, rank, state, exit_code);
  const auto who = (ended ? 1U : 0U) | (daemon - 1) << 1U | (job - 1) << 4U;
  return record_of(HeadRecord::kReduction, static_cast<std::uint8_t>(who), local);
}

Record up(std::uint8_t daemon, const wire::UpBody& body) {
  return record_of(HeadRecord::kUp, static_cast<std::uint8_t>(daemon - 1), body);
}

Record output_complete(std::uint8_t daemon) {
  wire::UpBody body;
  body.mutable_output_complete()->set_job(1);
  return up(daemon, body);
}

Story launched() {
  return {submit(1, core::job_spec(4)), reduction(false, 1, 1, {0, 1}, ProcState::kRunning),
          reduction(false, 2, 1, {2, 3}, ProcState::kRunning)};
}

Story ended() {
  return {reduction(true, 1, 1, {0, 1}, ProcState::kTerminated), output_complete(1),
          reduction(true, 2, 1, {2, 3}, ProcState::kAborted, 3), output_complete(2)};
}

Story traffic() {
  wire::UpBody stream;
  stream.mutable_stream()->set_job(1);
  stream.mutable_stream()->set_rank(2);
  wire::UpBody input;
  input.mutable_input_credit()->set_job(1);
  input.mutable_input_credit()->set_bytes(100);
  wire::UpBody suspect;
  suspect.mutable_suspect()->set_rank(3);
  suspect.mutable_suspect()->set_reason("lost");
  wire::UpBody failed;
  *failed.mutable_proc_failed() = core::proc_report(1, 0, ProcState::kAborted, 0, 11);
  wire::ClientRequest credit;
  credit.mutable_credit()->set_job(1);
  credit.mutable_credit()->set_rank(1);
  credit.mutable_credit()->set_bytes(4096);
  wire::ClientRequest typed;
  typed.mutable_input()->set_job(1);
  typed.mutable_input()->set_eof(true);
  return {up(1, stream),      up(1, input),      up(2, suspect),
          request(1, credit), request(1, typed), up(1, failed)};
}

Story questions() {
  wire::ClientRequest status;
  status.mutable_status()->set_jobs(true);
  status.mutable_status()->set_history(9);
  wire::ClientRequest params;
  params.mutable_params();
  wire::ClientRequest explain;
  explain.mutable_explain()->mutable_job()->set_number(1);
  wire::ClientRequest procs;
  procs.mutable_procs()->set_first_rank(1);
  wire::ClientRequest follow;
  follow.mutable_events()->set_follow(true);
  wire::ClientRequest release;
  release.mutable_release()->set_name("event.link_down");
  wire::ClientRequest kill;
  kill.mutable_kill()->mutable_job()->set_nspace("dvm@1");
  kill.mutable_kill()->set_signal(15);
  kill.mutable_kill()->set_terminate(true);
  return {request(2, status), request(2, params),  request(2, explain), request(2, procs),
          request(3, follow), request(2, release), request(2, kill)};
}

Story taken_down(bool force) {
  wire::ClientRequest down;
  down.mutable_down()->set_force(force);
  Story out = {request(2, down), record(HeadRecord::kTimer, 0, "\5")};
  for (std::uint8_t rank = 1; rank <= kHeadNodes; ++rank) {
    out.push_back(record(HeadRecord::kLauncher, rank, "\2"));
  }
  return out;
}

// A start as it goes, and a daemon that comes back under another link.
Story started() {
  Story out;
  for (std::uint8_t rank = 1; rank <= kHeadNodes; ++rank) {
    wire::LinkMessage report;
    report.mutable_report()->set_node("v");
    report.mutable_report()->add_endpoints()->set_port(4000);
    const auto link = static_cast<std::uint8_t>(kHeadNodes + rank - 1);
    out.push_back(record(HeadRecord::kLinkUp, rank));
    out.push_back(record_of(HeadRecord::kMessage, link, report));
  }
  wire::LinkMessage attach;
  attach.mutable_attach()->set_applied(1);
  attach.mutable_attach()->set_acknowledged(1);
  for (std::uint8_t link = kHeadNodes; link < 2 * kHeadNodes; ++link) {
    out.push_back(record_of(HeadRecord::kMessage, link, attach));
  }
  return out;
}

Story neighbours() {
  wire::LinkMessage ack;
  ack.mutable_operation_ack()->set_serial(1);
  wire::LinkMessage resent;
  resent.mutable_up()->set_origin(2);
  resent.mutable_up()->set_resync(true);
  wire::LinkMessage reduction;
  reduction.mutable_reduction()->mutable_id()->set_job(1);
  reduction.mutable_reduction()->mutable_participants()->add_ranges()->set_last(3);
  reduction.mutable_reduction()->add_contributions()->set_rank(2);
  return {record_of(HeadRecord::kMessage, 0, ack), record_of(HeadRecord::kMessage, 0, resent),
          record_of(HeadRecord::kMessage, 1, reduction)};
}

void add_head(Seeds& seeds) {
  const auto add = [&seeds](const std::string& mode, const Story& story) {
    seeds.add("fuzz_head", mode + join_records(story));
  };
  const Story lost = {record(HeadRecord::kLinkDown, 1, std::string("\0gone", 5)),
                      record(HeadRecord::kTimer, 1, "\xff"),
                      record(HeadRecord::kLauncher, 2, "\7")};
  add(kReady, launched() + traffic() + ended() + questions());
  add(kReady, launched() + questions() + ended() + taken_down(false));
  add(kReady, {submit(1, wide_job()), record(HeadRecord::kClientGone, 1)});
  add(kReady, {submit(1, wide_job()), record(HeadRecord::kTimer, 0, "\xff")});
  add(kReady, launched() + lost + ended());
  add(kReady, launched() + taken_down(true));
  add(kReady, neighbours() + launched() + neighbours());
  add(kReady, {record(HeadRecord::kEnd, 0)});
  add(kStarting, Story{submit(1, core::job_spec(1))} + started() + questions());
  add(kStarting, started() + launched() + ended());
  add(kStarting, {record(HeadRecord::kLauncher, 1, "\1"), record(HeadRecord::kTimer, 0)});
}

// ---- a daemon ----

Record down(const wire::DownScatter& scatter) {
  return record_of(DaemonRecord::kDown, 0, scatter);
}

Record launch(std::uint32_t job, std::uint64_t mapped_at, std::int32_t stdin_rank) {
  wire::DownScatter out;
  auto& common = *out.mutable_launch();
  common.set_job(job);
  common.set_attempt(1);
  common.set_nspace("dvm@1");
  common.set_mapped_at(mapped_at);
  common.set_size(2);
  common.set_stdin_rank(stdin_rank);
  common.set_window_bytes(100);
  RankSet participants;
  participants.insert(Rank(kDaemonRank));
  common.set_participants(participants.to_wire().SerializeAsString());
  auto* app = common.add_apps();
  app->add_argv("sh");
  app->set_working_directory("/tmp");
  for (const auto kind : {wire::EnvDirective::SET, wire::EnvDirective::UNSET,
                          wire::EnvDirective::PREPEND, wire::EnvDirective::APPEND}) {
    auto* directive = app->add_environment();
    directive->set_kind(kind);
    directive->set_name("PATH");
    directive->set_value("/opt");
  }
  auto* slice = out.add_entries()->mutable_body()->mutable_launch();
  slice->set_job(job);
  slice->set_attempt(1);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    slice->add_procs()->set_rank(rank);
    slice->mutable_procs(static_cast<int>(rank))->set_local_rank(rank);
  }
  return down(out);
}

Record signal(std::uint32_t job, int number) {
  wire::DownScatter out;
  auto* body = out.add_entries()->mutable_body()->mutable_signal();
  body->set_job(job);
  body->set_signal(number);
  body->set_terminate(true);
  return down(out);
}

Record forget(std::uint32_t job) {
  wire::DownScatter out;
  out.add_entries()->mutable_body()->mutable_forget()->set_job(job);
  return down(out);
}

Record flow() {
  wire::DownScatter out;
  auto* credit = out.add_entries()->mutable_body()->mutable_credit();
  credit->set_job(1);
  credit->set_bytes(50);
  auto* input = out.add_entries()->mutable_body()->mutable_input();
  input->set_job(1);
  input->set_eof(true);
  out.add_entries()->mutable_body()->mutable_ping();
  return down(out);
}

Story processes(const std::vector<std::string>& choices) {
  Story out;
  for (std::uint8_t who = 0; who < 2; ++who) {
    for (const auto& choice : choices) out.push_back(record(DaemonRecord::kProcess, who, choice));
  }
  return out;
}

Record operation(const wire::Operation& operation) {
  return record_of(DaemonRecord::kOperation, 0, operation);
}

Story children() {
  wire::LinkMessage attach;
  attach.mutable_attach()->set_applied(1);
  wire::LinkMessage ack;
  ack.mutable_operation_ack()->set_serial(2);
  wire::LinkMessage up;
  up.mutable_up()->set_origin(5);
  up.mutable_up()->set_seq(1);
  wire::LinkMessage reduction;
  reduction.mutable_reduction()->mutable_id()->set_job(1);
  reduction.mutable_reduction()->mutable_participants()->add_ranges()->set_last(6);
  reduction.mutable_reduction()->add_contributions()->set_rank(5);
  return {record(DaemonRecord::kLinkUp, 5),         record_of(DaemonRecord::kMessage, 1, attach),
          record(DaemonRecord::kLinkUp, 6),         record_of(DaemonRecord::kMessage, 2, attach),
          record_of(DaemonRecord::kMessage, 1, up), record_of(DaemonRecord::kMessage, 1, reduction),
          record_of(DaemonRecord::kMessage, 2, ack)};
}

Story membership() {
  wire::Operation leave;
  *leave.mutable_membership()->mutable_left() = RankSet(Rank(5)).to_wire();
  leave.mutable_membership()->add_moved()->set_rank(1);
  wire::Operation join;
  *join.mutable_membership()->mutable_joined() = RankSet(Rank(7)).to_wire();
  wire::Operation release;
  release.mutable_release()->set_failpoint("x");
  return {operation(leave), operation(join), operation(release)};
}

Story reattach() {
  wire::LinkMessage resync;
  resync.mutable_resync();
  return {record(DaemonRecord::kLinkDown, 0, std::string(1, '\0')),
          record(DaemonRecord::kConnected, 0, "\1"), record(DaemonRecord::kTimer, 0),
          record(DaemonRecord::kConnected, 0), record_of(DaemonRecord::kMessage, 1, resync)};
}

// What goes on to the children, beside something for the daemon itself.
Record relayed() {
  wire::LinkMessage out;
  for (const std::uint32_t rank : {2U, 5U, 6U}) {
    auto* entry = out.mutable_down()->add_entries();
    entry->set_destination(rank);
    entry->set_seq(1);
    entry->mutable_body()->mutable_launch()->set_job(1);
  }
  out.mutable_down()->mutable_launch()->set_job(1);
  return record_of(DaemonRecord::kMessage, 0, out);
}

Record snapshot() {
  wire::LinkMessage out;
  out.mutable_snapshot()->set_serial(3);
  out.mutable_snapshot()->set_span(4);
  out.mutable_snapshot()->set_radix(1);
  *out.mutable_snapshot()->mutable_living() = RankSet::range(Rank(1), Rank(3)).to_wire();
  auto* parent = out.mutable_snapshot()->add_ancestors();
  parent->set_rank(1);
  parent->add_endpoints()->set_port(4000);
  return record_of(DaemonRecord::kMessage, 0, out);
}

void add_daemon(Seeds& seeds) {
  const auto add = [&seeds](const std::string& mode, const Story& story) {
    seeds.add("fuzz_daemon", mode + join_records(story));
  };
  const std::string spawned(1, '\0');
  const Story run = processes({spawned, "\4output", "\5", "\x0d", "\2", "\6"});
  const Story timers = {record(DaemonRecord::kTimer, 0), record(DaemonRecord::kTimer, 1),
                        record(DaemonRecord::kTimer, 0)};
  const Record swept = record(DaemonRecord::kSwept, 0, spawned);
  add(kReady,
      Story{launch(1, 1, 0), flow()} + run + Story{swept, forget(1), launch(2, 1, -1)} + timers);
  add(kReady, Story{launch(1, 1, -1)} + processes({"\1why"}) + Story{forget(1)});
  add(kReady, Story{launch(1, 1, 1)} + processes({spawned}) + Story{signal(1, 2)} + timers +
                  timers + processes({"\x4b"}) + timers);
  add(kReady, Story{launch(1, 2, -1), signal(1, 15)});
  add(kReady, Story{launch(1, 3, -1)} + membership() + run);
  add(kReady, children() + membership() + Story{launch(1, 1, -1)} + run + timers);
  add(kReady, Story{launch(1, 1, 0)} + processes({spawned, "\2"}) + reattach() + timers);
  add(kReady, children() + Story{relayed()} + reattach() + membership());
  wire::Operation shutdown;
  shutdown.mutable_shutdown();
  add(kReady, {launch(1, 1, -1), operation(shutdown)});
  add(kStarting, Story{snapshot(), record(DaemonRecord::kConnected, 0)} + membership());
  add(kStarting, {record(DaemonRecord::kLinkDown, 0, "\2")});
  add(kReady, {record(DaemonRecord::kEnd, 0)});
}

}  // namespace

void add_core_seeds(Seeds& seeds) {
  add_head(seeds);
  add_daemon(seeds);
}

}  // namespace tide::fuzz
