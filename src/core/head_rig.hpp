// A head with daemons played by the test: they hang directly on the head, report, attach and say
// what the test makes them say.
#pragma once

#include <csignal>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/bulk.hpp"
#include "core/head_core.hpp"
#include "core/test_support.hpp"

namespace tide::core {

inline wire::JobSpec job_spec(std::uint32_t processes, const std::string& program = "prog") {
  wire::JobSpec out;
  out.set_stdin_rank(-1);
  auto* app = out.add_apps();
  app->add_argv(program);
  app->set_processes(processes);
  return out;
}

inline wire::ProcReport proc_report(std::uint32_t job, std::uint32_t rank, ProcState state,
                                    int exit_code = 0, int signal = 0) {
  wire::ProcReport out;
  out.set_job(job);
  out.set_rank(rank);
  out.set_pid(500 + rank);
  out.set_state(static_cast<std::uint32_t>(state));
  out.set_exit_code(exit_code);
  out.set_signal(signal);
  return out;
}

class HeadRig {
 public:
  static constexpr std::uint32_t kSlots = 2;

  explicit HeadRig(std::uint32_t nodes, HeadConfig config = verbose_config())
      : nodes_(nodes), head(std::move(config)) {}

  static HeadConfig verbose_config() {
    HeadConfig out;
    out.dvm_id = out.jobs.dvm_id = "dvm";
    out.jobs.verbosity.fill(1);
    out.roster.verbosity.fill(1);
    return out;
  }
  static Incarnation incarnation(std::uint32_t rank) { return Incarnation(1000 + rank); }

  Actions on(const HeadEvent& event) {
    auto actions = head.on(event, now_ms);
    seen.insert(seen.end(), actions.begin(), actions.end());
    return actions;
  }
  Actions fire(TimerKind kind, std::uint32_t subject = 0) {
    return on(firing(seen, kind, subject));
  }

  // ---- start ----
  Actions start(std::uint32_t slots = kSlots) {
    StartDvm request;
    for (std::uint32_t rank = 1; rank <= nodes_; ++rank) {
      request.nodes.push_back({"v" + std::to_string(rank), slots, incarnation(rank)});
    }
    return on(request);
  }
  Actions link_up(std::uint32_t rank) {
    return on(LinkUp{LinkId(rank), Rank(rank), incarnation(rank), 1, false});
  }
  Actions report(std::uint32_t rank) {
    wire::LinkMessage message;
    message.mutable_report()->set_pid(2000 + rank);
    message.mutable_report()->mutable_topology()->set_cores(3);
    message.mutable_report()->mutable_topology()->set_packages(1);
    message.mutable_report()->mutable_topology()->set_hwthreads(6);
    message.mutable_report()->mutable_topology()->set_cpuset("0-5");
    return say(rank, message);
  }
  Actions attach(std::uint32_t rank) {
    wire::LinkMessage message;
    message.mutable_attach()->set_applied(1);
    message.mutable_attach()->set_acknowledged(1);
    return say(rank, message);
  }
  void make_ready() {
    start();
    for (std::uint32_t rank = 1; rank <= nodes_; ++rank) {
      link_up(rank);
      report(rank);
    }
    for (std::uint32_t rank = 1; rank <= nodes_; ++rank) attach(rank);
  }

