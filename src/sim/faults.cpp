// What goes wrong in a world.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/proc_names.hpp"
#include "sim/checks.hpp"
#include "sim/processes.hpp"
#include "sim/services.hpp"
#include "sim/world.hpp"

namespace tide::sim {

namespace {

enum Purpose : std::uint64_t { kLiePurpose = 102 };

// In the histories of hosts, among the numbers of events.
enum Fact : std::uint64_t { kHealFact = 1001, kThawFact };

// Where they are explored: shorter than anybody is suspected for, and longer than all patience.
constexpr std::uint64_t kSoonOverMs = 1'000;
constexpr std::uint64_t kNoticedMs = 15'000;
constexpr std::uint64_t kHeadFreezeMs = 3'000;  // longer would be the end of the DVM, rightly

}  // namespace

// ---- faults at a time ----

void World::plan_faults() {
  for (std::size_t i = 0; i < scenario_.faults.size(); ++i) {
    const Fault& fault = scenario_.faults[i];
    if (class_of(fault.kind) == FaultClass::kLauncher) continue;
    schedule_.at_ms(fault.at_ms, What{What::Kind::kDeadline, kHeadHost, i}, [this, i] {
      if (apply(scenario_.faults[i])) applied_.insert(i);
    });
  }
}

std::vector<Fault> World::faults_left() const {
  std::vector<Fault> left;
  for (std::size_t i = 0; i < scenario_.faults.size(); ++i) {
    // Those of daemons that nobody came to start are left, too, if they count.
    const Fault& fault = scenario_.faults[i];
    if (!applied_.contains(i) && counts_as_fault(fault.kind)) left.push_back(fault);
  }
  return left;
}

void World::note_applied(FaultKind kind) {
  ++journal_.counts.faults.at(static_cast<std::size_t>(kind));
}

// The head is chosen now and then, too; it is never killed.
std::vector<HostId> World::living() const {
  std::vector<HostId> living;
  for (const auto& [id, host] : hosts_) {
    if (id != kHeadHost && host.alive && !host.silent && !host.foreign) living.push_back(id);
  }
  return living;
}

HostId World::choose_living(std::uint32_t target) const {
  const auto all = living();
  return all.empty() ? kHeadHost : all[target % all.size()];
}

bool World::apply(const Fault& fault) {
  Strike strike{fault.kind, choose_living(fault.target), 0, fault.other, fault.for_ms};
  if (strike.host == kHeadHost) return false;
  if (fault.kind == FaultKind::kCut) {
    const auto links = network_.links_of(strike.host);
    if (links.empty()) return false;
    strike.which = links[fault.target / 7 % links.size()];
  } else if (fault.kind == FaultKind::kFreeze && fault.target % 11 == 0) {
    strike.host = kHeadHost;
  } else if (fault.kind == FaultKind::kLie) {
    strike.which = fault.target;
  } else if (fault.other != Fault::kEverybody && fault.other != Fault::kHalf) {
    strike.other = choose_living(fault.other);
  }
  return this->strike(strike);
}

bool World::strike(const Strike& strike) {
  if (head_exited_) return false;
  journal_.line(schedule_.now_us(), strike.host, TraceLine::Kind::kWorld,
                fmt::format("fault: {} for {} ms", name_of(strike.kind), strike.for_ms));
  checks_->on_fault();
  switch (strike.kind) {
    case FaultKind::kCut:
      network_.cut(strike.which);
      break;
    case FaultKind::kCrash:
    case FaultKind::kPowerLoss:
      checks_->on_struck(strike.host, UINT64_MAX);
      stop_host(strike.host, std::string(name_of(strike.kind)), strike.kind == FaultKind::kCrash);
      break;
    case FaultKind::kFreeze:
      freeze(strike.host, strike.for_ms);
      break;
    case FaultKind::kLie:
      if (!lie(static_cast<std::uint32_t>(strike.which))) return false;
      break;
    default:
      part(strike);
      break;
  }
  note_applied(strike.kind);
  return true;
}

// A link is cut at the end that made it, so that each is cut once.
std::vector<World::Strike> World::possible_strikes(const FaultClasses& classes) const {
  std::vector<Strike> all;
  if (head_exited_) return all;
  const auto add = [&](const Strike& strike) {
    if (classes.contains(class_of(strike.kind))) all.push_back(strike);
  };
  for (const HostId host : living()) {
    for (const auto link : network_.links_of(host)) {
      if (network_.made_by(link) == host) add(Strike{FaultKind::kCut, host, link});
    }
    add(Strike{FaultKind::kCrash, host});
    add(Strike{FaultKind::kPowerLoss, host});
    for (const auto for_ms : {kSoonOverMs, kNoticedMs}) {
      for (const auto kind : {FaultKind::kFreeze, FaultKind::kPartition, FaultKind::kOneWay}) {
        add(Strike{kind, host, 0, Fault::kEverybody, for_ms});
      }
    }
  }
  add(Strike{FaultKind::kFreeze, kHeadHost, 0, Fault::kEverybody, kSoonOverMs});
  add(Strike{FaultKind::kLie, kHeadHost});
  return all;
}

namespace {

wire::CollectiveId fence_of(const std::string& nspace, Chance& chance) {
  wire::ProcNames names;
  *names.add_names() = core::proc_name(nspace, core::kAllRanks);
  wire::CollectiveId out;
  out.set_participants(core::canonical(names));
  out.set_number(chance.small(1, 3));
  return out;
}

// About the victim, in its name. Whichever number the head waits for is among those that are sent.
wire::LinkMessage false_word(Rank victim, std::uint64_t seq, Chance& chance, std::uint32_t jobs) {
  wire::LinkMessage out;
  auto* up = out.mutable_up();
  up->set_origin(victim.value());
  up->set_seq(seq);
  up->set_control_ack(chance.below(100));
  up->set_bulk_ack(chance.below(100));
  up->set_resync(chance.percent(50));
  const auto job = chance.small(1, std::uint64_t{jobs} + 1);
  const auto nspace = fmt::format("sim@{}", job);
  switch (chance.below(7)) {
    case 0:
      up->mutable_body()->mutable_output_complete()->set_job(job);
      break;
    case 1:
      up->mutable_body()->mutable_stream()->set_job(job);
      break;
    case 2:
      up->mutable_body()->mutable_proc_failed()->set_job(job);
      up->mutable_body()->mutable_proc_failed()->set_exit_code(1);
      break;
    case 3:
      up->mutable_body()->mutable_input_credit()->set_job(job);
      break;
    case 4:
      *up->mutable_body()->mutable_collective_failed()->mutable_id() = fence_of(nspace, chance);
      up->mutable_body()->mutable_collective_failed()->set_error_code(1);
      break;
    case 5: {
      auto& request = *up->mutable_body()->mutable_service_request();
      *request.mutable_who() = core::proc_name(nspace, 0);
      request.mutable_publish()->add_data()->set_key("lie");
      break;
    }
    default:
      up->mutable_body()->mutable_proc_aborted()->set_job(job);
  }
  return out;
}

wire::LinkMessage false_contribution(Rank victim, Chance& chance, std::uint32_t jobs) {
  wire::LinkMessage out;
  auto* reduction = out.mutable_reduction();
  const auto job = chance.small(1, std::uint64_t{jobs} + 1);
  reduction->mutable_id()->set_kind(wire::ReductionId::ENDED);
  reduction->mutable_id()->set_job(job);
  if (chance.percent(50)) {
    reduction->mutable_id()->set_kind(wire::ReductionId::COLLECTIVE);
    *reduction->mutable_id()->mutable_collective() = fence_of(fmt::format("sim@{}", job), chance);
  }
  reduction->add_contributions()->set_rank(victim.value());
  return out;
}

}  // namespace

// One that has the key is believed about itself and those below it, and no further: so it lies
// about somebody else.
bool World::lie_from(HostId host, Chance chance) {
  constexpr std::uint64_t kWords = 30;
  const Rank liar = identity(host).rank;
  Rank victim{chance.small(0, std::uint64_t{scenario_.nodes} + 1)};
  // One that is about to leave still relays for those who stood below it, and one that is about to
  // come may stand below the liar when the head hears of it.
  const auto& membership = head_core_->overlay().membership();
  const bool comes = !membership.has(victim) && scenario_.spares > 0;
  const bool may_speak =
      !membership.has(liar) || membership.tree().is_ancestor_or_self(liar, victim);
  if (comes || may_speak) victim = kHeadRank;
  const auto jobs = static_cast<std::uint32_t>(scenario_.jobs.size());
  for (std::uint64_t seq = 1; seq <= kWords; ++seq) {
    const auto word = false_word(victim, seq, chance, jobs);
    if (!network_.forge(host, kHeadHost, word, Bytes("lie"))) return false;
  }
  return network_.forge(host, kHeadHost, false_contribution(victim, chance, jobs), {});
}

// Only those that have a link to the head can: one of them does.
bool World::lie(std::uint32_t number) {
  const auto all = living();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const HostId host = all[(number + i) % all.size()];
    if (lie_from(host, chance_.of(kLiePurpose).of(number))) return true;
  }
  return false;
}

