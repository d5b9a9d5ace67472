// Tools that ask for changes: each is answered once, and after that told of the end by one event,
// which nobody else gets.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/pmix_words.hpp"
#include "core/proc_names.hpp"
#include "sim/changes.hpp"
#include "sim/checks.hpp"
#include "sim/services.hpp"
#include "sim/world.hpp"

namespace tide::sim {

namespace {

constexpr std::uint64_t kRestUs = 3'000;

[[noreturn]] void broken(std::size_t index, const char* what) {
  throw BrokenPromise("who asks for a change hears of it twice",
                      fmt::format("tool of change {}: {}", index, what));
}

std::string text_of(const wire::EventNotice& notice, const char* key) {
  for (const auto& fact : notice.facts()) {
    if (fact.key() == key) return fact.text();
  }
  return "";
}

}  // namespace

void Changes::attach(std::size_t index) {
  ChangeOutcome& outcome = outcomes_[index];
  outcome.host = outcome.plan.place == 0 ? kHeadHost : world_.pick_host(outcome.plan.place);
  core::ToolArrived event;
  event.wish = core::proc_name(fmt::format("change.{}", index), 0);
  event.ticket =
      world_.services().ticket(outcome.host, /*must=*/true, [this, index](const Given& given) {
        ChangeOutcome& asker = outcomes_[index];
        asker.name = given.name;
        if (asker.left) return part(index);  // while it was let in
        ask_by_tool(index);
      });
  outcome.tickets.insert(event.ticket);
  world_.tell(outcome.host, event);
}

void Changes::ask_by_tool(std::size_t index) {
  ChangeOutcome& outcome = outcomes_[index];
  const ChangePlan& plan = outcome.plan;
  wire::ServiceRequest request;
  *request.mutable_who() = outcome.name;
  auto& wanted = *request.mutable_allocation();
  const bool grows = plan.what == ChangeKind::kGrow;
  wanted.set_what(grows ? wire::AllocationRequest::NEW : wire::AllocationRequest::RELEASE);
  wanted.set_request_id(fmt::format("request {}", index));
  wanted.set_share(!plan.reserves);
  const auto names =
      grows ? std::vector<std::string>(free_.begin(), free_.end()) : some_nodes(plan.count, index);
  if (plan.by_name) {
    for (const auto& name : names) {
      if (static_cast<std::uint32_t>(wanted.hosts_size()) < plan.count) {
        wanted.add_hosts()->set_node(name);
      }
    }
  }
  if (wanted.hosts().empty()) wanted.set_count(plan.count);
  outcome.asked = true;
  outcome.tickets.insert(
      world_.services().ask(outcome.host, /*must=*/true, std::move(request),
                            [this, index](const Given& given) { on_answer(index, given); }));
}

// row:C1
void Changes::on_answer(std::size_t index, const Given& given) {
  ChangeOutcome& outcome = outcomes_[index];
  if (outcome.left) return;
  if (outcome.begun || outcome.refused || outcome.ended) broken(index, "answered after the end");
  const auto& answer = given.answer.allocation();
  outcome.refused = !given.status;
  outcome.begun = !outcome.refused;
  outcome.complete = outcome.begun && answer.complete();
  outcome.allocation = answer.allocation();
  if (outcome.begun && answer.allocation().empty()) broken(index, "no id is given");
  if (outcome.begun && answer.request_id().empty()) broken(index, "its own id is not echoed");
  if (outcome.refused || outcome.complete) {
    world_.services().later(outcome.host, kRestUs, [this, index] { part(index); });
  }
}

// row:C2 row:C3 row:C4 row:C5
void Changes::on_event(HostId host, const wire::EventNotice& notice) {
  const auto& whom = notice.targets().names();
  const auto meant = std::ranges::find_if(outcomes_, [&](const ChangeOutcome& one) {
    return whom.size() == 1 && one.plan.by_tool &&
           core::id_of(one.name) == core::id_of(whom.Get(0));
  });
  if (meant == outcomes_.end() || notice.range() != wire::RANGE_CUSTOM) {
    throw BrokenPromise("an event goes to who asked for the change", "to somebody else");
  }
  const auto index = static_cast<std::size_t>(meant - outcomes_.begin());
  if (meant->host != host) broken(index, "told where it is not attached");
  if (meant->ended) broken(index, "told twice");
  if (meant->refused || meant->complete) broken(index, "told of what nothing was done for");
  if (meant->left) return;  // nobody hears it
  if (!meant->begun) broken(index, "told before it is answered");
  if (text_of(notice, core::kFactAllocation) != meant->allocation) broken(index, "of another id");
  wire::ChangeEnded ended;
  ended.set_done(notice.code() == core::kEventDvmIsReady);
  ended.set_text(text_of(notice, core::kFactText));
  for (const auto& fact : notice.facts()) {
    if (fact.key() == core::kFactJobStatus && fact.status() != 0) ended.set_cause("told");
  }
  on_ended(*meant, ended);
  world_.services().later(host, kRestUs, [this, index] { part(index); });
}

// Who is not let in yet goes when it is.
void Changes::part(std::size_t index) {
  ChangeOutcome& outcome = outcomes_[index];
  outcome.left = true;
  if (outcome.name.nspace().empty()) return;
  for (const auto ticket : outcome.tickets) world_.services().excuse(ticket);
  world_.tell(outcome.host, core::ToolGone{outcome.name});
}

// Whoever is attached goes with it.
void Changes::host_gone(HostId host) {
  for (auto& outcome : outcomes_) {
    if (outcome.plan.by_tool && outcome.host == host) outcome.left = true;
  }
}

}  // namespace tide::sim
