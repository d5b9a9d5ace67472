#include "sim/gatherings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "sim/services.hpp"
#include "sim/world.hpp"

namespace tide::sim {

using core::ProcKey;

namespace {

// Who entered what: a result that is partial or doubled, or another one's, is noticed.
using Mark = std::array<std::uint32_t, 4>;

std::string mark_of(ProcKey who, Gatherings::Id id) {
  const Mark mark{who.job.value(), who.rank.value(), id.first, id.second};
  std::string out(sizeof(mark), '\0');
  std::memcpy(out.data(), mark.data(), sizeof(mark));
  return out;
}

constexpr std::uint32_t kDelayUs = 400;

}  // namespace

void Gatherings::come(Id id, ProcKey who) {
  Gathering& gathering = gatherings_.at(id);
  const HostId host = services_.host_of(who);
  if (gathering.locals.empty()) gathering.first_ms = services_.world().now_ms();
  Local& local = gathering.locals[host];
  if (local.expected.empty()) {
    for (const auto& one : gathering.plan.participants) {
      if (services_.is_on(one, host)) local.expected.push_back(one);
    }
  }
  local.came.insert(who);
  incomplete_.insert({id, host});
  enter_if_complete(gathering, host);
}

// Who has ended is not waited for, and makes it broken.
void Gatherings::enter_if_complete(Gathering& gathering, HostId host) {
  Local& local = gathering.locals.at(host);
  if (local.entered) return;
  bool broken = false;
  bool anybody = false;
  for (const auto& one : local.expected) {
    const bool over = services_.is_over(one);
    if (!over && !local.came.contains(one)) return;
    broken = broken || over;
    anybody = anybody || !over;
  }
  incomplete_.erase({gathering.plan.id, host});
  if (!anybody) return;
  local.entered = true;
  core::CollectiveEntered event;
  const Id id = gathering.plan.id;
  event.ticket = services_.ticket(
      host, /*must=*/true, [this, id, host](const Given& given) { on_answer(id, host, given); });
  event.kind = gathering.plan.kind;
  event.name = gathering.plan.name;
  event.participants = gathering.plan.names;
  event.timeout_ms = gathering.plan.timeout_ms;
  event.broken = broken;
  if (!broken) {
    std::string data;
    for (const auto& one : local.expected) data += mark_of(one, id);
    event.data = Bytes(std::move(data));
  }
  services_.later(host, kDelayUs, [this, host, event] { services_.world().tell(host, event); });
}

void Gatherings::on_ended(ProcKey who, HostId host) {
  std::vector<Id> ids;
  for (const auto& [id, where] : incomplete_) {
    if (where == host) ids.push_back(id);
  }
  for (const Id& id : ids) {
    Gathering& gathering = gatherings_.at(id);
    if (std::ranges::find(gathering.locals.at(host).expected, who) !=
        gathering.locals.at(host).expected.end()) {
      enter_if_complete(gathering, host);
    }
  }
}

void Gatherings::host_gone(HostId host) {
  std::erase_if(incomplete_, [host](const auto& entry) { return entry.second == host; });
}

void Gatherings::on_answer(Id id, HostId host, const Given& given) {
  Gathering& gathering = gatherings_.at(id);
  given.status ? check_success(gathering, host, given) : check_failure(gathering, given);
  for (const auto& one : gathering.locals.at(host).came) services_.proceed(one, given.status.ok());
}

void Gatherings::check_success(Gathering& gathering, HostId host, const Given& given) {
  const auto broken = [&](const char* what) {
    throw BrokenPromise("what is done together is whole, and the same for all",
                        fmt::format("step {} of job {} on host {}: {}", gathering.plan.id.second,
                                    gathering.plan.id.first, host, what));
  };
  const std::string data(given.data.view());
  if (gathering.result) {
    if (*gathering.result != data || gathering.context != given.context) broken("another result");
  } else {
    std::multiset<std::string> wanted;
    std::multiset<std::string> came;
    for (const auto& one : gathering.plan.participants) {
      wanted.insert(mark_of(one, gathering.plan.id));
    }
    for (std::size_t at = 0; at < data.size(); at += sizeof(Mark)) {
      came.insert(data.substr(at, sizeof(Mark)));
    }
    if (wanted != came) broken("not the contribution of each, once");
    gathering.result = data;
    gathering.context = given.context;
    const bool made = gathering.plan.kind == wire::CollectiveId::GROUP_CONSTRUCT;
    if (made && !contexts_.insert(given.context).second) broken("a context that another one has");
    if (made && given.context == 0) broken("no context");
  }
  if (gathering.plan.kind != wire::CollectiveId::CONNECT) return;
  for (const auto& name : gathering.plan.names.names()) {
    if (!services_.is_known_on(name.nspace(), host)) broken("a job is not known there afterwards");
  }
}

// It fails only if one of them can't come any more, or the time is over.
void Gatherings::check_failure(const Gathering& gathering, const Given& given) const {
  if (services_.world().down_requested()) return;
  const auto waited_ms = services_.world().now_ms() - gathering.first_ms;
  if (gathering.plan.timeout_ms > 0 && waited_ms >= gathering.plan.timeout_ms) return;
  const bool excused = std::ranges::any_of(gathering.plan.participants,
                                           [&](ProcKey one) { return services_.is_lost(one); });
  if (excused) return;
  throw BrokenPromise("what is done together fails only with a participant",
                      fmt::format("step {} of job {}: {}", gathering.plan.id.second,
                                  gathering.plan.id.first, given.status.error().message));
}

}  // namespace tide::sim
