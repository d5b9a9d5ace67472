#include "sim/tree_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/pmix_words.hpp"
#include "core/proc_names.hpp"
#include "sim/journal.hpp"

namespace tide::sim {

namespace {

[[noreturn]] void broken(std::string_view promise, Rank rank, std::string_view what) {
  throw BrokenPromise(promise, fmt::format("rank {} {}", rank.value(), what));
}

const wire::Operation* operation_in(const core::DaemonEvent& event) {
  const auto* in = std::get_if<core::MessageIn>(&event);
  return in != nullptr && in->message.has_operation() ? &in->message.operation() : nullptr;
}

bool is_snapshot(const core::DaemonEvent& event) {
  const auto* in = std::get_if<core::MessageIn>(&event);
  return in != nullptr && in->message.has_snapshot();
}

}  // namespace

void TreeChecks::on_head_step(const core::Membership& membership) {
  repairs_.insert_or_assign(membership.serial(), membership.repairs());
}

void TreeChecks::on_daemon_step(const DaemonStep& step) {
  Daemon& daemon = daemons_[step.host];
  const Serial serial = step.membership.serial();
  const bool jumps = serial > daemon.serial && is_snapshot(step.event);
  // Every operation once, in order: the serial moves by one, or jumps with a snapshot.
  const bool in_order = serial == daemon.serial || serial.value() == daemon.serial.value() + 1;
  if (!in_order && !jumps) {
    broken("operations arrive once and in order", step.rank,
           fmt::format("goes from {} to {}", daemon.serial.value(), serial.value()));
  }
  if (jumps) {
    const auto at_head = repairs_.find(serial);
    if (at_head != repairs_.end()) daemon.repairs_missed = at_head->second;
  }
  check_order(step, serial != daemon.serial);
  check_forwarding(step);
  check_reports(step);
  check_end(step);
  note_tools(step);
  check_farewell(step);
  daemon.serial = serial;
  daemon.leaving = step.leaving;
}

// row:S3 it leaves because it handled the order that names it, and for nothing else
void TreeChecks::check_order(const DaemonStep& step, bool applied) const {
  const auto* operation = operation_in(step.event);
  const bool named = operation != nullptr && operation->membership().orderly() &&
                     core::RankSet::from_wire(operation->membership().left()).contains(step.rank);
  const bool begins = step.leaving && !daemons_.at(step.host).leaving;
  if (begins && !(named && applied)) broken("who leaves was told to", step.rank, "was not");
  if (named && applied && !step.leaving) {
    broken("who is told to leave leaves", step.rank, "does not");
  }
}

// row:S6 an order to leave goes down before anything else is done about it
void TreeChecks::check_forwarding(const DaemonStep& step) {
  const auto* operation = operation_in(step.event);
  if (operation == nullptr || !operation->membership().orderly()) return;
  bool acted = false;
  for (const auto& action : step.actions) {
    const auto* send = std::get_if<core::Send>(&action);
    const bool passes = send != nullptr && send->message.has_operation();
    if (passes && acted) {
      broken("an order to leave is passed on first", step.rank, "acts before");
    }
    const bool idle = std::holds_alternative<core::Note>(action) ||
                      std::holds_alternative<core::StartTimer>(action);
    acted = acted || (!passes && !idle);
  }
}

// row:S3 row:S4 row:S7 who leaves reports nobody, and nobody reports who leaves
void TreeChecks::check_reports(const DaemonStep& step) {
  for (const auto& action : step.actions) {
    const auto* send = std::get_if<core::Send>(&action);
    if (send == nullptr || !send->message.up().body().has_suspect()) continue;
    const auto& up = send->message.up();
    if (up.origin() != step.rank.value()) continue;
    const Rank suspect{up.body().suspect().rank()};
    Daemon& daemon = daemons_.at(step.host);
    if (!daemon.leaving) daemon.reported.insert(suspect);
    if (!daemon.reported.contains(suspect)) {
      broken("who leaves reports nobody", step.rank,
             fmt::format("reports rank {}", suspect.value()));
    }
    const auto* in = std::get_if<core::LinkDown>(&step.event);
    if (in != nullptr && step.membership.departed(suspect)) {
      broken("who has left is not reported", step.rank,
             fmt::format("reports rank {}", suspect.value()));
    }
  }
}

// row:S3 nor does it take its leaving for the loss of its place
void TreeChecks::check_end(const DaemonStep& step) const {
  if (!daemons_.at(step.host).leaving) return;
  for (const auto& action : step.actions) {
    const auto* exit = std::get_if<core::Exit>(&action);
    if (exit != nullptr && exit->status != 0) {
      broken("who was told to leave is not given up", step.rank, exit->reason);
    }
  }
}

void TreeChecks::note_tools(const DaemonStep& step) {
  auto& tools = daemons_.at(step.host).tools;
  for (const auto& action : step.actions) {
    const auto* answer = std::get_if<core::AnswerTool>(&action);
    if (answer != nullptr && answer->status) tools.insert(core::id_of(answer->name));
  }
  const auto* gone = std::get_if<core::ToolGone>(&step.event);
  if (gone != nullptr) tools.erase(core::id_of(gone->tool));
}

// row:S16 who begins to leave tells its tools, and nobody else tells any
void TreeChecks::check_farewell(const DaemonStep& step) const {
  const Daemon& daemon = daemons_.at(step.host);
  std::set<core::ProcId> told;
  for (const auto& action : step.actions) {
    const auto* event = std::get_if<core::DeliverEvent>(&action);
    if (event == nullptr || event->notice.code() != core::kEventJobEnd) continue;
    if (event->notice.source().nspace().find('@') != std::string::npos) continue;  // of a job
    for (const auto& name : event->notice.targets().names()) told.insert(core::id_of(name));
  }
  const bool begins = step.leaving && !daemon.leaving;
  if (told != (begins ? daemon.tools : std::set<core::ProcId>{})) {
    broken("who leaves tells its own tools", step.rank, fmt::format("tells {}", told.size()));
  }
}

// row:S10 row:S2
void TreeChecks::check_agreement(HostId host, Rank rank, const core::Membership& seen,
                                 const core::Membership& head) const {
  const auto& tree = head.tree();
  const bool same = seen.parent() == tree.parent(rank) && seen.children() == tree.children(rank) &&
                    seen.subtree() == tree.subtree(rank);
  if (!same) broken("everybody computes the same tree", rank, "has another one");
  const auto known = daemons_.find(host);
  const auto missed = known == daemons_.end() ? 0 : known->second.repairs_missed;
  if (seen.repairs() != head.repairs() - missed) {
    broken("a shrink costs one repair", rank,
           fmt::format("has repaired {} times, not {}", seen.repairs(), head.repairs() - missed));
  }
}

}  // namespace tide::sim