  // ---- daemons ----
  Actions say(std::uint32_t rank, wire::LinkMessage message, const std::string& payload = {}) {
    return on(MessageIn{LinkId(rank), std::move(message), Bytes(payload)});
  }
  Actions up(std::uint32_t rank, wire::UpBody body, const std::string& payload = {}) {
    const bool bulk = is_bulk(body);
    wire::LinkMessage message;
    message.mutable_up()->set_origin(rank);
    message.mutable_up()->set_seq(++sequence_[{rank, bulk}]);
    *message.mutable_up()->mutable_body() = std::move(body);
    return say(rank, std::move(message), payload);
  }
  Actions proc_failed(std::uint32_t daemon, const wire::ProcReport& report) {
    wire::UpBody body;
    *body.mutable_proc_failed() = report;
    return up(daemon, std::move(body));
  }
  Actions reduce(std::uint32_t daemon, wire::ReductionId::Kind kind, std::uint32_t job,
                 const std::vector<wire::ProcReport>& reports) {
    wire::LocalReport local;
    for (const auto& one : reports) *local.add_procs() = one;
    wire::LinkMessage message;
    auto* reduction = message.mutable_reduction();
    reduction->mutable_id()->set_kind(kind);
    reduction->mutable_id()->set_job(job);
    reduction->mutable_id()->set_attempt(1);
    auto* contribution = reduction->add_contributions();
    contribution->set_rank(daemon);
    contribution->set_data(local.SerializeAsString());
    return say(daemon, std::move(message));
  }
  Actions launched(std::uint32_t daemon, std::uint32_t job,
                   const std::vector<std::uint32_t>& ranks) {
    std::vector<wire::ProcReport> reports;
    for (const auto rank : ranks) reports.push_back(proc_report(job, rank, ProcState::kRunning));
    return reduce(daemon, wire::ReductionId::LAUNCHED, job, reports);
  }
  // It has received everything that was sent to it so far.
  Actions answer_ping(std::uint32_t rank) {
    constexpr std::uint64_t kMoreThanWasSent = 1000;
    wire::LinkMessage message;
    message.mutable_up()->set_origin(rank);
    message.mutable_up()->set_control_ack(kMoreThanWasSent);
    return say(rank, std::move(message));
  }
  // The daemon's last word about the job: its processes ended so, and no more output comes.
  Actions ended(std::uint32_t daemon, std::uint32_t job, const std::vector<std::uint32_t>& ranks,
                ProcState state = ProcState::kTerminated, int exit_code = 0, int signal = 0) {
    std::vector<wire::ProcReport> reports;
    for (const auto rank : ranks) {
      reports.push_back(proc_report(job, rank, state, exit_code, signal));
    }
    auto actions = reduce(daemon, wire::ReductionId::ENDED, job, reports);
    wire::UpBody body;
    body.mutable_output_complete()->set_job(job);
    const auto more = up(daemon, std::move(body));
    actions.insert(actions.end(), more.begin(), more.end());
    return actions;
  }

  // ---- clients ----
  Actions request(std::uint64_t client, wire::ClientRequest request) {
    request.set_request(static_cast<std::uint32_t>(client) * 10);
    return on(ClientMessage{ClientId(client), std::move(request), {}});
  }
  Actions submit(std::uint64_t client, const wire::JobSpec& spec) {
    wire::ClientRequest message;
    *message.mutable_submit()->mutable_job() = spec;
    return request(client, std::move(message));
  }
  Actions kill(std::uint64_t client, std::uint32_t job, int signal, bool terminate = true) {
    wire::ClientRequest message;
    message.mutable_kill()->mutable_job()->set_number(job);
    message.mutable_kill()->set_signal(signal);
    message.mutable_kill()->set_terminate(terminate);
    return request(client, std::move(message));
  }
  Actions down(std::uint64_t client, bool force = false) {
    wire::ClientRequest message;
    message.mutable_down()->set_force(force);
    return request(client, std::move(message));
  }

 private:
  std::uint32_t nodes_;
  std::map<std::pair<std::uint32_t, bool>, std::uint64_t> sequence_;

 public:
  std::uint64_t now_ms = 100;
  HeadCore head;
  Actions seen;
};

// What is sent down to daemons, bare acknowledgements left out: (destination, body).
inline std::vector<std::pair<std::uint32_t, wire::DownBody>> downs(const Actions& actions) {
  std::vector<std::pair<std::uint32_t, wire::DownBody>> out;
  for (const auto& send : all_of<Send>(actions)) {
    for (const auto& entry : send.message.down().entries()) {
      if (entry.seq() != 0) out.emplace_back(entry.destination(), entry.body());
    }
  }
  return out;
}

// (destination, signal, terminate) of the orders to end among them.
inline std::vector<std::tuple<std::uint32_t, int, bool>> orders(const Actions& actions) {
  std::vector<std::tuple<std::uint32_t, int, bool>> out;
  for (const auto& [rank, body] : downs(actions)) {
    if (body.has_signal())
      out.emplace_back(rank, body.signal().signal(), body.signal().terminate());
  }
  return out;
}

// The last words about jobs.
inline std::vector<wire::JobEnded> endings(const Actions& actions) {
  std::vector<wire::JobEnded> out;
  for (const auto& reply : all_of<Reply>(actions)) {
    if (reply.reply.has_ended()) out.push_back(reply.reply.ended());
  }
  return out;
}

// The states a job went through, as the notes tell them: "INIT_COMPLETE", "ALLOCATE" …
inline std::vector<std::string> states_of(const Actions& actions, const std::string& nspace) {
  std::vector<std::string> out;
  const std::string begin = "job " + nspace + ": ";
  const std::string mark = " -> PRTE_JOB_STATE_";
  for (const auto& note : all_of<Note>(actions)) {
    if (note.subsystem != Subsystem::kState || note.text.rfind(begin, 0) != 0) continue;
    const auto at = note.text.find(mark) + mark.size();
    out.push_back(note.text.substr(at, note.text.find(' ', at) - at));
  }
  return out;
}

}  // namespace tide::core
