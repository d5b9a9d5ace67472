// A daemon's core: a parent and neighbours that hold the key and say anything.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/bulk.hpp"
#include "core/daemon_core.hpp"
#include "exec/environment.hpp"
#include "tests/fuzz/core_world.hpp"
#include "tests/fuzz/record_kinds.hpp"
#include "tests/fuzz/records.hpp"

namespace tide::fuzz {
namespace {

class DaemonWorld {
 public:
  explicit DaemonWorld(std::uint8_t mode) : core_(loud()) {
    wire::Report report;
    report.set_node("v2");
    digest(core_.start({}, report));
    connected(true);
    if ((mode & 1U) == 0) return;
    wire::LinkMessage message;
    *message.mutable_snapshot() = snapshot();
    on(core::MessageIn{links_.front(), std::move(message), {}});
  }

  void happen(const Record& record) {
    if (!over_) step(record);
  }

 private:
  static core::DaemonConfig loud() {
    core::DaemonConfig config;
    config.overlay.self = config.jobs.self = Rank(kDaemonRank);
    config.jobs.node = "v2";
    config.overlay.verbosity.fill(5);
    config.jobs.verbosity.fill(5);
    return config;
  }
  static Incarnation incarnation(Rank rank) { return Incarnation(1000 + rank.value()); }
  static wire::Snapshot snapshot() {
    wire::Snapshot out;
    out.set_serial(1);
    out.set_span(kDaemonRanks);
    out.set_radix(2);
    *out.mutable_living() = core::RankSet::range(Rank(1), Rank(kDaemonRanks - 1)).to_wire();
    return out;
  }

  void step(const Record& record) {
    const std::uint8_t choice = record.body.empty() ? 0 : static_cast<std::uint8_t>(record.body[0]);
    switch (static_cast<DaemonRecord>(record.kind % kDaemonRecords)) {
      case DaemonRecord::kMessage:
        return message(record);
      case DaemonRecord::kDown:
        return down(record);
      case DaemonRecord::kOperation:
        return operation(record);
      case DaemonRecord::kConnected:
        return connected((choice & 1U) == 0);
      case DaemonRecord::kLinkDown:
        return link_down(record, choice);
      case DaemonRecord::kLinkUp:
        return link_up(record, choice);
      case DaemonRecord::kProcess:
        return process(record, choice);
      case DaemonRecord::kTimer:
        if (!timers_.empty()) on(timers_.fire(record.who));
        return;
      case DaemonRecord::kEnd:
        return on(core::EndRequested{"fuzz"});
      case DaemonRecord::kSwept:
        if (!sweeping_.empty()) {
          const JobId job = sweeping_[record.who % sweeping_.size()];
          std::erase(sweeping_, job);
          on(core::JobSwept{job, choice});
        }
        return;
    }
  }

  LinkId link(std::uint8_t who) const { return links_[who % links_.size()]; }

  void message(const Record& record) {
    core::MessageIn event{link(record.who), {}, Bytes("typed\n")};
    if (event.message.ParseFromString(record.body)) on(event);
  }
  void down(const Record& record) {
    core::MessageIn event{link(record.who), {}, Bytes("typed\n")};
    auto& scatter = *event.message.mutable_down();
    if (!scatter.ParseFromString(record.body)) return;
    for (auto& entry : *scatter.mutable_entries()) {
      entry.set_destination(kDaemonRank);
      entry.set_seq(++sequence_[core::is_bulk(entry.body())]);
    }
    on(event);
  }
  void operation(const Record& record) {
    core::MessageIn event{link(record.who), {}, {}};
    auto& operation = *event.message.mutable_operation();
    if (!operation.ParseFromString(record.body)) return;
    operation.set_serial(core_.overlay().membership().serial().value() + 1);
    on(event);
  }
  void connected(bool answers) {
    if (!connecting_) return;
    const Rank peer = *std::exchange(connecting_, std::nullopt);
    if (!answers) return on(core::ConnectFailed{peer, true, "refused"});
    links_.emplace_back(1 + links_.size());
    on(core::LinkUp{links_.back(), peer, incarnation(peer), 1, true});
  }
  void link_down(const Record& record, std::uint8_t choice) {
    if (record.body.size() > 1) return;
    on(core::LinkDown{link(record.who), static_cast<core::LinkEnd>(choice % 6), "gone"});
  }
  void link_up(const Record& record, std::uint8_t choice) {
    const Rank peer(record.who % (kDaemonRanks + 2U));
    links_.emplace_back(1 + links_.size());
    on(core::LinkUp{links_.back(), peer,
                    (choice & 1U) != 0 ? Incarnation(choice) : incarnation(peer), 1, false});
  }
  void process(const Record& record, std::uint8_t choice) {
    if (processes_.empty()) return;
    auto chosen = processes_.begin();
    std::advance(chosen, static_cast<std::ptrdiff_t>(record.who % processes_.size()));
    const core::ProcKey key = *chosen;
    const auto stream = (choice & 8U) != 0 ? wire::STDERR : wire::STDOUT;
    switch (choice & 7U) {
      case 0:
        return on(core::ProcSpawned{key, 77});
      case 1:
        return on(core::ProcSpawnFailed{key, Error{ErrorCode::kNotFound, record.body}});
      case 2:
        return on(core::ProcExited{key, choice >> 3U, 0});
      case 3:
        return on(core::ProcExited{key, 0, choice >> 3U});
      case 4:
        return on(core::ProcOutput{key, stream, Bytes(record.body)});
      case 5:
        return on(core::ProcOutputClosed{key, stream});
      case 6:
        return on(core::ProcTraced{
            .proc = key, .pid = choice, .text = record.body, .cut = (choice & 8U) != 0});
      default:
        return on(core::ProcInputTaken{key, choice});
    }
  }

