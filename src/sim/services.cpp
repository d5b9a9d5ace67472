#include "sim/services.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "core/pmix_words.hpp"
#include "sim/changes.hpp"
#include "sim/processes.hpp"
#include "sim/world.hpp"

namespace tide::sim {

using core::ProcKey;

namespace {

constexpr std::uint64_t kPurpose = 0x73657276;
constexpr std::uint64_t kProgramPurpose = kPurpose + 1;
constexpr std::uint64_t kStepUs = 700;
constexpr std::uint64_t kFetchUs = 2'000;

std::uint32_t number_in(const std::string& text) {
  const auto number = parse_int(text);
  return number ? static_cast<std::uint32_t>(*number) : 0;
}

std::string put_by(ProcKey who) {
  return fmt::format("put by {} of {}", who.rank.value(), who.job.value());
}

}  // namespace

Services::Services(World& world)
    : world_(world), gatherings_(*this), events_(*this), tools_(*this), reservations_(*this) {}

// ---- what the cores want done ----

bool Services::perform(HostId host, const core::Action& action) {
  if (const auto* done = std::get_if<core::AnswerCollective>(&action)) {
    answered(host, done->ticket, {done->status, done->data, done->context, {}, {}});
  } else if (const auto* put = std::get_if<core::AnswerModex>(&action)) {
    answered(host, put->ticket, {put->status, put->data, 0, {}, {}});
  } else if (const auto* answer = std::get_if<core::AnswerService>(&action)) {
    const auto& body = answer->answer;
    const auto status =
        body.error_code() == 0
            ? ok_status()
            : Status(Error{static_cast<ErrorCode>(body.error_code()), body.error_message()});
    answered(host, answer->ticket, {status, {}, 0, body, {}});
  } else if (const auto* tool = std::get_if<core::AnswerTool>(&action)) {
    answered(host, tool->ticket, {tool->status, {}, 0, {}, tool->name});
  } else if (const auto* wish = std::get_if<core::FetchModex>(&action)) {
    fetch(host, *wish);
  } else if (const auto* guest = std::get_if<core::RegisterGuest>(&action)) {
    register_guest(host, guest->launch->nspace());
  } else if (const auto* over = std::get_if<core::DeregisterGuest>(&action)) {
    guests_.erase({host, over->nspace});
  } else if (const auto* event = std::get_if<core::DeliverEvent>(&action)) {
    const auto code = event->notice.code();
    if (code == core::kEventJobStart || code == core::kEventJobEnd) {
      tools_.on_job_notice(host, event->notice);
    } else if (code == core::kEventDvmIsReady || code == core::kEventDvmModFailed ||
               code == core::kEventAllocationWarning) {
      if (!reservations_.on_event(host, event->notice)) {
        world_.changes().on_event(host, event->notice);
      }
    } else if (code == core::kEventDebuggerRelease) {
      world_.processes().release(host, job_of(event->notice.targets().names(0).nspace()));
    } else if (code != core::kEventGroupMemberFailed) {
      events_.on_delivered(host, event->notice);
    }
  } else if (const auto* output = std::get_if<core::DeliverOutput>(&action)) {
    tools_.on_output(host, *output);
  } else {
    return false;
  }
  return true;
}

std::uint64_t Services::ticket(HostId host, bool must, Then then) {
  tickets_[++last_ticket_] = Ticket{host, must, std::move(then)};
  return last_ticket_;
}

void Services::excuse(std::uint64_t ticket) {
  const auto found = tickets_.find(ticket);
  if (found != tickets_.end()) found->second.must = false;
}

void Services::answered(HostId host, std::uint64_t number, const Given& given) {
  const auto ticket = tickets_.extract(number);
  if (ticket.empty() || ticket.mapped().host != host) {
    throw BrokenPromise("one answer per request",
                        fmt::format("ticket {} on host {}", number, host));
  }
  ticket.mapped().then(given);
}

void Services::later(HostId host, std::uint64_t most_us, std::function<void()> what) {
  Chance chance = world_.chance(kPurpose).of(++delays_);
  const What name{What::Kind::kProcess, host, kPurpose + delays_};
  world_.schedule().after(chance.between(1, most_us), name,
                          [this, host, what = std::move(what)] { world_.wake(host, what); });
}

std::uint64_t Services::ask(HostId host, bool must, wire::ServiceRequest request, Then then) {
  core::ServiceAsked event;
  event.ticket = ticket(host, must, std::move(then));
  event.request = std::move(request);
  world_.tell(host, event);
  return event.ticket;
}

void Services::register_guest(HostId host, const std::string& nspace) {
  const Job* job = find(job_of(nspace));
  const bool hosted =
      job != nullptr && std::ranges::any_of(job->members, [&](const Member& member) {
        return member.host == host && !member.over;
      });
  if (hosted) throw BrokenPromise("a guest is a job of others", nspace);
  if (!guests_.insert({host, nspace}).second) {
    throw BrokenPromise("a guest is introduced once", fmt::format("{} on host {}", nspace, host));
  }
  later(host, kFetchUs,
        [this, host, nspace] { world_.tell(host, core::GuestRegistered{nspace, ok_status()}); });
}

// What one that has not begun will put is waited for.
void Services::fetch(HostId host, const core::FetchModex& wish) {
  const ProcKey whose = key_of(wish.whose);
  const Member* member = find(whose);
  if (member != nullptr && !member->begun && !member->over) {
    early_fetches_[whose].emplace_back(host, wish.fetch);
  } else {
    later(host, kFetchUs,
          [this, host, whose, number = wish.fetch] { answer_fetch(host, whose, number); });
  }
}

void Services::answer_fetch(HostId host, ProcKey whose, std::uint64_t number) {
  core::ModexFetched answer{number, ok_status(), Bytes(put_by(whose))};
  if (find(whose) == nullptr || is_over(whose)) {
    answer.status = Error{ErrorCode::kNotFound, "it has ended"};
    answer.data = {};
  }
  world_.tell(host, answer);
}

// ---- jobs ----

const Services::Job* Services::find(JobId id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : &found->second;
}

const Services::Member* Services::find(ProcKey who) const {
  const Job* job = find(who.job);
  return job == nullptr || who.rank.value() >= job->members.size()
             ? nullptr
             : &job->members[who.rank.value()];
}

Services::Member* Services::find(ProcKey who) {
  return const_cast<Member*>(std::as_const(*this).find(who));
}

JobId Services::job_of(const std::string& nspace) {
  const auto at = nspace.find('@');
  if (at == std::string::npos) return JobId(0);
  return JobId(number_in(nspace.substr(at + 1)));
}

std::string Services::note_spawn(JobPlan plan, std::optional<ProcKey> parent) {
  spawns_.push_back(Spawn{plan, parent});
  return std::to_string(spawns_.size());
}

std::optional<std::string> Services::correlation_of(const std::string& nspace) const {
  const JobId job = job_of(nspace);
  for (std::size_t i = 0; i < spawns_.size(); ++i) {
    if (spawns_[i].job == job) return std::to_string(i + 1);
  }
  return std::nullopt;
}

JobId Services::job_with(const std::string& correlation) const {
  return spawns_.at(number_in(correlation) - 1).job;
}

std::string Services::parent_of(const std::string& correlation) const {
  const auto& parent = spawns_.at(number_in(correlation) - 1).parent;
  return parent ? correlation_of("sim@" + std::to_string(parent->job.value())).value_or("") : "";
}

// Also of one that never ran the name is told.
void Services::on_spawned(const std::string& correlation, const Given& given) {
  if (!given.answer.has_spawned()) return;
  spawns_.at(number_in(correlation) - 1).job = job_of(given.answer.spawned().nspace());
}

const JobPlan* Services::plan_of(JobId job) const {
  const auto found = std::ranges::find(spawns_, job, &Spawn::job);
  return found == spawns_.end() ? nullptr : &found->plan;
}

void Services::on_registered(HostId host, const wire::LaunchCommon& launch) {
  const JobId id{launch.job()};
  if (!launch.correlation().empty()) {
    spawns_.at(number_in(launch.correlation()) - 1).job = id;
  }
  if (!jobs_.contains(id)) learn(host, launch);
  const auto job = jobs_.find(id);
  if (job == jobs_.end()) return;
  for (auto& member : job->second.members) {
    if (member.daemon == daemon_of(host)) member.host = host;
  }
}

void Services::learn(HostId /*host*/, const wire::LaunchCommon& launch) {
  const JobId id{launch.job()};
  const JobPlan& plan = world_.plan_of(id);
  auto program = program_of(plan, world_.chance(kProgramPurpose).of(id.value()));
  if (program.empty()) return;
  Job& job = jobs_[id];
  job.id = id;
  job.nspace = launch.nspace();
  job.plan = plan;
  job.program = std::move(program);
  job.members.resize(launch.size());
  for (const auto& host : launch.hosts()) {
    for (const auto& range : host.ranks()) {
      for (auto rank = range.first(); rank <= range.last(); ++rank) {
        job.members.at(rank).daemon = Rank(host.daemon());
      }
    }
  }
  if (plan.spawned) {
    job.spawner = ProcKey{job_of(launch.parent_nspace()), ProcRank(launch.parent_rank())};
  }
}

void Services::on_begun(HostId host, ProcKey who) {
  Member* member = find(who);
  if (member == nullptr) return;
  member->host = host;
  member->begun = true;
  for (const auto& [where, number] : std::exchange(early_fetches_[who], {})) {
    answer_fetch(where, who, number);
  }
  world_.tell(host, core::ProcRegistered{who});
  later(host, kStepUs, [this, who] { advance(who); });
}

void Services::on_ended(HostId host, ProcKey who) {
  Member* member = find(who);
  if (member == nullptr || member->over) return;
  member->over = true;
  for (const auto& [where, number] : std::exchange(early_fetches_[who], {})) {
    answer_fetch(where, who, number);
  }
  gatherings_.on_ended(who, host);
}

bool Services::is_busy(ProcKey who) const {
  const Member* member = find(who);
  return member != nullptr && !member->done;
}

void Services::host_gone(HostId host) {
  gatherings_.host_gone(host);
  tools_.host_gone(host);
  std::erase_if(tickets_, [host](const auto& entry) { return entry.second.host == host; });
  std::erase_if(guests_, [host](const auto& entry) { return entry.first == host; });
  for (auto& [id, job] : jobs_) {
    for (auto& member : job.members) {
      if (member.host == host) member.over = true;
    }
  }
}

// ---- who is where ----

wire::ProcName Services::name_of(ProcKey who) const {
  return core::proc_name(jobs_.at(who.job).nspace, who.rank.value());
}

HostId Services::host_of(ProcKey who) const {
  return find(who)->host.value_or(kHeadHost);
}

bool Services::is_on(ProcKey who, HostId host) const {
  const Member* member = find(who);
  return member != nullptr && member->daemon == daemon_of(host);
}

bool Services::is_over(ProcKey who) const {
  return find(who)->over;
}

// A daemon that is ordered to leave is no member any more, whether its processes have ended or not.
bool Services::is_lost(ProcKey who) const {
  const Member* member = find(who);
  if (member == nullptr || member->over || !member->begun) return true;
  const auto& nodes = world_.head().roster().nodes();
  const auto node = nodes.find(member->daemon);
  return node == nodes.end() || node->second.state == core::NodeState::kDeparting;
}

bool Services::is_known_on(const std::string& nspace, HostId host) const {
  const Job* job = find(job_of(nspace));
  const bool hosted = job != nullptr && std::ranges::any_of(job->members, [&](const auto& member) {
                        return member.host == host;
                      });
  return hosted || guests_.contains({host, nspace});
}

Rank Services::daemon_of(HostId host) const {
  return host == kHeadHost ? kHeadRank : world_.hosts().at(host).identity.rank;
}

std::uint64_t Services::logged(ProcKey who) const {
  const auto found = logged_.find(who);
  return found == logged_.end() ? 0 : found->second;
}

void Services::count(Act act, bool well) {
  const auto index = static_cast<std::size_t>(ask_of(act));
  ++world_.journal().counts.asked.at(index);
  if (well) ++world_.journal().counts.served.at(index);
}

// ---- promises ----

void Services::when_quiet() const {
  const auto broken = [](const std::string& what) {
    throw BrokenPromise("who waits is answered", what);
  };
  for (const auto& [number, ticket] : tickets_) {
    if (ticket.must && world_.is_alive(ticket.host)) {
      broken(fmt::format("ticket {} on host {} is open", number, ticket.host));
    }
  }
  events_.when_quiet();
  tools_.when_quiet();
  const auto forgotten = [](const std::string& what) {
    throw BrokenPromise("nothing is kept of who is gone", what);
  };
  if (!guests_.empty()) forgotten("a guest is left: " + guests_.begin()->second);
  const auto& desk = world_.head().services();
  if (!desk.idle()) forgotten("somebody waits at the head");
  if (desk.tools() != 0) forgotten(fmt::format("{} tools are left", desk.tools()));
  if (!desk.groups().empty()) forgotten("the group " + desk.groups().begin()->first);
  const auto [must, may] = published_.left();
  if (desk.published() < must || desk.published() > may) {
    forgotten(fmt::format("{} published, and not {} to {}", desk.published(), must, may));
  }
  for (const auto& [id, host] : world_.hosts()) {
    if (id == kHeadHost || !host.alive || host.core->services().idle()) continue;
    forgotten(fmt::format("host {} keeps something", id));
  }
}

}  // namespace tide::sim
