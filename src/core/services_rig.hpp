// One head's desk and the services of three daemons, between which everything is carried by the
// test.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/local_jobs.hpp"
#include "core/local_services.hpp"
#include "core/proc_names.hpp"
#include "core/service_desk.hpp"
#include "core/test_support.hpp"

namespace tide::core {

inline wire::ProcName name_of(const std::string& nspace, std::uint32_t rank) {
  wire::ProcName out;
  out.set_nspace(nspace);
  out.set_rank(rank);
  return out;
}

inline wire::ProcNames names_of(std::initializer_list<wire::ProcName> names) {
  wire::ProcNames out;
  for (const auto& name : names) *out.add_names() = name;
  return out;
}

inline CollectiveEntered entered(std::uint64_t ticket, const wire::ProcNames& who,
                                 const std::string& data, std::uint32_t timeout_ms = 0) {
  CollectiveEntered out;
  out.ticket = ticket;
  out.participants = who;
  out.data = Bytes(data);
  out.timeout_ms = timeout_ms;
  return out;
}

inline constexpr std::size_t kRigLimit = 1000;  // of one message

// One daemon: its side of the services, and what it says to the head.
struct Daemon : private HeadPath {
  static constexpr std::uint32_t kWindow = 100;

  explicit Daemon(std::uint32_t rank)
      : self(rank), jobs({.self = Rank(rank), .node = "v", .files_root = {}}, *this, timers, out) {}

  void send_to_head(wire::UpBody body, Bytes payload) override {
    ups.emplace_back(std::move(body), std::move(payload));
  }
  void contribute(const wire::Reduction& reduction) override { reductions.push_back(reduction); }

  // A process of the job is to run here; `daemons` host it.
  void host(std::uint32_t job, const std::string& nspace, std::uint32_t rank,
            const std::vector<std::uint32_t>& daemons = {}) {
    wire::LaunchCommon common;
    for (const std::uint32_t daemon : daemons) common.add_hosts()->set_daemon(daemon);
    common.set_job(job);
    common.set_attempt(1);
    common.set_nspace(nspace);
    common.set_window_bytes(kWindow);
    common.add_apps()->add_argv("prog");
    wire::LaunchSlice slice;
    slice.set_job(job);
    slice.set_attempt(1);
    slice.add_procs()->set_rank(rank);
    jobs.launch(common, slice, Serial(0));
    out.clear();
  }
  void enter(std::uint64_t ticket, const wire::ProcNames& who, const std::string& data,
             std::uint32_t timeout_ms = 0) {
    services.handle(entered(ticket, who, data, timeout_ms));
  }
  // What it wanted done is not looked at again.
  void clear() {
    out.clear();
    looked_at = 0;
  }
  // (ticket, ok, data) of the fences that were answered.
  std::vector<std::tuple<std::uint64_t, bool, std::string>> fences() {
    std::vector<std::tuple<std::uint64_t, bool, std::string>> list;
    for (const auto& answer : all_of<AnswerCollective>(out)) {
      list.emplace_back(answer.ticket, answer.status.ok(), std::string(answer.data.view()));
    }
    return list;
  }