  void on(const core::DaemonEvent& event) {
    core::describe(event);
    digest(core_.on(event, 0));
  }

  // The table of processes knows each once, from the order to start it until it is forgotten.
  void digest(const core::Actions& actions) {
    for (const core::Action& action : actions) {
      check_action(action);
      if (const auto* timer = std::get_if<core::StartTimer>(&action)) timers_.take(*timer);
      if (const auto* wish = std::get_if<core::Connect>(&action)) connecting_ = wish->peer;
      if (const auto* spawn = std::get_if<core::SpawnProc>(&action)) {
        FUZZ_REQUIRE(processes_.insert(spawn->proc).second);
        FUZZ_REQUIRE(spawn->program != nullptr);
        prepare_environment(*spawn);
      }
      if (const auto* gone = std::get_if<core::ForgetProc>(&action)) processes_.erase(gone->proc);
      if (const auto* sweep = std::get_if<core::SweepJob>(&action)) sweeping_.push_back(sweep->job);
      if (std::holds_alternative<core::Exit>(action)) over_ = true;
    }
    register_jobs(actions);
    answer_files(actions);
  }

  // The disk is fast, and now and then full.
  void answer_files(const core::Actions& actions) {
    for (const core::Action& action : actions) {
      if (const auto* file = std::get_if<core::StageFile>(&action)) {
        const bool full = file->chunk.number() % 5 == 0;
        on(core::FileStaged{file->job, file->chunk.number(),
                            full ? Status(Error{ErrorCode::kSystem, "full"}) : ok_status(), "f"});
      } else if (const auto* removal = std::get_if<core::RemoveJobFiles>(&action)) {
        on(core::FilesRemoved{removal->job});
      }
    }
  }

  // The local server knows at once what it is told.
  void register_jobs(const core::Actions& actions) {
    for (const core::Action& action : actions) {
      const auto* wish = std::get_if<core::RegisterJob>(&action);
      if (wish != nullptr) on(core::JobRegistered{wish->job, wish->launch->attempt()});
    }
  }

  // What would be done with the environment that somebody else wrote: two ways, one result.
  void prepare_environment(const core::SpawnProc& spawn) {
    std::vector<wire::EnvDirective> directives = spawn.program->environment;
    directives.insert(directives.end(), spawn.environment.begin(), spawn.environment.end());
    FUZZ_REQUIRE(environments_.build(directives).strings() ==
                 exec::apply_directives(base_environment(), directives));
  }
  static exec::Environment base_environment() { return {"PATH=/bin", "EMPTY="}; }

  core::DaemonCore core_;
  bool over_ = false;
  std::vector<LinkId> links_;
  std::optional<Rank> connecting_;
  std::map<bool, std::uint64_t> sequence_;  // by: is it bulk
  std::set<core::ProcKey> processes_;
  std::vector<JobId> sweeping_;
  RunningTimers timers_;
  exec::EnvironmentCache environments_{base_environment()};
};

}  // namespace
}  // namespace tide::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tide::fuzz::Input input(tide::fuzz::as_text(data, size));
  tide::fuzz::DaemonWorld world(input.byte());
  for (const auto& record : tide::fuzz::cut_records(input.rest())) world.happen(record);
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned int seed) {
  return tide::fuzz::mutate_records(data, size, max_size, seed, 1);
}
