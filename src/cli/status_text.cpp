#include "cli/status_text.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "cli/allocation_text.hpp"
#include "cli/name_lists.hpp"
#include "cli/text_table.hpp"
#include "say/campaigns.hpp"

namespace tide::cli {
namespace {

constexpr std::size_t kMaxCommandWidth = 60;

std::string counted(std::size_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string shortened(std::string_view command) {
  std::string text = one_line(command);
  if (text.size() <= kMaxCommandWidth) return text;
  // Not in the middle of a character.
  std::size_t end = kMaxCommandWidth - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "...";
}

std::string nodes_text(const wire::StatusReply& status) {
  std::vector<std::string> headings = {"NODE", "STATE", "SLOTS", "PROCESSES", "PID", "RANK"};
  if (status.elastic()) headings.emplace_back("ALLOCATION");
  const bool some_reserved = std::ranges::any_of(
      status.nodes(), [](const auto& node) { return !node.reservation().empty(); });
  if (some_reserved) headings.emplace_back("RESERVED BY");
  TextTable table(std::move(headings));
  for (const wire::NodeStatus& node : status.nodes()) {
    std::vector<std::string> cells = {
        node.name(),
        node.state(),
        std::to_string(node.slots_used()) + "/" + std::to_string(node.slots()),
        std::to_string(node.processes()),
        std::to_string(node.pid()),
        std::to_string(node.rank())};
    if (status.elastic()) cells.push_back(node.allocation().empty() ? "-" : node.allocation());
    if (some_reserved) cells.push_back(node.reservation().empty() ? "-" : node.reservation());
    table.add(std::move(cells));
  }
  return table.text();
}

}  // namespace

std::string campaigns_text(const wire::StatusReply& status) {
  TextTable table(
      {"CHANGE", "KIND", "PHASE", "AGE", "PARKED JOBS", "ALLOCATION", "NODES", "MISSING"});
  for (const wire::CampaignStatus& one : status.campaigns()) {
    table.add({std::to_string(one.number()), one.shrinks() ? "shrink" : "grow", one.phase(),
               short_age(one.age_ms()), std::to_string(one.parked_jobs()), one.allocation(),
               listed(one.nodes()),
               one.managers().empty() ? listed(one.missing()) : listed(one.managers())});
  }
  return table.text();
}

std::string slots_summary(const wire::StatusReply& status) {
  std::uint64_t slots = 0;
  std::uint64_t used = 0;
  for (const wire::NodeStatus& node : status.nodes()) {
    slots += node.slots();
    used += node.slots_used();
  }
  return std::to_string(used) + " of " + counted(slots, "slot") + " used";
}

std::string status_text(const wire::StatusReply& status) {
  const auto nodes = static_cast<std::size_t>(status.nodes_size());
  const auto running = static_cast<std::size_t>(
      std::count_if(status.jobs().begin(), status.jobs().end(),
                    [](const wire::JobStatus& job) { return !job.ended(); }));
  std::string text = "DVM " + status.dvm_name() + " is " + status.state() + ", up " +
                     short_age(status.age_ms()) + ", head pid " + std::to_string(status.pid()) +
                     "\n";
  if (!status.uri().empty()) text += "address " + status.uri() + "\n";
  text += counted(nodes, "node") + ", " + slots_summary(status) + ", " +
          counted(running, "running job") + (status.elastic() ? ", elastic" : "") + "\n";
  if (!status.source().empty()) {
    text += "nodes from " + status.source();
    if (status.source_left_ms() > 0) text += ", " + short_age(status.source_left_ms()) + " left";
    text += "\n";
  }
  if (nodes > 0) text += "\n" + nodes_text(status);
  if (const std::string some = sessions_text(status); !some.empty()) text += "\n" + some;
  if (const std::string asks = asks_text(status.asks()); !asks.empty()) text += "\n" + asks;
  if (!status.campaigns().empty()) text += "\n" + campaigns_text(status);
  if (running > 0) text += "\n" + jobs_text(status, false);
  return text;
}

std::string jobs_text(const wire::StatusReply& status, bool ended) {
  const auto is_shown = [ended](const wire::JobStatus& job) { return ended || !job.ended(); };
  const bool some_aimed = std::ranges::any_of(
      status.jobs(), [&](const wire::JobStatus& job) { return is_shown(job) && is_aimed(job); });
  std::vector<std::string> headings = {"JOB", "STATE", "PROCESSES", "NODES", "AGE"};
  if (ended) headings.emplace_back("EXIT");
  if (some_aimed) headings.emplace_back("TARGETS");
  headings.insert(headings.end(), {"WAITS FOR", "COMMAND"});
  TextTable table(std::move(headings));
  std::size_t shown = 0;
  for (const wire::JobStatus& job : status.jobs()) {
    if (!is_shown(job)) continue;
    ++shown;
    const std::string processes =
        job.ended() ? std::to_string(job.processes())
                    : std::to_string(job.running()) + "/" + std::to_string(job.processes());
    std::vector<std::string> cells = {std::to_string(job.number()), job.state(), processes,
                                      std::to_string(job.nodes()), short_age(job.age_ms())};
    if (ended) cells.push_back(job.ended() ? std::to_string(job.exit_status()) : "-");
    if (some_aimed) cells.push_back(listed(targets_of(job)));
    cells.push_back(job.waits_for().empty() ? "-" : job.waits_for());
    cells.push_back(shortened(job.command()));
    table.add(std::move(cells));
  }
  if (shown > 0) return table.text();
  return ended ? "no job has run yet\n" : "no job is running\n";
}

std::string params_text(std::span<const ShownParam> params) {
  std::string text;
  for (const ShownParam& param : params) {
    text += std::string(param.name) + " = " +
            (param.value.empty() ? "(empty)" : one_line(param.value)) + "  [" +
            std::string(param.source) + "]\n    " + std::string(param.help) + " (" +
            std::string(param.type) + ")\n";
  }
  return text;
}

std::string params_parsable(std::span<const ShownParam> params) {
  std::string text;
  for (const ShownParam& param : params) {
    const std::string start = "param:" + std::string(param.name) + ":";
    text += start + "value:" + one_line(param.value) + "\n";
    text += start + "source:" + one_line(param.source) + "\n";
    text += start + "type:" + std::string(param.type) + "\n";
    text += start + "help:" + std::string(param.help) + "\n";
  }
  return text;
}

}  // namespace tide::cli
