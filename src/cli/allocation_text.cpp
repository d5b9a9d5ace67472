#include "cli/allocation_text.hpp"

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "cli/change_text.hpp"
#include "cli/name_lists.hpp"
#include "cli/text_table.hpp"
#include "say/campaigns.hpp"
#include "say/reserving.hpp"

namespace tide::cli {
namespace {

std::string word_or_dash(const std::string& word) {
  return word.empty() ? "-" : one_line(word);
}

std::string lease_text(const wire::LeaseStatus& lease) {
  std::string text = short_age(lease.left_ms()) + " left";
  if (lease.warn_ms() > 0) {
    text += lease.warned() ? ", warned" : ", warns " + short_age(lease.warn_ms()) + " before";
  }
  return text;
}

// Of the DVM's own namespaces what follows its id: "user", "job 3".
std::string short_namespace(const std::string& nspace, const std::string& dvm_id) {
  if (dvm_id.empty() || !nspace.starts_with(dvm_id + "@")) return word_or_dash(nspace);
  const std::string rest = nspace.substr(dvm_id.size() + 1);
  return parse_int(rest) ? "job " + rest : one_line(rest);
}

std::string owner_cell(const wire::AllocationStatus& one, const std::string& dvm_id) {
  return short_namespace(one.owner(), dvm_id) + (one.owner_ended() ? " (ended)" : "");
}

std::string owners_cell(const wire::AllocationStatus& one, const std::string& dvm_id) {
  std::vector<std::string> names;
  for (const std::string& owner : one.owners()) names.push_back(short_namespace(owner, dvm_id));
  return listed(names);
}

std::string nodes_cell(const wire::AllocationStatus& one, const wire::StatusReply& status) {
  std::vector<std::string> nodes = list_of(one.nodes());
  for (std::string& node : reserved_by(one, status)) nodes.push_back(std::move(node));
  return listed(nodes);
}

std::string lease_cell(const wire::AllocationStatus& one) {
  return one.has_lease() ? lease_text(one.lease()) : "-";
}

// Of one that somebody has asked for.
std::string terms_text(const wire::AllocationStatus& one) {
  if (one.owner().empty()) return {};
  std::string text =
      "  " + one_line(say::made_for(one.reserved(), one.owner(), one.request_id(), one.age_ms())) +
      "\n";
  if (!one.owners().empty()) {
    text += "  " + one_line(say::may_be_used_by(list_of(one.owners()))) + "\n";
  }
  if (!one.derived().empty()) {
    text += "  " + one_line(say::comes_of_owner(list_of(one.derived()))) + "\n";
  }
  if (!one.inheritance().empty()) {
    text +=
        "  " + say::what_becomes_of_it(one.inheritance(), one.reserved(), one.owner_ended()) + "\n";
  }
  return text;
}

}  // namespace

std::vector<std::string> leaving_of(const wire::AllocationReport& report) {
  std::set<std::string> leaving;
  for (const wire::ChangeReport& change : report.changes()) {
    if (change.ended() || !change.campaign().shrinks()) continue;
    leaving.insert(change.campaign().nodes().begin(), change.campaign().nodes().end());
  }
  std::vector<std::string> out;
  for (const std::string& node : report.allocation().nodes()) {
    if (leaving.contains(node)) out.push_back(node);
  }
  for (const std::string& node : report.reserves()) {
    if (leaving.contains(node)) out.push_back(node);
  }
  return out;
}

std::string allocation_report_text(const wire::AllocationReport& report, std::uint64_t now_ms) {
  const wire::AllocationStatus& one = report.allocation();
  std::string text = "allocation " + one_line(one.name()) + ": ";
  if (!one.nodes().empty()) {
    text += listed(one.nodes()) + ", granted by " + listed(one.managers());
  } else if (!report.there().empty()) {
    text += one_line(say::brought_nothing(list_of(report.there())));
  } else {
    text += "none of its nodes is there";
  }
  text += "\n";
  if (!report.reserves().empty()) {
    text += "  " + one_line(say::reserves_what_was_there(list_of(report.reserves()))) + "\n";
  }
  if (const auto leaving = leaving_of(report); !leaving.empty()) {
    text += "  " + one_line(say::nodes_are_leaving(leaving)) + "\n";
  }
  text += terms_text(one);
  if (!one.nodes().empty()) {
    text += one.has_lease() ? "  lease: " + lease_text(one.lease()) + "\n"
                            : "  no lease: they stay until they are released\n";
  }
  if (!report.jobs().empty()) {
    text += "jobs with processes there\n  " + jobs_listed(report.jobs()) + "\n";
  }
  if (!report.asks().empty()) text += "it is to get\n" + asks_text(report.asks(), "  ");
  for (const wire::ChangeReport& change : report.changes()) {
    text += "\n" + change_report_text(change, now_ms);
  }
  return text;
}

std::vector<std::string> reserved_by(const wire::AllocationStatus& allocation,
                                     const wire::StatusReply& status) {
  const std::set<std::string> brought(allocation.nodes().begin(), allocation.nodes().end());
  std::vector<std::string> out;
  for (const wire::NodeStatus& node : status.nodes()) {
    if (node.reservation() != allocation.name() || brought.contains(node.name())) continue;
    out.push_back(node.name());
  }
  return out;
}

std::string sessions_text(const wire::StatusReply& status) {
  const bool some_owned = std::ranges::any_of(status.allocations(),
                                              [](const auto& one) { return !one.owner().empty(); });
  std::vector<std::string> headings = {"ALLOCATION"};
  if (some_owned) headings.insert(headings.end(), {"KIND", "OWNER", "OWNERS", "INHERITANCE"});
  headings.insert(headings.end(), {"LEASE", "NODES"});
  TextTable table(std::move(headings));
  bool any = false;
  for (const wire::AllocationStatus& one : status.allocations()) {
    if (!one.has_lease() && !one.reserved() && one.owner().empty()) continue;
    any = true;
    std::vector<std::string> cells = {one_line(one.name())};
    if (some_owned) {
      cells.insert(cells.end(),
                   {one.reserved() ? "reserved" : "shared", owner_cell(one, status.dvm_id()),
                    owners_cell(one, status.dvm_id()), word_or_dash(one.inheritance())});
    }
    cells.insert(cells.end(), {lease_cell(one), nodes_cell(one, status)});
    table.add(std::move(cells));
  }
  return any ? table.text() : "";
}

std::string allocations_text(const wire::StatusReply& status) {
  const std::string asks = asks_text(status.asks());
  if (status.allocations().empty()) return asks.empty() ? say::no_allocations() + "\n" : asks;
  TextTable table(
      {"ALLOCATION", "KIND", "NODES", "OWNER", "OWNERS", "INHERITANCE", "LEASE", "AGE", "REQUEST"});
  for (const wire::AllocationStatus& one : status.allocations()) {
    table.add({one_line(one.name()), one.reserved() ? "reserved" : "shared",
               nodes_cell(one, status), owner_cell(one, status.dvm_id()),
               owners_cell(one, status.dvm_id()), word_or_dash(one.inheritance()), lease_cell(one),
               one.owner().empty() ? "-" : short_age(one.age_ms()),
               word_or_dash(one.request_id())});
  }
  return table.text() + (asks.empty() ? "" : "\n" + asks);
}

std::string asks_text(const google::protobuf::RepeatedPtrField<wire::PendingAsk>& asks,
                      std::string_view indent) {
  std::string text;
  for (const wire::PendingAsk& ask : asks) {
    const std::string what =
        one_line(ask.job() == 0 ? ask.text() : say::nodes_for_job(ask.text(), ask.job()));
    text += indent;
    text += ask.queued().empty() ? say::not_answered_yet(what, ask.age_ms(), ask.left_ms())
                                 : say::queued_for(what, ask.age_ms(), one_line(ask.queued()));
    text += "\n";
  }
  return text;
}

std::vector<std::string> targets_of(const wire::JobStatus& job) {
  if (!job.has_targets()) return {"default"};
  std::vector<std::string> names = list_of(job.targets().allocations());
  if (job.targets().default_session()) names.emplace_back("default");
  return names;
}

bool is_aimed(const wire::JobStatus& job) {
  return !job.targets().allocations().empty();
}

}  // namespace tide::cli
