#include "sim/reservations.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "core/pmix_words.hpp"
#include "core/proc_names.hpp"
#include "sim/changes.hpp"
#include "sim/services.hpp"
#include "sim/session_sight.hpp"
#include "sim/world.hpp"

namespace tide::sim {

using Wanted = wire::AllocationRequest;

namespace {

constexpr unsigned kMistakenPercent = 6;
constexpr std::uint64_t kMostNodes = 3;
constexpr std::uint64_t kLongestMs = 4'000;

std::string text_of(const wire::EventNotice& notice, const char* key) {
  for (const auto& fact : notice.facts()) {
    if (fact.key() == key) return fact.text();
  }
  return "";
}

[[noreturn]] void broken(const std::string& request, const char* what) {
  throw BrokenPromise("who asks for an allocation hears of it twice", request + ": " + what);
}

}  // namespace

// ---- what is asked for ----

std::string Reservations::draw_allocation(Chance& chance) const {
  const auto& all = services_.world().head().elastic().sessions().all();
  if (all.empty() || chance.percent(kMistakenPercent))
    return fmt::format("a{}", 1 + chance.below(9));
  return all[chance.below(all.size())].id;
}

// A job or a tool.
std::string Reservations::draw_owner(Chance& chance) const {
  const auto& head = services_.world().head();
  const auto jobs = head.jobs().unended_jobs();
  if (jobs.empty() || chance.percent(kMistakenPercent)) return "nobody";
  return head.jobs().glance(jobs[chance.below(jobs.size())])->nspace;
}

void Reservations::draw_nodes(Wanted& request, Chance& chance, bool grows) const {
  const auto count = chance.between(1, kMostNodes);
  if (chance.percent(40)) return request.set_count(static_cast<std::uint32_t>(count));
  std::vector<std::string> names;
  for (const auto& [rank, node] : services_.world().head().roster().nodes()) {
    names.push_back(node.name);
  }
  if (grows && chance.percent(30)) {
    names.push_back(fmt::format("p{}", chance.between(1, services_.world().scenario().spares + 1)));
  }
  if (names.empty()) return request.set_count(1);
  for (std::uint64_t i = 0; i < count; ++i) {
    request.add_hosts()->set_node(names[chance.below(names.size())]);
  }
}

void Reservations::draw_terms(Wanted& request, Chance& chance) const {
  request.set_inheritance(static_cast<std::uint32_t>(chance.below(5)));
  if (chance.percent(kMistakenPercent)) request.set_inheritance(77);
  if (chance.percent(30)) {
    request.set_warn_ms(static_cast<std::uint32_t>(chance.between(1, kLongestMs)));
  }
}

void Reservations::draw_new(const Asker& asker, Wanted& request, Chance& chance) const {
  request.set_what(Wanted::NEW);
  draw_nodes(request, chance, true);
  draw_terms(request, chance);
  request.set_share(chance.percent(15));
  if (chance.percent(asker.by_tool ? 35 : kMistakenPercent)) {
    request.set_target(draw_owner(chance));
  }
  if (request.hosts().empty() && chance.percent(20)) {
    request.set_time_ms(static_cast<std::uint32_t>(chance.between(1, kLongestMs)));
  }
}

void Reservations::draw_extension(Wanted& request, Chance& chance) const {
  request.set_what(Wanted::EXTEND);
  request.set_allocation(draw_allocation(chance));
  const auto kind = chance.below(10);
  if (kind < 5) draw_nodes(request, chance, true);
  if (kind == 5 || kind == 6) {
    request.set_time_ms(static_cast<std::uint32_t>(chance.between(1, kLongestMs)));
  }
  if (kind >= 5 || chance.percent(40)) draw_terms(request, chance);
}

void Reservations::draw_release(Wanted& request, Chance& chance) const {
  request.set_what(Wanted::RELEASE);
  if (chance.percent(60)) return request.set_allocation(draw_allocation(chance));
  draw_nodes(request, chance, false);
  request.set_inheritance(static_cast<std::uint32_t>(chance.below(9)));  // means nothing here
}

Wanted Reservations::draw(const Asker& asker, Chance& chance) const {
  Wanted out;
  const auto kind = chance.below(20);
  if (kind < 10) {
    draw_new(asker, out, chance);
  } else if (kind < 14) {
    draw_extension(out, chance);
  } else if (kind < 19) {
    draw_release(out, chance);
  } else {
    out.set_what(Wanted::CANCEL);
  }
  const bool proves = asker.is_scheduler ? chance.percent(60) : chance.percent(kMistakenPercent);
  if (proves) out.set_scheduler_key(asker.is_scheduler ? kSchedulerKey : "known to nobody at all");
  return out;
}

std::uint64_t Reservations::ask(const Asker& asker, Chance chance, std::function<void(bool)> then) {
  wire::ServiceRequest request;
  *request.mutable_who() = asker.who;
  auto& wanted = *request.mutable_allocation();
  wanted = draw(asker, chance);
  // What it takes back is what it asked for last.
  const bool anew = wanted.what() != Wanted::CANCEL || last_ == 0;
  const auto name = fmt::format("wish {}", anew ? ++last_ : last_);
  wanted.set_request_id(name);
  const bool warned = wanted.warn_ms() > 0;
  if (anew) asked_[name] = Asked{.host = asker.host, .who = asker.who, .warned = warned};
  ++services_.world().journal().counts.wishes;
  return services_.ask(asker.host, /*must=*/asker.by_tool, std::move(request),
                       [this, name, anew, then = std::move(then)](const Given& given) {
                         if (given.status) ++services_.world().journal().counts.wishes_granted;
                         if (anew) {
                           Asked& asked = asked_.at(name);
                           const auto& answer = given.answer.allocation();
                           if (asked.told) broken(name, "answered after the end");
                           if (given.status && answer.allocation().empty())
                             broken(name, "no id is given");
                           asked.answered = true;
                           asked.allocation = answer.allocation();
                           asked.expects = given.status.ok() && !answer.complete();
                         }
                         then(given.status.ok());
                       });
}

// ---- at what jobs are aimed ----

void Reservations::aim(wire::JobSpec& job, Chance chance) const {
  if (chance.percent(30)) return;
  auto& targets = *job.mutable_targets();
  for (auto left = chance.below(3); left > 0; --left) {
    targets.add_allocations(draw_allocation(chance));
  }
  targets.set_default_session(chance.percent(30));
}

// ---- what is told ----

// row:C2 row:C3 row:R16
bool Reservations::on_event(HostId host, const wire::EventNotice& notice) {
  const auto name = text_of(notice, core::kFactRequest);
  const bool warns = notice.code() == core::kEventAllocationWarning;
  const auto found = asked_.find(name);
  if (found == asked_.end()) return warns && name.starts_with("request ");
  Asked& asked = found->second;
  const auto& whom = notice.targets().names();
  const bool meant = whom.size() == 1 && core::id_of(whom.Get(0)) == core::id_of(asked.who);
  if (!meant || asked.host != host) broken(name, "somebody else is told");
  if (warns) {
    if (!asked.warned) broken(name, "warned, and did not want it");
    return true;
  }
  if (asked.told) broken(name, "told twice");
  if (!asked.answered) {  // who asked has gone; if not, the answer comes too late
    asked.told = true;
    return true;
  }
  if (!asked.expects) broken(name, "told of what has not begun");
  if (text_of(notice, core::kFactAllocation) != asked.allocation) broken(name, "of another id");
  asked.told = true;
  return true;
}

}  // namespace tide::sim
