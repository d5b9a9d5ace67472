// One step of a process after the other.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/processes.hpp"
#include "sim/services.hpp"
#include "sim/world.hpp"

namespace tide::sim {

using core::ProcKey;

namespace {

constexpr std::uint64_t kStepUs = 700;
constexpr std::uint32_t kConnection = 1'000'000;  // a step of a job, with those who spawned it
constexpr std::uint64_t kChildPurpose = 0x6368696C;
constexpr std::uint64_t kWishPurpose = 0x77697368;

// Now and then there is a limit.
std::uint32_t draw_timeout(Chance chance) {
  return chance.percent(15) ? chance.small(20, 1'500) : 0;
}

}  // namespace

void Services::proceed(ProcKey who, bool well) {
  Member* member = find(who);
  if (member == nullptr || member->over) return;
  count(jobs_.at(who.job).program.at(member->at).act, well);
  later(*member->host, kStepUs, [this, who] {
    Member& mine = *find(who);
    ++mine.at;
    mine.stage = 0;
    advance(who);
  });
}

void Services::again(ProcKey who) {
  Member* member = find(who);
  if (member == nullptr || member->over) return;
  ++member->stage;
  later(*member->host, kStepUs, [this, who] { advance(who); });
}

bool Services::deserts(const Moment& moment) {
  const JobPlan& plan = moment.job.plan;
  if (plan.trouble != Trouble::kDeserts || plan.trouble_rank != moment.who.rank.value())
    return false;
  const bool last = std::ranges::none_of(
      moment.job.program.begin() + static_cast<std::ptrdiff_t>(moment.member.at) + 1,
      moment.job.program.end(), [](const auto& step) { return step.act == Act::kFence; });
  return moment.step.act == Act::kFence && (last || (moment.step.draw >> 40U) % 2 == 0);
}

void Services::advance(ProcKey who) {
  Job& job = jobs_.at(who.job);
  Member& member = job.members.at(who.rank.value());
  while (!member.over && member.at < job.program.size()) {
    const ServiceStep& step = job.program[member.at];
    const Moment moment{job, member, who, step};
    const auto size = static_cast<std::uint32_t>(job.members.size());
    if (deserts(moment)) break;
    if (takes_part(job.plan, step, who.rank.value(), size) && take_step(moment)) return;
    ++member.at;
    member.stage = 0;
  }
  if (member.over) return;
  member.done = true;
  const bool aborts =
      job.plan.trouble == Trouble::kAborts && job.plan.trouble_rank == who.rank.value();
  if (aborts) {
    world_.tell(*member.host, core::ProcAborted{who, 5, "gives up", {}});
  } else {
    world_.done_with_services(*member.host, who);
  }
}

bool Services::take_step(const Moment& moment) {
  switch (moment.step.act) {
    case Act::kFence:
    case Act::kSubset:
    case Act::kConstruct:
    case Act::kDestruct:
      return gather(moment);
    case Act::kConnect:
    case Act::kDisconnect:
      return gather_with_child(moment);
    case Act::kModex: {
      const auto size = static_cast<std::uint32_t>(moment.job.members.size());
      const ProcKey next{moment.who.job, ProcRank((moment.who.rank.value() + 1) % size)};
      return ask_modex(moment.who, next, moment.step.draw);
    }
    case Act::kMeet:
      return meet(moment);
    case Act::kPublish:
      return publish(moment);
    case Act::kLook:
      return read(moment, fmt::format("k{}.{}", moment.job.id.value(), moment.step.draw), 0);
    case Act::kEvent:
      return raise(moment);
    case Act::kSpawn:
      return spawn(moment);
    case Act::kLog:
      return log(moment);
    case Act::kQuery:
      return query(moment);
    case Act::kAllocate:
      return allocate(moment);
  }
  return false;
}

// ---- together ----

bool Services::gather(const Moment& moment) {
  const Job& job = moment.job;
  const Act act = moment.step.act;
  const Gatherings::Id id{job.id.value(), static_cast<std::uint32_t>(moment.member.at)};
  if (!gatherings_.knows(id)) {
    Gatherings::Plan plan;
    plan.id = id;
    plan.kind = act == Act::kConstruct  ? wire::CollectiveId::GROUP_CONSTRUCT
                : act == Act::kDestruct ? wire::CollectiveId::GROUP_DESTRUCT
                                        : wire::CollectiveId::FENCE;
    const bool group = act == Act::kConstruct || act == Act::kDestruct;
    if (group) plan.name = fmt::format("g{}.{}", job.id.value(), moment.step.draw);
    const auto size = static_cast<std::uint32_t>(job.members.size());
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      if (!takes_part(job.plan, moment.step, rank, size)) continue;
      plan.participants.push_back(ProcKey{job.id, ProcRank(rank)});
      if (act != Act::kFence) *plan.names.add_names() = core::proc_name(job.nspace, rank);
    }
    if (act == Act::kFence) *plan.names.add_names() = core::proc_name(job.nspace, core::kAllRanks);
    plan.timeout_ms = draw_timeout(Chance(moment.step.draw).of(1));
    gatherings_.plan(std::move(plan));
  }
  gatherings_.come(id, moment.who);
  return true;
}

// A process and all of the job that it spawned.
bool Services::gather_with_child(const Moment& moment) {
  const Job* child = moment.job.spawner ? &moment.job : nullptr;
  ProcKey parent = moment.job.spawner.value_or(moment.who);
  if (const auto spawned = children_.find(moment.who); spawned != children_.end()) {
    child = find(job_with(spawned->second));
  }
  if (child == nullptr || find(parent) == nullptr) return false;
  const bool connects = moment.step.act == Act::kConnect;
  const Gatherings::Id id{child->id.value(), kConnection + (connects ? 0 : 1)};
  if (!gatherings_.knows(id)) {
    Gatherings::Plan plan;
    plan.id = id;
    plan.kind = connects ? wire::CollectiveId::CONNECT : wire::CollectiveId::DISCONNECT;
    plan.participants.push_back(parent);
    *plan.names.add_names() = name_of(parent);
    *plan.names.add_names() = core::proc_name(child->nspace, core::kAllRanks);
    for (std::uint32_t rank = 0; rank < child->members.size(); ++rank) {
      plan.participants.push_back(ProcKey{child->id, ProcRank(rank)});
    }
    gatherings_.plan(std::move(plan));
  }
  gatherings_.come(id, moment.who);
  return true;
}

// ---- what others have put ----

// What is on the same node the server has itself.
bool Services::ask_modex(ProcKey who, ProcKey whose, std::uint64_t draw) {
  const Member& member = *find(who);
  const Member* other = find(whose);
  if (other == nullptr || other->daemon == member.daemon) return false;
  const auto timeout_ms = draw_timeout(Chance(draw).of(who.rank.value()));
  core::ModexAsked event;
  event.whose = name_of(whose);
  event.timeout_ms = timeout_ms;
  event.ticket =
      ticket(*member.host, /*must=*/true,
             [this, who, whose, timeout_ms, asked = world_.now_ms()](const Given& given) {
               check_modex(whose, asked, timeout_ms, given);
               proceed(who, given.status.ok());
             });
  world_.tell(*member.host, event);
  return true;
}

void Services::check_modex(ProcKey whose, std::uint64_t asked_ms, std::uint32_t timeout_ms,
                           const Given& given) const {
  const auto wanted = fmt::format("put by {} of {}", whose.rank.value(), whose.job.value());
  if (given.status) {
    if (given.data.view() == wanted) return;
    throw BrokenPromise("a modex brings what the process has put", std::string(given.data.view()));
  }
  const bool late = timeout_ms > 0 && world_.now_ms() - asked_ms >= timeout_ms;
  if (late || is_lost(whose) || world_.down_requested()) return;
  throw BrokenPromise("a modex fails only with its process", given.status.error().message);
}

bool Services::meet(const Moment& moment) {
  if (moment.job.spawner) return ask_modex(moment.who, *moment.job.spawner, moment.step.draw);
  const auto spawned = children_.find(moment.who);
  if (spawned == children_.end()) return false;
  const JobId child = job_with(spawned->second);
  return ask_modex(moment.who, ProcKey{child, ProcRank(0)}, moment.step.draw);
}

// ---- what is published ----

// One publishes, and may do so again and take it back; others wait for it.
bool Services::publish(const Moment& moment) {
  const auto size = static_cast<std::uint32_t>(moment.job.members.size());
  const auto key = fmt::format("k{}.{}", moment.job.id.value(), moment.step.draw);
  Chance chance = Chance(moment.step.draw).of(2);
  if (moment.who.rank.value() != moment.step.draw % size) {
    return read(moment, key, chance.small(20, 800));
  }
  static constexpr std::array kRanges = {wire::RANGE_SESSION,   wire::RANGE_GLOBAL,
                                         wire::RANGE_NAMESPACE, wire::RANGE_LOCAL,
                                         wire::RANGE_CUSTOM,    wire::RANGE_PROC_LOCAL};
  const auto range = kRanges[chance.below(kRanges.size())];
  const auto persistence = static_cast<wire::Persistence>(chance.below(5));
  enum Stage : std::uint32_t { kFirst, kTwice, kTakeBack, kAnew };
  std::uint32_t& stage = moment.member.stage;
  if (stage == kTwice && !chance.percent(30)) ++stage;
  const bool taken_back = Chance(moment.step.draw).of(3).percent(40);
  if (stage == kTakeBack && !taken_back) return false;
  if (stage > kAnew) return false;
  const ProcKey who = moment.who;
  wire::ServiceRequest request;
  *request.mutable_who() = name_of(who);
  if (stage == kTakeBack) {
    request.mutable_unpublish()->add_keys(key);
    published_.take_back(key, request.who());
    ask(*moment.member.host, false, std::move(request), [this, who, key](const Given& given) {
      if (given.status) published_.on_taken_back(key, name_of(who));
      again(who);
    });
    return true;
  }
  auto& terms = *request.mutable_publish();
  terms.set_range(range);
  terms.set_persistence(persistence);
  if (range == wire::RANGE_CUSTOM) {
    const auto reader = static_cast<std::uint32_t>((moment.step.draw >> 8U) % size);
    *terms.mutable_audience()->add_names() = core::proc_name(moment.job.nspace, reader);
  }
  const auto value = fmt::format("{}/{}", key, stage);
  const Published::Person self{moment.member.daemon, request.who()};
  const auto which = published_.publish(key, Published::Value{value, self, terms});
  terms.add_data()->set_key(key);
  terms.mutable_data(0)->set_value(value);
  ask(*moment.member.host, false, std::move(request), [this, who, key, which](const Given& given) {
    published_.on_published(key, which, given.status);
    again(who);
  });
  count(Act::kPublish, true);
  return true;
}

// Without a limit what is there now.
bool Services::read(const Moment& moment, const std::string& key, std::uint32_t timeout_ms) {
  wire::ServiceRequest request;
  *request.mutable_who() = name_of(moment.who);
  request.mutable_lookup()->add_keys(key);
  request.mutable_lookup()->set_wait_for(timeout_ms > 0 ? 1 : 0);
  request.set_timeout_ms(timeout_ms);
  const Published::Person reader{moment.member.daemon, request.who()};
  const auto size = moment.job.members.size();
  const ProcKey publisher{moment.job.id,
                          ProcRank(static_cast<std::uint32_t>(moment.step.draw % size))};
  const auto asked = published_.now();
  ask(*moment.member.host, false, std::move(request),
      [this, who = moment.who, key, reader, asked, publisher, timeout_ms](const Given& given) {
        if (given.status) {
          published_.on_found(key, reader, asked, given.answer.found());
        } else if (timeout_ms == 0) {
          published_.on_nothing(key, reader, asked, !is_over(publisher));
        }
        proceed(who, given.status.ok());
      });
  return true;
}

// ---- events, questions and the rest ----

bool Services::raise(const Moment& moment) {
  Chance chance = Chance(moment.step.draw).of(4);
  const Job& job = moment.job;
  wire::EventNotice notice;
  notice.set_code(-1000);
  *notice.mutable_source() = name_of(moment.who);
  notice.set_range(static_cast<wire::Range>(chance.between(wire::RANGE_MANAGER,  //
                                                           wire::RANGE_PROC_LOCAL)));
  std::set<Rank> may;
  if (notice.range() == wire::RANGE_CUSTOM) {
    for (auto left = chance.between(1, 3); left > 0; --left) {
      const auto rank = static_cast<std::uint32_t>(chance.below(job.members.size()));
      *notice.mutable_targets()->add_names() = core::proc_name(job.nspace, rank);
      may.insert(job.members[rank].daemon);
    }
  } else if (notice.range() == wire::RANGE_NAMESPACE) {
    for (const auto& member : job.members) may.insert(member.daemon);
  }
  events_.on_raised(notice, moment.member.daemon, std::move(may));
  world_.tell(*moment.member.host, core::EventRaised{notice});
  count(Act::kEvent, true);
  return false;
}

void Services::describe(const JobPlan& plan, wire::JobSpec& spec) {
  spec.set_stdin_rank(-1);
  spec.set_oversubscribe(true);
  spec.set_timeout_ms(plan.timeout_ms);
  spec.set_map_by(plan.by_node ? wire::JobSpec::NODE : wire::JobSpec::SLOT);
  auto* app = spec.add_apps();
  app->add_argv("virtual");
  app->set_processes(plan.processes);
}

bool Services::spawn(const Moment& moment) {
  Chance chance = Chance(moment.step.draw).of(kChildPurpose);
  const JobPlan plan = child_plan(moment.job.plan, chance);
  const auto correlation = note_spawn(plan, moment.who);
  children_.erase(moment.who);  // if this one is refused there is nobody to connect with
  wire::ServiceRequest request;
  *request.mutable_who() = name_of(moment.who);
  describe(plan, *request.mutable_spawn()->mutable_job());
  request.mutable_spawn()->mutable_job()->set_correlation(correlation);
  if (plan.aimed) reservations_.aim(*request.mutable_spawn()->mutable_job(), chance);
  request.mutable_spawn()->set_notify_completion(chance.percent(50));
  const bool never_starts = plan.trouble == Trouble::kNotStarted;
  ask(*moment.member.host, false, std::move(request),
      [this, who = moment.who, correlation, never_starts](const Given& given) {
        if (given.status && never_starts) {
          throw BrokenPromise("a spawn is answered when all run, or never will", "one does not");
        }
        on_spawned(correlation, given);
        if (given.status) children_[who] = correlation;
        proceed(who, given.status.ok());
      });
  return true;
}

// It comes with the output of the process, and takes some of its credit.
bool Services::log(const Moment& moment) {
  const ProcKey who = moment.who;
  const auto size = Chance(moment.step.draw).of(who.rank.value()).between(1, 60);
  wire::ServiceRequest request;
  *request.mutable_who() = name_of(who);
  request.mutable_log()->set_text(std::string(size, kLogByte));
  ask(*moment.member.host, false, std::move(request), [this, who, size](const Given& given) {
    if (given.status) logged_[who] += size;
    proceed(who, given.status.ok());
  });
  return true;
}

bool Services::allocate(const Moment& moment) {
  const ProcKey who = moment.who;
  reservations_.ask({.host = *moment.member.host, .who = name_of(who)},
                    Chance(moment.step.draw).of(kWishPurpose),
                    [this, who](bool well) { proceed(who, well); });
  return true;
}

bool Services::query(const Moment& moment) {
  wire::ServiceRequest request;
  *request.mutable_who() = name_of(moment.who);
  auto* question = request.mutable_query()->add_questions();
  question->set_what(wire::Question::JOB_STATUS);
  question->set_nspace(moment.job.nspace);
  ask(*moment.member.host, false, std::move(request), [this, who = moment.who](const Given& given) {
    const auto& replies = given.answer.replies();
    const bool told = replies.replies_size() == 1 && replies.replies(0).known();
    if (!told && !is_lost(who) && !world_.down_requested()) {
      throw BrokenPromise("a question is answered", "a job does not know itself");
    }
    proceed(who, told);
  });
  return true;
}

}  // namespace tide::sim
