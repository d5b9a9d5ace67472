#include "sim/event_watch.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "core/proc_names.hpp"
#include "sim/services.hpp"
#include "sim/world.hpp"

namespace tide::sim {

namespace {

std::uint64_t number_of(const wire::EventNotice& notice) {
  const auto number = parse_int(notice.info());
  return number ? static_cast<std::uint64_t>(*number) : 0;
}

[[noreturn]] void broken(std::uint64_t number, const std::string& what) {
  throw BrokenPromise("an event is told to whom it concerns, once",
                      fmt::format("event {}: {}", number, what));
}

}  // namespace

void EventWatch::on_raised(wire::EventNotice& notice, Rank origin, std::set<Rank> may) {
  const std::uint64_t number = events_.size() + 1;
  notice.set_info(std::to_string(number));
  Event& event = events_[number];
  event.notice = notice;
  event.origin = origin;
  event.may = std::move(may);
  event.for_all = notice.range() == wire::RANGE_SESSION || notice.range() == wire::RANGE_GLOBAL;
  ++unseen_;
}

void EventWatch::on_head_step(const core::Actions& actions) {
  if (unseen_ == 0) return;
  for (const auto& action : actions) {
    if (const auto* told = std::get_if<core::DeliverEvent>(&action)) see(told->notice);
    const auto* send = std::get_if<core::Send>(&action);
    if (send == nullptr || !send->message.has_down()) continue;
    for (const auto& entry : send->message.down().entries()) {
      if (entry.body().has_event()) see(entry.body().event());
    }
  }
}

void EventWatch::see(const wire::EventNotice& notice) {
  const auto found = events_.find(number_of(notice));
  if (found == events_.end() || found->second.seen) return;
  Event& event = found->second;
  event.seen = true;
  --unseen_;
  const auto& head = services_.world().head();
  if (event.for_all) {
    event.must.insert(kHeadRank);
    for (const auto& [rank, node] : head.roster().nodes()) {
      if (head.overlay().membership().has(rank)) event.must.insert(rank);
    }
  } else {
    wire::ProcNames whom = notice.targets();
    if (notice.range() == wire::RANGE_NAMESPACE) {
      *whom.add_names() = core::proc_name(notice.source().nspace(), core::kAllRanks);
    }
    if (const auto hosts = head.jobs().hosts_of(whom)) event.must = *hosts;
  }
  event.must.erase(event.origin);
}

void EventWatch::on_delivered(HostId host, const wire::EventNotice& notice) {
  const auto number = number_of(notice);
  const auto found = events_.find(number);
  if (found == events_.end()) broken(number, "nobody raised it");
  Event& event = found->second;
  const Rank rank = services_.daemon_of(host);
  if (rank == event.origin) broken(number, "it came back");
  const bool meant = event.for_all || event.may.contains(rank);
  if (!meant) broken(number, fmt::format("rank {} is not meant", rank.value()));
  if (++event.delivered[host] > 1) broken(number, fmt::format("twice on host {}", host));
}

// Who lives now was never lost.
void EventWatch::when_quiet() const {
  for (const auto& [number, event] : events_) {
    const auto& world = services_.world();
    if (event.for_all && !event.seen && world.living_host(event.origin) &&
        world.head().roster().nodes().size() > 1) {
      broken(number, "the head does not know of it");
    }
    for (const Rank rank : event.must) {
      const auto host = world.living_host(rank);
      if (host && !event.delivered.contains(*host)) {
        broken(number, fmt::format("rank {} was not told", rank.value()));
      }
    }
  }
}

}  // namespace tide::sim