  Rank self;
  TimerBook timers;
  Actions out;
  LocalJobs jobs;
  LocalServices services{self, "dvm", jobs, *this, timers, out, kRigLimit};
  std::deque<std::pair<wire::UpBody, Bytes>> ups;
  std::deque<wire::Reduction> reductions;
  std::size_t looked_at = 0;  // of what it wants done
};

// Job "a" has rank r on daemon r + 1, for three daemons; job "b" is on daemon 3 alone.
class ServicesTest : public ::testing::Test,
                     private JobServices,
                     private AllocationServices,
                     private DaemonPort {
 protected:
  ServicesTest() {
    for (std::uint32_t rank = 1; rank <= 3; ++rank) {
      daemons.emplace_back(rank);
      daemon(rank).host(1, "a", rank - 1);
    }
    daemon(3).host(2, "b", 0);
  }
  Daemon& daemon(std::uint32_t rank) { return daemons.at(rank - 1); }

  // Everything that was said arrives.
  void settle() {
    for (bool busy = true; busy;) {
      busy = false;
      for (auto& one : daemons) busy = carry(one) || busy;
    }
  }
  // The local server takes every guest.
  static void welcome_guests(Daemon& at) {
    for (const Actions seen(at.out.begin() + static_cast<std::ptrdiff_t>(at.looked_at),
                            at.out.end());
         const auto& wish : all_of<RegisterGuest>(seen)) {
      at.services.handle(GuestRegistered{wish.launch->nspace(), ok_status()});
    }
    at.looked_at = at.out.size();
  }
  bool carry(Daemon& from) {
    welcome_guests(from);
    if (from.ups.empty() && from.reductions.empty()) return false;
    for (auto ups = std::exchange(from.ups, {}); auto& [body, payload] : ups) {
      if (body.has_collective_failed()) {
        desk.collectives().on_failed(from.self, body.collective_failed());
      }
      if (body.has_service_request()) desk.on_request(from.self, body.service_request(), payload);
      if (body.has_service_cancel()) desk.on_cancel(from.self, body.service_cancel());
      if (body.has_event()) desk.on_event(from.self, body.event());
      if (body.has_tool_joined()) desk.on_tool_joined(from.self, body.tool_joined());
      if (body.has_tool_left()) desk.on_tool_left(from.self, body.tool_left());
      if (body.has_modex_request()) desk.on_modex_request(from.self, body.modex_request());
      if (body.has_modex_answer()) desk.on_modex_answer(from.self, body.modex_answer(), payload);
    }
    for (const auto& one : std::exchange(from.reductions, {}))
      desk.collectives().on_contributions(one);
    return true;
  }

  [[nodiscard]] std::optional<std::set<Rank>> hosts_of(
      const wire::ProcNames& procs) const override {
    std::set<Rank> out;
    for (const auto& name : procs.names()) {
      if (!jobs_known.contains(name.nspace())) return std::nullopt;
      if (name.nspace() == "b") {
        out.insert(Rank(3));
      } else if (name.rank() == kAllRanks) {
        out.insert({Rank(1), Rank(2), Rank(3)});
      } else if (name.rank() < 3) {
        out.insert(Rank(name.rank() + 1));
      } else {
        return std::nullopt;
      }
    }
    return out;
  }
  [[nodiscard]] bool any_ended(const wire::ProcNames& procs) const override {
    const auto hosts = hosts_of(procs);
    return !hosts ||
           std::ranges::any_of(*hosts, [this](Rank rank) { return ended.contains(rank); });
  }
  void scatter(Slices slices, std::shared_ptr<const wire::LaunchCommon>, Bytes payload) override {
    for (auto& [rank, body] : slices) {
      if (lost.contains(rank)) continue;
      daemon(rank.value()).services.deliver(body, payload);
    }
  }
  [[nodiscard]] std::set<Rank> everybody() const override { return {Rank(1), Rank(2), Rank(3)}; }
  [[nodiscard]] bool reaches(Rank rank) const override { return !lost.contains(rank); }
  void on_share_ended(Rank, const std::string&) override {}
  void extend_for(JobId) override {}
  [[nodiscard]] bool is_scheduler(std::string_view) const override { return false; }
  void on_job_gone(const std::string&) override {}

  // JobServices
  [[nodiscard]] std::shared_ptr<const wire::LaunchCommon> particulars_of(
      const std::string& nspace) const override {
    if (!jobs_known.contains(nspace)) return nullptr;
    auto out = std::make_shared<wire::LaunchCommon>();
    out->set_nspace(nspace);
    return out;
  }
  void spawn(const Requester& from, const wire::ServiceRequest&, bool) override {
    answer(*this, from, Error{ErrorCode::kOutOfResources, "no slots"});
  }
  void cancel_spawn(const Requester&) override {}
  Status control(const wire::ServiceRequest&) override { return ok_status(); }
  void push(const Requester& from, const wire::ServiceRequest&, const Bytes&) override {
    answer(*this, from, ok_status());
  }
  Status pull(Rank, const wire::ServiceRequest&) override { return ok_status(); }
  void on_tool_gone(const wire::ProcName& tool) override { tools_gone.push_back(tool.nspace()); }
  void allocate(const PmixAsker& asker, const wire::AllocationRequest&) override {
    answer(*this, asker.from, ok_status());
  }
  void relay_warning(const wire::TimeoutWarning&, bool) override {}
  [[nodiscard]] std::optional<std::uint64_t> time_left_ms(const std::set<Rank>&) const override {
    return std::nullopt;
  }
  void on_tool_joined(const std::string&) override {}
  void cancel_allocation(const Requester&) override {}
  void on_proc_gone(const wire::ProcName& proc) override { procs_gone.push_back(proc.nspace()); }
  void on_nspace_gone(const std::string&) override {}
  void on_daemon_gone(Rank) override {}
  [[nodiscard]] wire::QueryReply reply_to(Rank, const wire::Question&) const override {
    return reply;
  }

 public:
  std::vector<std::string> tools_gone;
  std::vector<std::string> procs_gone;  // of those who asked for something that they may miss
  const wire::ProcNames all_of_a = names_of({name_of("a", kAllRanks)});
  std::set<std::string> jobs_known{"a", "b"};
  wire::QueryReply reply;  // to every question
  std::set<Rank> lost;
  std::set<Rank> ended;  // all that was there has
  std::deque<Daemon> daemons;
  ServiceDesk desk{*this, *this, *this, kRigLimit};
};

}  // namespace tide::core
