// The head's core: daemons that hold the key and say anything, clients that ask for anything.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/head_rig.hpp"
#include "tests/fuzz/core_world.hpp"
#include "tests/fuzz/record_kinds.hpp"
#include "tests/fuzz/records.hpp"

namespace tide::fuzz {
namespace {

class HeadWorld {
 public:
  explicit HeadWorld(std::uint8_t mode) : rig_(kHeadNodes, loud()), ready_((mode & 1U) != 0) {
    if (ready_) {
      rig_.make_ready();
    } else {
      rig_.start();
    }
    for (std::uint32_t rank = 1; rank <= kHeadNodes; ++rank) links_.emplace_back(rank);
    digest();
  }

  void happen(const Record& record) {
    if (over_) return;
    step(record);
    digest();
  }
  void be_asked() {
    require_readable(rig_.head.status(100, rig_.now_ms));
    for (const JobId job : rig_.head.jobs().unended_jobs()) {
      wire::JobRef ref;
      ref.set_number(job.value());
      const auto said = rig_.head.explain(ref);
      FUZZ_REQUIRE(said.ok() && !said->waits().empty());
      require_readable(*said);
    }
  }

 private:
  // All notes but the table of states, which never changes.
  static core::HeadConfig loud() {
    auto config = core::HeadRig::verbose_config();
    for (auto* verbosity :
         {&config.jobs.verbosity, &config.roster.verbosity, &config.overlay.verbosity}) {
      verbosity->fill(5);
      verbosity->at(static_cast<std::size_t>(core::Subsystem::kState)) = 4;
    }
    return config;
  }

  void step(const Record& record) {
    switch (static_cast<HeadRecord>(record.kind % kHeadRecords)) {
      case HeadRecord::kMessage:
        return message(record);
      case HeadRecord::kUp:
        return up(record);
      case HeadRecord::kReduction:
        return reduction(record);
      case HeadRecord::kRequest:
        return request(record);
      case HeadRecord::kClientGone:
        return on(core::ClientGone{ClientId(record.who % kHeadClients)});
      case HeadRecord::kLinkDown:
        return on(core::LinkDown{link(record.who), static_cast<core::LinkEnd>(first(record) % 6),
                                 record.body.substr(std::min<std::size_t>(record.body.size(), 1))});
      case HeadRecord::kLinkUp:
        return link_up(record);
      case HeadRecord::kTimer:
        rig_.now_ms += std::uint64_t{first(record)} * 100;
        if (!timers_.empty()) on(timers_.fire(record.who));
        return;
      case HeadRecord::kLauncher:
        return launcher(record);
      case HeadRecord::kEnd:
        may_end_ = true;
        return on(core::EndRequested{"fuzz"});
    }
  }

  static std::uint8_t first(const Record& record) {
    return record.body.empty() ? 0 : static_cast<std::uint8_t>(record.body[0]);
  }
  static Rank daemon(std::uint8_t who) { return Rank(who % kHeadNodes + 1U); }
  LinkId link(std::uint8_t who) const { return links_[who % links_.size()]; }

  void on(const core::HeadEvent& event) {
    core::describe(event);
    rig_.on(event);
  }

  void message(const Record& record) {
    core::MessageIn event{link(record.who), {}, {}};
    if (!event.message.ParseFromString(record.body)) return;
    // Hello, goodbye and heartbeat end at the link.
    on(event);
  }
  // In order, so that it is not dropped as a repetition.
  void up(const Record& record) {
    wire::UpBody body;
    if (!body.ParseFromString(record.body)) return;
    rig_.up(daemon(record.who).value(), std::move(body), "some output\n");
  }
  void reduction(const Record& record) {
    wire::LocalReport local;
    if (!local.ParseFromString(record.body)) return;
    const auto kind =
        (record.who & 1U) != 0 ? wire::ReductionId::ENDED : wire::ReductionId::LAUNCHED;
    rig_.reduce(daemon(record.who >> 1U).value(), kind, 1 + (record.who >> 4U),
                {local.procs().begin(), local.procs().end()});
  }
  void request(const Record& record) {
    core::ClientMessage event{ClientId(record.who % kHeadClients), {}, Bytes("typed\n")};
    if (!event.request.ParseFromString(record.body)) return;
    if (event.request.has_down()) may_end_ = true;
    if (event.request.has_submit()) {
      for (auto& app : *event.request.mutable_submit()->mutable_job()->mutable_apps()) {
        app.set_processes(std::min(app.processes(), kMostProcesses));
      }
    }
    on(event);
  }
  void link_up(const Record& record) {
    const Rank peer(record.who % (kHeadNodes + 2U));
    const std::uint8_t ticket = first(record);
    links_.emplace_back(1000 + links_.size());
    const auto incarnation =
        (ticket & 1U) != 0 ? Incarnation(ticket) : core::HeadRig::incarnation(peer.value());
    on(core::LinkUp{links_.back(), peer, incarnation, (ticket & 2U) != 0 ? 7U : 1U, false});
  }
  // A daemon that ends while the DVM starts ends the start, and the head with it.
  void launcher(const Record& record) {
    const Rank rank(record.who % (kHeadNodes + 2U));
    switch (first(record) % 4) {
      case 0:
        return on(core::DaemonStarted{rank, 4711});
      case 1:
        return on(core::DaemonLaunchFailed{rank, "no such program"});
      case 2:
        return on(core::DaemonExited{rank, "signal 9"});
      default:
        return on(core::ProbeAnswered{rank, (first(record) & 4U) != 0});
    }
  }

  // A daemon or a client may break itself; the head of a DVM that is ready ends only when asked.
  void digest() {
    for (const core::Action& action : rig_.seen) {
      check_action(action);
      if (const auto* timer = std::get_if<core::StartTimer>(&action)) timers_.take(*timer);
      if (std::holds_alternative<core::Exit>(action)) {
        FUZZ_REQUIRE(may_end_ || !ready_);
        over_ = true;
      }
    }
    rig_.seen.clear();
  }

  core::HeadRig rig_;
  bool ready_;
  bool may_end_ = false;
  bool over_ = false;
  std::vector<LinkId> links_;
  RunningTimers timers_;
};

}  // namespace
}  // namespace tide::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tide::fuzz::Input input(tide::fuzz::as_text(data, size));
  tide::fuzz::HeadWorld world(input.byte());
  for (const auto& record : tide::fuzz::cut_records(input.rest())) world.happen(record);
  world.be_asked();
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned int seed) {
  return tide::fuzz::mutate_records(data, size, max_size, seed, 1);
}
