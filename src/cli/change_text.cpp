#include "cli/change_text.hpp"

#include <ranges>
#include <string_view>
#include <vector>

#include "base/next_step.hpp"
#include "base/text.hpp"
#include "cli/name_lists.hpp"
#include "cli/text_table.hpp"
#include "say/campaigns.hpp"

namespace tide::cli {
namespace {

std::string since_text(std::uint64_t at_ms, std::uint64_t now_ms) {
  return short_age(now_ms > at_ms ? now_ms - at_ms : 0);
}

std::string way_text(const wire::ChangeReport& report, std::uint64_t now_ms) {
  TextTable table({"  SINCE", "PHASE"});
  for (const wire::JobPassage& step : report.way()) {
    table.add({"  " + since_text(step.at_ms(), now_ms), step.state()});
  }
  return table.text();
}

// As it is, but without what would move the cursor.
std::string lines_text(const std::string& text) {
  std::string out;
  for (const auto line : std::views::split(text, '\n')) {
    if (!out.empty()) out += "\n  ";
    out += one_line(std::string_view(line.begin(), line.end()));
  }
  return out;
}

std::string phase_text(const wire::ChangeReport& report, std::uint64_t now_ms) {
  const wire::CampaignStatus& change = report.campaign();
  if (report.ended()) {
    const int steps = report.way_size();
    const std::string ago =
        steps == 0 ? "" : " " + since_text(report.way(steps - 1).at_ms(), now_ms) + " ago";
    return "  ended" + ago + " after " + short_age(change.age_ms()) + ": " +
           lines_text(report.end().text()) + "\n";
  }
  std::string text = "  " + change.phase() + " for " + short_age(report.phase_age_ms()) +
                     ", begun " + short_age(change.age_ms()) + " ago";
  if (report.phase_left_ms() > 0) {
    text += "; " + say::after_limit(report.then(), short_age(report.phase_left_ms()));
  }
  return text + "\n";
}

// What it fails of is not waited for.
std::string points_text(const wire::ChangeReport& report) {
  std::string failures;
  std::string waits;
  for (const wire::JobPoint& point : report.waits()) {
    const bool failure = point.kind() == "failure";
    (failure ? failures : waits) += "  " + lines_text(point.text()) + "\n";
  }
  if (!failures.empty()) failures = "will fail because\n" + failures;
  if (!waits.empty()) waits = "waits for\n" + waits;
  return failures + waits;
}

}  // namespace

std::string jobs_listed(const google::protobuf::RepeatedField<std::uint32_t>& jobs) {
  std::vector<std::string> list;
  for (const std::uint32_t job : jobs) list.push_back(std::to_string(job));
  return say::name_list(list);
}

std::string change_report_text(const wire::ChangeReport& report, std::uint64_t now_ms) {
  const wire::CampaignStatus& change = report.campaign();
  std::string text = std::string(change.shrinks() ? "shrink " : "grow ") +
                     std::to_string(change.number()) + " (allocation " +
                     one_line(change.allocation()) + "): " + listed(change.nodes()) + "\n";
  text += phase_text(report, now_ms);
  text += "  " + one_line(report.asked()) + "\n";
  text += points_text(report);
  if (!report.parked().empty()) {
    text += "jobs that wait for it\n  " + jobs_listed(report.parked()) + "\n";
  }
  if (!report.way().empty()) text += "way\n" + way_text(report, now_ms);
  return text;
}

}  // namespace tide::cli
