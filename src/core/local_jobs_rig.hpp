// A daemon's jobs, with the test in place of processes, server and head.
#pragma once

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "core/local_jobs.hpp"
#include "core/rank_set.hpp"
#include "core/test_support.hpp"

namespace tide::core {

inline constexpr std::uint32_t kJob = 7;
inline constexpr std::uint32_t kWindow = 1000;

class LocalJobsTest : public ::testing::Test, private HeadPath {
 public:
  static ProcKey key(std::uint32_t rank) { return {JobId(kJob), ProcRank(rank)}; }
  static wire::LaunchCommon common(std::uint64_t mapped_at = 1) {
    wire::LaunchCommon out;
    out.set_job(kJob);
    out.set_attempt(1);
    out.set_nspace("dvm@7");
    out.set_mapped_at(mapped_at);
    out.set_size(4);
    out.set_stdin_rank(2);
    out.set_window_bytes(kWindow);
    RankSet participants;
    participants.insert(Rank(1));
    participants.insert(Rank(3));
    out.set_participants(participants.to_wire().SerializeAsString());
    auto* app = out.add_apps();
    app->add_argv("prog");
    app->add_argv("arg");
    app->set_working_directory("/tmp");
    auto* directive = app->add_environment();
    directive->set_name("TIDE_RANK");
    directive->set_value("from the user");
    return out;
  }
  static wire::LaunchSlice slice(std::initializer_list<std::uint32_t> ranks) {
    wire::LaunchSlice out;
    out.set_job(kJob);
    out.set_attempt(1);
    for (const auto rank : ranks) {
      auto* proc = out.add_procs();
      proc->set_rank(rank);
      proc->set_local_rank(rank - 2);
    }
    return out;
  }
  // The local server knows at once what it is told.
  void register_all() {
    for (const auto& wish : all_of<RegisterJob>(out)) {
      jobs.handle(JobRegistered{wish.job, wish.launch->attempt()});
    }
    std::erase_if(out, [](const auto& a) { return std::holds_alternative<RegisterJob>(a); });
  }
  void launch(const wire::LaunchCommon& what, const wire::LaunchSlice& part, Serial serial) {
    jobs.launch(what, part, serial);
    register_all();
  }
  void applied(Serial serial) {
    jobs.on_applied(serial);
    register_all();
  }
  // Processes 2 and 3 of the job, both running.
  void run_two() {
    launch(common(), slice({2, 3}), Serial(1));
    jobs.handle(ProcSpawned{key(2), 502});
    jobs.handle(ProcSpawned{key(3), 503});
    out.clear();
    sent.clear();
    contributed.clear();
  }
  void close_output(std::uint32_t rank) {
    jobs.handle(ProcOutputClosed{key(rank), wire::STDOUT});
    jobs.handle(ProcOutputClosed{key(rank), wire::STDERR});
  }
  void order(int signal, bool terminate = true, std::uint32_t grace_ms = 0) {
    wire::SignalJob message;
    message.set_job(kJob);
    message.set_signal(signal);
    message.set_grace_ms(grace_ms);
    message.set_terminate(terminate);
    jobs.signal(message);
  }
  bool fire(TimerKind kind) {
    const std::uint32_t subject = kind == TimerKind::kSweep ? 0 : kJob;
    return timers.take(firing(out, kind, subject)) && jobs.handle_timer(kind, subject);
  }
  // (process, signal) of what was signalled since, which is then forgotten; timers stay.
  std::vector<std::pair<std::uint32_t, int>> signals() {
    std::vector<std::pair<std::uint32_t, int>> list;
    for (const auto& signal : all_of<SignalProc>(out)) {
      list.emplace_back(signal.proc.rank.value(), signal.signal);
    }
    std::erase_if(out, [](const auto& a) { return std::holds_alternative<SignalProc>(a); });
    return list;
  }
  static wire::LocalReport report_in(const wire::Reduction& reduction) {
    wire::LocalReport local;
    local.ParseFromString(reduction.contributions(0).data());
    return local;
  }
  std::vector<wire::Reduction> contributions(wire::ReductionId::Kind kind) const {
    std::vector<wire::Reduction> list;
    for (const auto& one : contributed) {
      if (one.id().kind() == kind) list.push_back(one);
    }
    return list;
  }
  // The ends that the head hears of, once what was left behind is swept: at once, here.
  std::vector<wire::Reduction> ends() {
    for (const auto& sweep : all_of<SweepJob>(out)) jobs.handle(JobSwept{sweep.job, 0});
    return contributions(wire::ReductionId::ENDED);
  }

  void send_to_head(wire::UpBody body, Bytes payload) override {
    sent.emplace_back(std::move(body), std::move(payload));
  }
  void contribute(const wire::Reduction& reduction) override { contributed.push_back(reduction); }

  std::vector<std::pair<wire::UpBody, Bytes>> sent;
  std::vector<wire::Reduction> contributed;
  TimerBook timers;
  Actions out;
  LocalJobs jobs{LocalJobsConfig{.self = Rank(3), .node = "v3", .files_root = {}}, *this, timers,
                 out};
};

}  // namespace tide::core