void World::freeze(HostId id, std::uint64_t for_ms) {
  if (id == kHeadHost) for_ms = std::min(for_ms, kHeadFreezeMs);
  checks_->on_struck(id, for_ms);
  ++hosts_.at(id).frozen;
  network_.host_frozen(id);
  schedule_.after(for_ms * 1000, What{What::Kind::kDeadline, id}, [this, id] { thaw(id); });
}

// What was held goes first, in order; more may be held while that happens.
void World::thaw(HostId id) {
  schedule_.note_everywhere(kThawFact);
  Host& host = hosts_.at(id);
  --host.frozen;
  if (!host.alive) return;
  network_.host_thawed(id);
  while (host.frozen == 0 && host.alive && !host.held.empty()) {
    const auto action = std::move(host.held.front());
    action();
    if (!host.held.empty()) host.held.pop_front();
  }
}

void World::part(const Strike& fault) {
  std::set<std::pair<HostId, HostId>> directions;
  const auto split = [&](HostId left, HostId right) {
    directions.insert({left, right});
    if (fault.kind == FaultKind::kPartition) directions.insert({right, left});
  };
  for (const auto& [a, host_a] : hosts_) {
    for (const auto& [b, host_b] : hosts_) {
      const bool half = fault.other == Fault::kHalf && a % 2 == 1 && b % 2 == 0;
      const bool alone = fault.other == Fault::kEverybody && a == fault.host && b != fault.host;
      const bool pair = a == fault.host && b == fault.other && a != b;
      if (half || alone ||
          (pair && fault.other != Fault::kHalf && fault.other != Fault::kEverybody)) {
        split(a, b);
        if (half) checks_->on_struck(a, fault.for_ms);
      }
    }
  }
  if (fault.other == Fault::kEverybody) checks_->on_struck(fault.host, fault.for_ms);
  const auto number = network_.block(std::move(directions));
  schedule_.after(fault.for_ms * 1000, What{What::Kind::kDeadline, kHeadHost, number},
                  [this, number] {
                    schedule_.note_everywhere(kHealFact);
                    network_.heal(number);
                  });
}

}  // namespace tide::sim
