#include "sim/session_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "say/reservations.hpp"
#include "sim/journal.hpp"

namespace tide::sim {

namespace {

using core::CampaignKind;
using core::EventKind;
using core::Inheritance;
using core::NodeState;
using Wanted = wire::AllocationRequest;

[[noreturn]] void broken(std::string_view promise, const std::string& what) {
  throw BrokenPromise(promise, what);
}

bool nodes_stay(Inheritance inheritance) {
  return inheritance != Inheritance::kNone && inheritance != Inheritance::kChild;
}

bool waits_for_children(Inheritance inheritance) {
  return inheritance == Inheritance::kChild || inheritance == Inheritance::kChildDefault;
}

std::string nspace_of(const std::string& tool) {
  return tool.substr(0, tool.rfind(':'));
}

std::string_view cause_in(std::string_view detail) {
  const auto at = detail.find("): ");
  return at == std::string_view::npos ? "" : detail.substr(at + 3);
}

}  // namespace

void SessionChecks::take(SessionSight now, bool ends_all) {
  gone_.clear();
  // A tool may end with what it asks for: the node that it is attached to leaves.
  if (now.request) now.request->by_tool = is_tool(now.request->who);
  note_requests(now);
  if (before_ && !ends_all) check_refused(now);
  for (const auto& [id, allocation] : now.allocations) {
    if (!known_.contains(id)) note_made(id, now);
  }
  note_people(now);
  note_terms(now);
  if (before_ && !ends_all) {
    check_maps(now);
    check_owners(now);
    check_accepted(now);
    check_endings(now);
    check_dispositions(now);
    check_undisturbed(now);
    check_hit(now);
    check_returns(now);
    check_departures(now);
  }
  check_news(now);
  before_ = std::move(now);
}

// ---- what is kept ----

bool SessionChecks::is_tool(const std::string& nspace) const {
  return std::ranges::any_of(tools_, [&](const auto& tool) { return nspace_of(tool) == nspace; });
}

bool SessionChecks::lives(const std::string& nspace) const {
  const auto found = people_.find(nspace);
  return nspace == user_ || is_tool(nspace) || (found != people_.end() && found->second.lives);
}

bool SessionChecks::resolved(const std::string& id) const {
  const auto found = before_->allocations.find(id);
  return found != before_->allocations.end() && !found->second.ending;
}

void SessionChecks::note_people(const SessionSight& now) {
  std::set<std::string> tools;
  for (const auto& tool : now.tools_in) tools_.insert(tool);
  for (const auto& tool : now.tools_out) {
    tools_.erase(tool);
    if (!is_tool(nspace_of(tool))) gone_.insert(nspace_of(tool));
  }
  std::size_t born = 0;
  for (const auto& [nspace, job] : now.jobs) {
    if (!people_.contains(nspace)) ++born;
  }
  for (const auto& [nspace, job] : now.jobs) {
    if (!people_.contains(nspace)) note_birth(nspace, job, now, born == 1);
  }
  for (auto& [nspace, person] : people_) {
    if (!person.lives || now.jobs.contains(nspace)) continue;
    person.lives = false;
    gone_.insert(nspace);
  }
  for (auto& [id, one] : known_) {
    one.owner_ended = one.owner_ended || gone_.contains(one.owner) || !lives(one.owner);
  }
}

// row:R1 row:R6 row:R9 row:R8 where it belongs follows from what was asked for
void SessionChecks::note_birth(const std::string& nspace, const SessionSight::Job& job,
                               const SessionSight& now, bool alone) {
  Person person{.parent = job.spawner, .sessions = job.sessions};
  const bool is_asked_for = alone && before_ && now.request && now.request->is_job;
  if (is_asked_for) {
    const SessionRequest& request = *now.request;
    person.aimed = request.targets.has_value();
    std::set<std::string> wanted;
    if (request.targets) {
      for (const auto& id : request.targets->allocations()) {
        const bool there = resolved(id) && !before_->allocations.at(id).shared;
        if (!there) broken("a job is aimed at what is there", fmt::format("{} at {}", nspace, id));
        if (!owns(request, id, *before_)) broken("who aims a job owns the sessions", nspace);
        wanted.insert(id);
      }
      if (request.targets->default_session()) wanted.insert(core::kDefaultSession);
    } else if (const auto parent = people_.find(job.spawner); parent != people_.end()) {
      for (const auto& id : parent->second.sessions) {
        if (id.empty() || resolved(id)) wanted.insert(id);
      }
    }
    if (wanted.empty()) wanted.insert(core::kDefaultSession);
    if (wanted != job.sessions) {
      broken("a job is of the sessions that were meant",
             fmt::format("{} is of {} of them, not of {}", nspace, job.sessions.size(),
                         wanted.size()));
    }
  }
  people_.emplace(nspace, std::move(person));
}

void SessionChecks::note_requests(const SessionSight& now) {
  for (const auto& [ask, before] : now.anew) {
    const auto old = asks_.find(before);
    if (old != asks_.end()) asks_.emplace(ask, SessionRequest(old->second));
  }
  if (!now.request || now.request->is_job) return;
  const SessionRequest& request = *now.request;
  if (request.wanted.what() == Wanted::NEW) {
    wishes_.try_emplace({request.who, request.wanted.request_id()}, request);
  }
  for (const auto ask : now.asked) asks_.emplace(ask, request);
}

bool SessionChecks::acts_as_scheduler(const SessionRequest& who) const {
  return who.key == kSchedulerKey && (who.by_command || who.by_tool);
}

// row:R2 row:R18 one that is there was asked for
void SessionChecks::note_made(const std::string& id, const SessionSight& now) {
  const Allocation& made = now.allocations.at(id);
  const auto wish = wishes_.find({made.asker, made.request_id});
  if (wish == wishes_.end()) broken("every allocation was asked for", id);
  const Wanted& wanted = wish->second.wanted;
  const bool by_tool = wish->second.by_command || wish->second.by_tool;
  if (wanted.target().empty() && by_tool && wish->second.key == kSchedulerKey) {
    broken("what a scheduler pushes is everybody's", id);
  }
  if (!by_tool && !wanted.target().empty()) broken("a process reserves for nobody else", id);
  Known known{.owner = wanted.target().empty() ? made.asker : wanted.target(),
              .inheritance = static_cast<Inheritance>(wanted.inheritance()),
              .of_user = by_tool};
  if (made.owner != known.owner) broken("who was meant owns it", id + " is of " + made.owner);
  if (made.shared != wanted.share()) broken("what is shared is everybody's", id);
  known_.emplace(id, std::move(known));
}

// The request that has had an effect in this step.
const SessionRequest* SessionChecks::asked_for(const SessionSight& now) const {
  if (now.request && !now.request->is_job) return &*now.request;
  const auto ask = now.granted ? asks_.find(*now.granted) : asks_.end();
  return ask == asks_.end() ? nullptr : &ask->second;
}

// row:R13 what was said replaces what was; where that came to nothing, what was before is again
void SessionChecks::note_terms(const SessionSight& now) {
  const SessionRequest* request = asked_for(now);
  for (const auto& one : now.news) {
    const auto known = known_.find(one.id);
    if (one.kind != EventKind::kAllocationExtended || known == known_.end()) continue;
    if (request == nullptr || request->wanted.what() != Wanted::EXTEND) {
      broken("who extends an allocation has asked for it", one.detail);
    }
    const auto said = static_cast<Inheritance>(request->wanted.inheritance());
    if (said != Inheritance::kNotSaid) known->second.inheritance = said;
  }
  const bool undone = before_ && now.rollbacks != before_->rollbacks;
  for (const auto& [id, allocation] : now.allocations) {
    Known& known = known_.at(id);
    if (undone) known.inheritance = allocation.inheritance;
    if (known.inheritance != allocation.inheritance) broken("terms are those that were said", id);
    known.was_ending = known.was_ending || allocation.ending;
  }
}

// row:R19 at any depth and in any session, and whoever was spawned into it with all that came of it
bool SessionChecks::comes_of(const std::string& nspace, const std::string& id) const {
  const std::string& owner = known_.at(id).owner;
  std::string each = nspace;
  for (auto one = people_.find(each); one != people_.end(); one = people_.find(each)) {
    if (one->second.sessions.contains(id)) return true;
    each = one->second.parent;
    if (each == owner) return true;
  }
  return false;
}

bool SessionChecks::any_derived(const std::string& id) const {
  return std::ranges::any_of(
      people_, [&](const auto& entry) { return entry.second.lives && comes_of(entry.first, id); });
}

bool SessionChecks::is_disowned(const std::string& id) const {
  const Known& known = known_.at(id);
  if (!known.owner_ended) return false;
  return !waits_for_children(known.inheritance) || !any_derived(id);
}

bool SessionChecks::owns(const SessionRequest& who, const std::string& id,
                         const SessionSight& now) const {
  if (acts_as_scheduler(who)) return true;
  const Known& known = known_.at(id);
  if (who.by_command && known.of_user) return true;
  const bool judged = who.wanted.what() == Wanted::EXTEND && !who.wanted.target().empty();
  const std::string& nspace = judged ? who.wanted.target() : who.who;
  if (known.owner == nspace) return true;
  const auto job = now.jobs.find(nspace);
  const auto person = people_.find(nspace);
  return job != now.jobs.end() && job->second.launched && person != people_.end() &&
         person->second.sessions.contains(id);
}

std::string SessionChecks::meant_by(const SessionRequest& request) const {
  const Wanted& wanted = request.wanted;
  if (!wanted.allocation().empty()) {
    return resolved(wanted.allocation()) ? wanted.allocation() : "";
  }
  std::string out;
  for (const auto& [id, one] : before_->allocations) {
    const bool own = one.asker == request.who && one.request_id == wanted.request_id();
    if (own && resolved(id)) out = id;
  }
  return out;
}

// ---- promises ----

// row:R10 row:R9 row:R20
void SessionChecks::check_refused(const SessionSight& now) const {
  if (!now.request || !now.request->refused) return;
  constexpr std::string_view kPromise = "what is refused changes nothing";
  const std::string& who = now.request->who;
  if (now.allocations != before_->allocations) broken(kPromise, "allocations, for " + who);
  if (!now.news.empty()) broken(kPromise, now.news.front().detail + ", for " + who);
  if (now.open != before_->open) broken(kPromise, "a change begins, for " + who);
  if (!now.asked.empty() && !now.request->is_job) broken(kPromise, "a manager is asked");
  const auto same = [](const auto& one, const auto& other) {
    return one.first == other.first && one.second.session == other.second.session &&
           one.second.allocation == other.second.allocation &&
           (one.second.state >= NodeState::kLeaving) == (other.second.state >= NodeState::kLeaving);
  };
  if (!std::ranges::equal(now.nodes, before_->nodes, same)) broken(kPromise, "nodes, for " + who);
}

// row:R7
void SessionChecks::check_maps(const SessionSight& now) const {
  for (const auto& [nspace, job] : now.jobs) {
    const auto was = before_->jobs.find(nspace);
    const Person& person = people_.at(nspace);
    const bool any_left = std::ranges::any_of(person.sessions, [&](const auto& id) {
      const auto found = now.allocations.find(id);
      return id.empty() || (found != now.allocations.end() && !found->second.ending);
    });
    for (const Rank rank : job.mapped) {
      const bool fresh = was == before_->jobs.end() || !was->second.mapped.contains(rank);
      const auto node = now.nodes.find(rank);
      if (!fresh || !job.lives || node == now.nodes.end()) continue;
      const auto old = before_->nodes.find(rank);
      const auto may = [&](const std::string& session) {
        if (session.empty() && !any_left && !person.aimed) return true;
        return person.sessions.contains(session);
      };
      const bool fits =
          may(node->second.session) || (old != before_->nodes.end() && may(old->second.session));
      if (!fits) {
        broken("jobs are mapped onto nodes of their sessions",
               fmt::format("{} onto rank {}, which is of '{}'", nspace, rank.value(),
                           node->second.session));
      }
    }
  }
}

// row:R8 the owning namespace and those that were launched into it, nobody else
void SessionChecks::check_owners(const SessionSight& now) const {
  for (const auto& [id, allocation] : now.allocations) {
    std::set<std::string> users;
    for (const auto& [nspace, job] : now.jobs) {
      const bool in = !allocation.shared && people_.at(nspace).sessions.contains(id);
      if (in && job.launched) users.insert(nspace);
    }
    // Who is launched while it seems to be over does not come to own it.
    const bool fits = known_.at(id).was_ending ? std::ranges::includes(users, allocation.users)
                                               : users == allocation.users;
    if (!fits) {
      broken("owners are the owning namespace and who was launched into it",
             fmt::format("{} has {} users, not {}", id, allocation.users.size(), users.size()));
    }
  }
}

// row:R8 row:R20 row:R4 what an owner alone may want happens to nobody else
void SessionChecks::check_accepted(const SessionSight& now) const {
  if (!now.request || now.request->is_job || now.request->refused) return;
  const SessionRequest& request = *now.request;
  const auto what = request.wanted.what();
  if (what != Wanted::EXTEND && what != Wanted::RELEASE) return;
  constexpr std::string_view kPromise = "only who owns an allocation extends and releases it";
  const auto touched = [&](const std::string& id) {
    const auto after = now.allocations.find(id);
    return after == now.allocations.end() || after->second != before_->allocations.at(id);
  };
  for (const auto& [id, one] : before_->allocations) {
    const bool shared_by_tool = one.shared && (request.by_command || request.by_tool);
    if (!touched(id) || owns(request, id, *before_) || shared_by_tool) continue;
    if (is_disowned(id) && !one.ending) continue;
    broken(kPromise, fmt::format("{} by {}", id, request.who));
  }
  if (what == Wanted::EXTEND && !now.asked.empty()) {
    const auto id = meant_by(request);
    if (id.empty() || !owns(request, id, *before_)) broken(kPromise, request.who + " asks for it");
  }
  for (const auto& [rank, node] : before_->nodes) {
    const auto after = now.nodes.find(rank);
    const bool moved = after == now.nodes.end() || after->second.session != node.session;
    if (node.session.empty() || !moved || owns(request, node.session, *before_)) continue;
    if (is_disowned(node.session)) continue;
    broken(kPromise, fmt::format("rank {} by {}", rank.value(), request.who));
  }
}

// row:R12 at the moment in which nobody is left for whom it would go on
void SessionChecks::check_dispositions(const SessionSight& now) const {
  for (const auto& [id, allocation] : now.allocations) {
    const Known& known = known_.at(id);
    if (allocation.ending || known.was_ending || orders_fail_ || !is_disowned(id)) continue;
    broken("what an owner leaves is dealt with when it has ended",
           fmt::format("{} of {} is still there", id, known.owner));
  }
}

void SessionChecks::check_endings(const SessionSight& now) {
  for (const auto& [id, allocation] : before_->allocations) {
    const auto after = now.allocations.find(id);
    const bool over = after == now.allocations.end();
    if (!allocation.ending && (over || after->second.ending)) check_end(id, now);
    // What was to bring its nodes may have failed, and they are being rolled back.
    const bool undone = now.rollbacks != before_->rollbacks;
    if (allocation.ending && over && !undone) check_nodes_of(id, now, /*leave=*/true);
    if (allocation.ending && !over && !after->second.ending) known_.at(id).cause.clear();
  }
}

// row:R11 row:R12 by whom, and what becomes of its nodes
void SessionChecks::check_end(const std::string& id, const SessionSight& now) {
  Known& known = known_.at(id);
  const auto after = now.allocations.find(id);
  const SessionRequest* request = now.request && !now.request->is_job ? &*now.request : nullptr;
  const bool released = request != nullptr && request->wanted.what() == Wanted::RELEASE &&
                        !request->refused && meant_by(*request) == id;
  const bool failed = now.rollbacks != before_->rollbacks && after == now.allocations.end();
  // By its own lease or by its owner, which goes with a node whose lease is over, or that is taken
  // out.
  const bool unclear = now.lease_over ? is_disowned(id) : !failed && now.by_hand;
  bool leave = true;
  if (released) {
    known.cause = acts_as_scheduler(*request) ? say::by_scheduler() : say::by_request();
  } else if (unclear) {
    return;
  } else if (now.lease_over) {
    known.cause = say::by_scheduler();
  } else if (failed) {
    known.cause = is_disowned(id) ? "" : say::by_failure();
    return;
  } else {
    if (!is_disowned(id)) {
      broken("a reservation ends with its owner, or when it is wanted", id);
    }
    known.cause = say::by_inheritance();
    leave = !nodes_stay(known.inheritance);
  }
  const std::string session = before_->allocations.at(id).shared ? "" : id;
  for (const auto& [rank, node] : before_->nodes) {
    if (node.session == session && node.allocation == id) known.leave.insert(rank);
  }
  if (after == now.allocations.end()) {
    check_nodes_of(id, now, leave);
  } else if (!leave) {
    broken("what stays with everybody does not leave", id);
  }
}

// Whether it begins to end in this step, so that what came with it leaves.
bool SessionChecks::is_given_back(const std::string& id, const SessionSight& now) const {
  const auto was = before_->allocations.find(id);
  const auto is = now.allocations.find(id);
  const bool fresh = was == before_->allocations.end() || !was->second.ending;
  return is != now.allocations.end() && is->second.ending && fresh &&
         !nodes_stay(known_.at(id).inheritance);
}

// row:R15 when it is over what it took is in the default session, and what it brought is gone, or
// there as well
void SessionChecks::check_nodes_of(const std::string& id, const SessionSight& now,
                                   bool leave) const {
  const bool shared = before_->allocations.at(id).shared;
  // Its owner may be gone because a node leaves, which may be one of these.
  const bool others_leave =
      now.by_hand || now.lease_over ||
      std::ranges::any_of(before_->open,
                          [](const auto& each) { return each.second == CampaignKind::kShrink; }) ||
      (now.request && now.request->wanted.what() == Wanted::RELEASE &&
       meant_by(*now.request) != id);
  for (const auto& [rank, node] : before_->nodes) {
    const bool of_it = node.session == (shared ? std::string() : id);
    if (!of_it || (shared && node.allocation != id)) continue;
    const auto after = now.nodes.find(rank);
    const bool there = after != now.nodes.end();
    const bool stays = !leave || !known_.at(id).leave.contains(rank);
    const bool begins_to_leave =
        there && after->second.state >= NodeState::kLeaving && node.state < NodeState::kLeaving;
    const auto text = fmt::format("rank {} of {}", rank.value(), id);
    if (there && !after->second.session.empty()) broken("what is over reserves nothing", text);
    const bool taken = node.allocation != id;
    // row:R13 what it took of a shared one leaves with that, if both have lost their owner now
    const bool with_another = taken && is_given_back(node.allocation, now);
    if ((taken || !leave) && begins_to_leave && !others_leave && !with_another)
      broken("what was taken goes back to everybody", text);
    if (!stays && there && node.state < NodeState::kLeaving && !begins_to_leave) {
      broken("what was brought leaves", text);
    }
  }
}

// row:R14 where nodes stay nobody is disturbed
void SessionChecks::check_undisturbed(const SessionSight& now) const {
  const bool ends = std::ranges::any_of(
      now.news, [](const auto& one) { return one.kind == EventKind::kAllocationEnded; });
  const bool some_leave = std::ranges::any_of(now.nodes, [this](const auto& entry) {
    const auto was = before_->nodes.find(entry.first);
    return entry.second.state >= NodeState::kLeaving && was != before_->nodes.end() &&
           was->second.state < NodeState::kLeaving;
  });
  if (!ends || now.of_a_loss || some_leave || !now.hit.empty()) return;
  for (const auto& [nspace, job] : before_->jobs) {
    const auto after = now.jobs.find(nspace);
    const bool lives = after != now.jobs.end() && after->second.lives;
    if (!job.lives || !job.launched || lives) continue;
    std::string each = nspace;
    bool goes_with_another = false;
    for (auto one = people_.find(each); one != people_.end(); one = people_.find(each)) {
      each = one->second.parent;
      goes_with_another = goes_with_another || gone_.contains(each);
    }
    if (!goes_with_another) broken("the end of a reservation disturbs nobody", nspace);
  }
}

// row:R14 a job that loses processes by a release does not go on as if nothing was
void SessionChecks::check_hit(const SessionSight& now) const {
  for (const auto& nspace : now.hit) {
    const auto job = now.jobs.find(nspace);
    if (job == now.jobs.end() || !job->second.lives || job->second.recoverable) continue;
    broken("whose processes are released does not succeed", nspace);
  }
}

// row:R18 each once, and with a cause
void SessionChecks::check_news(const SessionSight& now) {
  constexpr std::string_view kPromise =
      "what happens to an allocation is told once, with its cause";
  static const std::array kCauses = {say::by_request(), say::by_scheduler(), say::by_inheritance(),
                                     say::by_failure(), say::by_teardown()};
  std::set<std::string> made;
  std::set<std::string> ended;
  for (const auto& one : now.news) {
    const auto text = fmt::format("{}: {}", core::event_kind_name(one.kind), one.detail);
    if (one.kind == EventKind::kAllocationTargeted) {
      const auto known = known_.find(one.id);
      const bool fresh = known != known_.end() && known->second.targeted.insert(one.detail).second;
      if (!fresh) broken(kPromise, text);
      continue;
    }
    const auto cause = cause_in(one.detail);
    if (std::ranges::find(kCauses, cause) == kCauses.end()) broken(kPromise, text);
    if (one.kind == EventKind::kAllocationMade) {
      if (before_ && before_->allocations.contains(one.id)) broken(kPromise, text);
      if (!made.insert(one.id).second) broken(kPromise, text);
    }
    if (one.kind != EventKind::kAllocationEnded) continue;
    if (!ended.insert(one.id).second) broken(kPromise, text);
    Known& known = known_[one.id];
    if (++known.ends > 1) broken(kPromise, text);
    // What was to bring its nodes may fail before they leave.
    const bool earlier = cause == say::by_teardown() || cause == say::by_failure();
    const bool other = !known.cause.empty() && cause != known.cause && !earlier;
    if (other) broken(kPromise, text + ", not " + known.cause);
  }
  for (const auto& [id, one] : now.allocations) {
    const bool is_new = !before_ || !before_->allocations.contains(id);
    if (is_new != made.contains(id) || ended.contains(id)) broken(kPromise, id);
    for (const auto& user : one.users) {
      const auto& told = known_.at(id).targeted;
      const bool is_told = std::ranges::any_of(
          told, [&](const auto& detail) { return cause_in(detail) == say::used_by_job(user); });
      if (!is_told) broken(kPromise, fmt::format("{} is used by {}", id, user));
    }
  }
  if (!before_) return;
  for (const auto& [id, one] : before_->allocations) {
    if (!now.allocations.contains(id) && !ended.contains(id)) broken(kPromise, id + " is over");
  }
}

// row:R18 whatever goes back to a manager has left, or never came
void SessionChecks::check_returns(const SessionSight& now) const {
  for (const auto& back : now.returns) {
    for (const auto& name : back.nodes) {
      if (!now.returned.contains(name)) broken("only who has left goes back to a manager", name);
    }
  }
}

// row:R18 nobody leaves but for a request, a scheduler, or what an owner wanted to be given back
void SessionChecks::check_departures(const SessionSight& now) const {
  const bool begins = std::ranges::any_of(now.open, [this](const auto& entry) {
    return entry.second == CampaignKind::kShrink && !before_->open.contains(entry.first);
  });
  if (!begins || now.by_hand || now.lease_over) return;
  const SessionRequest* request = now.request && !now.request->is_job ? &*now.request : nullptr;
  if (request != nullptr && request->wanted.what() == Wanted::RELEASE) return;
  const bool given_back = std::ranges::any_of(
      now.allocations, [&](const auto& entry) { return is_given_back(entry.first, now); });
  if (!given_back) broken("nodes leave for a cause", "nobody has wanted it");
}

}  // namespace tide::sim
