#include "cli/live_view.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "base/next_step.hpp"
#include "base/text.hpp"
#include "cli/status_text.hpp"
#include "cli/text_table.hpp"
#include "cli/watch_text.hpp"
#include "say/elastic.hpp"

namespace tide::cli {
namespace {

constexpr std::string_view kParked = "PRTE_JOB_STATE_WAITING_FOR_DAEMONS";
constexpr std::uint32_t kMostBars = 8;  // more slots are shown as numbers
constexpr std::size_t kLeastShown = 2;  // lines of a part that has any

bool is_parked(const wire::JobStatus& job) {
  return !job.ended() && job.state() == kParked;
}

std::size_t parked_jobs(const wire::StatusReply& status) {
  return static_cast<std::size_t>(std::ranges::count_if(status.jobs(), is_parked));
}

std::size_t other_jobs(const wire::StatusReply& status) {
  return static_cast<std::size_t>(std::ranges::count_if(
      status.jobs(), [](const auto& job) { return !job.ended() && !is_parked(job); }));
}

// "4 nodes", "4 nodes (v3, v4 starting; v1 leaving)".
std::string nodes_words(const wire::StatusReply& status) {
  std::map<std::string, std::vector<std::string>> others;
  for (const wire::NodeStatus& node : status.nodes()) {
    if (node.state() != "up") others[node.state()].push_back(one_line(node.name()));
  }
  std::vector<std::string> parts;
  for (const auto& [state, names] : others) parts.push_back(say::name_list(names) + " " + state);
  const auto count = static_cast<std::size_t>(status.nodes_size());
  return say::counted(count, "node", "nodes") +
         (parts.empty() ? "" : " (" + join(parts, "; ") + ")");
}

std::string jobs_words(const wire::StatusReply& status) {
  const std::size_t others = other_jobs(status);
  return std::to_string(others) + (others == 1 ? " job runs, " : " jobs run, ") +
         std::to_string(parked_jobs(status)) + " parked";
}

std::string changes_words(const wire::StatusReply& status) {
  std::string text;
  for (const wire::CampaignStatus& one : status.campaigns()) {
    const std::vector<std::string> nodes(one.nodes().begin(), one.nodes().end());
    text +=
        "; " + one_line(say::change_words(one.shrinks(), one.number(), nodes)) + ": " + one.phase();
  }
  return text;
}

// "v1 ##..": a node with two of four slots in use; "v3 starting": one that has none yet.
std::string node_cell(const wire::NodeStatus& node) {
  std::string text = one_line(node.name()) + " ";
  if (node.slots() == 0 && node.state() != "up") return text + node.state();
  if (node.slots() > kMostBars || node.slots_used() > node.slots()) {
    text += std::to_string(node.slots_used()) + "/" + std::to_string(node.slots());
  } else {
    text +=
        std::string(node.slots_used(), '#') + std::string(node.slots() - node.slots_used(), '.');
  }
  return node.state() == "up" ? text : text + " " + node.state();
}

// Side by side, as many as fit.
std::vector<std::string> node_lines(const wire::StatusReply& status, std::size_t columns) {
  std::vector<std::string> cells;
  std::size_t widest = 0;
  for (const wire::NodeStatus& node : status.nodes()) {
    cells.push_back(node_cell(node));
    widest = std::max(widest, shown_width(cells.back()));
  }
  const std::size_t each = widest + 3;
  const std::size_t in_a_row = std::max<std::size_t>(1, columns / each);
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i % in_a_row == 0) lines.emplace_back();
    std::string& line = lines.back();
    if (i % in_a_row != 0) line.append(each * (i % in_a_row) - shown_width(line), ' ');
    line += cells[i];
  }
  return lines;
}

// Jobs that wait for a change first; the others in their order.
std::vector<std::string> job_lines(const wire::StatusReply& status, std::size_t most) {
  wire::StatusReply shown;
  const std::size_t all = parked_jobs(status) + other_jobs(status);
  if (all == 0 || most < kLeastShown) return {};
  const std::size_t rows = all < most ? all : most - 2;  // the heading, and how many there are more
  for (const bool parked : {true, false}) {
    for (const wire::JobStatus& job : status.jobs()) {
      const bool room = static_cast<std::size_t>(shown.jobs_size()) < rows;
      if (!room || job.ended() || is_parked(job) != parked) continue;
      wire::JobStatus& row = *shown.add_jobs();
      row = job;
      row.set_state(short_state(job.state()));
    }
  }
  if (shown.jobs().empty()) return {};
  std::vector<std::string> lines = split(jobs_text(shown, false), '\n');
  lines.pop_back();
  if (rows < all) lines.push_back("… and " + std::to_string(all - rows) + " more");
  return lines;
}

std::vector<std::string> cut(std::vector<std::string> lines, std::size_t most) {
  if (lines.size() <= most) return lines;
  const std::size_t dropped = lines.size() - most + 1;
  lines.resize(most - 1);
  lines.push_back("… and " + say::counted(dropped, "line", "lines") + " more");
  return lines;
}

std::string narrowed(const std::string& line, std::size_t columns) {
  std::size_t end = 0;
  for (std::size_t shown = 0; end < line.size() && shown < columns; ++shown) {
    end += std::max<std::size_t>(1, character_bytes(std::string_view(line).substr(end)));
  }
  return line.substr(0, end);
}

// The lines of a screen, as long as there is room.
class Screen {
 public:
  explicit Screen(ScreenSize size) : size_(size), left_(size.rows > 1 ? size.rows - 1 : 1) {}

  [[nodiscard]] std::size_t left() const { return left_; }
  void add(const std::string& line) {
    if (left_ == 0) return;
    --left_;
    text_ += narrowed(line, size_.columns) + "\n";
  }
  // With an empty line before, if there are any.
  void add_part(const std::vector<std::string>& lines) {
    if (lines.empty() || left_ <= kLeastShown) return;
    add("");
    for (const std::string& line : lines) add(line);
  }
  [[nodiscard]] std::string text() && { return std::move(text_); }

 private:
  ScreenSize size_;
  std::size_t left_;
  std::string text_;
};

std::uint64_t submitted_jobs(const wire::StatusReply& status) {
  for (const wire::CounterValue& counter : status.counters()) {
    if (counter.name() == "jobs.submitted") return counter.value();
  }
  return 0;
}

}  // namespace

std::string live_screen(const wire::StatusReply& status, std::span<const std::string> events,
                        ScreenSize size) {
  Screen screen(size);
  const std::size_t quarter = std::max<std::size_t>(3, size.rows / 4);
  screen.add("DVM " + status.dvm_name() + " is " + status.state() + ", up " +
             short_age(status.age_ms()) + (status.elastic() ? ", elastic" : ""));
  screen.add(nodes_words(status) + ", " + slots_summary(status));
  screen.add(jobs_words(status) + ", " + std::to_string(submitted_jobs(status)) + " so far");
  screen.add_part(cut(node_lines(status, size.columns), quarter));
  if (!status.campaigns().empty()) {
    std::vector<std::string> changes = split(campaigns_text(status), '\n');
    changes.pop_back();
    screen.add_part(cut(std::move(changes), quarter));
  }
  // What is left is for both, and for the events a quarter at least.
  const std::size_t for_events = events.empty() ? 0 : std::min(events.size(), quarter) + 1;
  const std::size_t left = screen.left();
  if (left > for_events + 1) screen.add_part(job_lines(status, left - for_events - 1));
  const std::size_t room = screen.left() > 1 ? screen.left() - 1 : 0;
  const auto last = events.last(std::min(events.size(), room));
  screen.add_part({last.begin(), last.end()});
  return std::move(screen).text();
}

std::string live_line(const wire::StatusReply& status) {
  return nodes_words(status) + ", " + slots_summary(status) + "; " + jobs_words(status) +
         changes_words(status);
}

std::string live_gist(const wire::StatusReply& status) {
  return status.state() + nodes_words(status) + changes_words(status) +
         (parked_jobs(status) > 0 ? "; parked" : "");
}

}  // namespace tide::cli
