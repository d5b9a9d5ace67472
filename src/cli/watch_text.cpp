#include "cli/watch_text.hpp"

#include <array>
#include <ctime>

#include "base/next_step.hpp"
#include "base/text.hpp"
#include "cli/allocation_text.hpp"
#include "cli/change_text.hpp"
#include "cli/text_table.hpp"
#include "say/reserving.hpp"
#include "say/watching.hpp"

namespace tide::cli {
namespace {

// Longer ways are shown without the steps that took no time.
constexpr std::uint64_t kNoTimeMs = 1;

std::string processes_of(const wire::JobStatus& job) {
  if (job.processes() == 0) return "not placed yet";
  std::string all = say::counted(job.processes(), "process", "processes");
  const std::string nodes = say::counted(job.nodes(), "node", "nodes");
  if (job.ended()) return all;
  return std::to_string(job.running()) + " of " + all + " known to run, on " + nodes;
}

std::string since_text(std::uint64_t at_ms, std::uint64_t now_ms) {
  return short_age(now_ms > at_ms ? now_ms - at_ms : 0);
}

// Of a job that may use others, or more, than the nodes of the default session.
std::string sessions_of(const wire::JobStatus& job) {
  if (!is_aimed(job)) return {};
  const auto& names = job.targets().allocations();
  const std::vector<std::string> ids(names.begin(), names.end());
  return "  " + one_line(say::may_use_sessions(ids, job.targets().default_session())) + "\n";
}

std::string heading(const wire::ExplainReply& reply) {
  const wire::JobStatus& job = reply.job();
  std::string text = "job " + std::to_string(job.number()) + " (" + job.nspace() +
                     "): " + one_line(job.command()) + "\n";
  if (!job.ended()) {
    return text + "  " + short_state(job.state()) + " for " + short_age(job.state_age_ms()) +
           ", submitted " + short_age(job.age_ms()) + " ago; " + processes_of(job) + "\n" +
           sessions_of(job);
  }
  const int passages = reply.passages_size();
  text += "  ended";
  if (passages > 0) {
    text += " " + since_text(reply.passages(passages - 1).at_ms(), reply.now_ms()) + " ago";
  }
  return text + " after " + short_age(job.age_ms()) + ": " + short_state(job.state()) +
         ", exit status " + std::to_string(job.exit_status()) + "; " + processes_of(job) + "\n" +
         sessions_of(job);
}

// Messages may have more than one line; they stay below each other.
std::string indented(std::string_view text) {
  std::string out;
  for (const std::string& line : split(text, '\n')) out += "  " + one_line(line) + "\n";
  return out;
}

std::string points_text(const google::protobuf::RepeatedPtrField<wire::JobPoint>& points) {
  std::string out;
  for (const wire::JobPoint& point : points) out += "  " + one_line(point.text()) + "\n";
  return out;
}

std::string way_text(const wire::ExplainReply& reply) {
  TextTable table({"  SINCE", "STATE", "WHY"});
  for (int i = 0; i < reply.passages_size(); ++i) {
    const wire::JobPassage& passage = reply.passages(i);
    const bool last = i + 1 == reply.passages_size();
    if (!last && reply.passages(i + 1).at_ms() < passage.at_ms() + kNoTimeMs) continue;
    table.add({"  " + since_text(passage.at_ms(), reply.now_ms()), short_state(passage.state()),
               one_line(passage.cause())});
  }
  return table.text();
}

std::string exit_of(const wire::ListedProc& row) {
  if (!row.ended()) return "-";
  return row.signal() != 0 ? say::signal_name(row.signal()) : std::to_string(row.exit_code());
}

std::string event_about(const wire::DvmEvent& event) {
  if (event.job() != 0) return "job " + std::to_string(event.job());
  return event.node().empty() ? "" : "node " + event.node();
}

std::string event_detail(const wire::DvmEvent& event) {
  std::string text;
  const auto add = [&text](std::string_view more) {
    if (!text.empty() && !more.empty()) text += ", ";
    text += more;
  };
  if (!event.state().empty()) {
    add(short_state(event.state()));
    add("exit status " + std::to_string(event.exit_status()));
  } else if (event.processes() > 0) {
    add(say::counted(event.processes(), "process", "processes"));
  }
  add(one_line(event.detail()));
  return text;
}

}  // namespace

std::string short_state(std::string_view state) {
  for (const std::string_view prefix : {"PRTE_JOB_STATE_", "PRTE_PROC_STATE_"}) {
    if (state.starts_with(prefix)) return std::string(state.substr(prefix.size()));
  }
  return std::string(state);
}

std::uint64_t unix_time_of(std::uint64_t at_ms, std::uint64_t now_ms, std::uint64_t unix_ms) {
  const std::uint64_t ago = now_ms > at_ms ? now_ms - at_ms : 0;
  return unix_ms > ago ? unix_ms - ago : 0;
}

std::string clock_time(std::uint64_t unix_ms) {
  const auto seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm local{};
  localtime_r(&seconds, &local);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%H:%M:%S", &local);
  const std::string fraction = std::to_string(1000 + unix_ms % 1000);
  return std::string(text.data(), size) + "." + fraction.substr(1);
}

std::string explain_text(const wire::ExplainReply& reply) {
  if (reply.has_change()) return change_report_text(reply.change(), reply.now_ms());
  if (reply.has_allocation()) return allocation_report_text(reply.allocation(), reply.now_ms());
  std::string text = heading(reply);
  if (!reply.job().messages().empty()) {
    text += reply.job().ended() ? "because\n" : "fails because\n";
    for (const std::string& message : reply.job().messages()) text += indented(message);
  }
  if (!reply.waits().empty()) text += "waits for\n" + points_text(reply.waits());
  if (!reply.facts().empty()) text += "besides\n" + points_text(reply.facts());
  if (!reply.passages().empty()) text += "way\n" + way_text(reply);
  return text;
}

const std::string* node_of(const wire::JobProcs& job, const wire::ListedProc& row) {
  const auto known = static_cast<std::uint32_t>(job.nodes_size());
  return row.node() < known ? &job.nodes(static_cast<int>(row.node())) : nullptr;
}

const std::string* state_of(const wire::JobProcs& job, const wire::ListedProc& row) {
  const auto known = static_cast<std::uint32_t>(job.states_size());
  return row.state() < known ? &job.states(static_cast<int>(row.state())) : nullptr;
}

std::string procs_text(std::span<const wire::JobProcs> pieces) {
  TextTable table({"JOB", "RANK", "NODE", "PID", "STATE", "EXIT"});
  bool any = false;
  for (const wire::JobProcs& piece : pieces) {
    for (const wire::ListedProc& row : piece.rows()) {
      any = true;
      const std::string* node = node_of(piece, row);
      const std::string* state = state_of(piece, row);
      table.add({std::to_string(piece.number()), std::to_string(row.rank()),
                 node == nullptr ? "?" : one_line(*node),
                 row.pid() == 0 ? "-" : std::to_string(row.pid()),
                 state == nullptr ? "?" : short_state(*state), exit_of(row)});
    }
  }
  return any ? table.text() : "no process\n";
}

std::string events_text(const wire::EventsReply& reply, std::uint64_t unix_ms) {
  constexpr std::size_t kKindWidth = 14;
  constexpr std::size_t kAboutWidth = 8;
  const auto padded = [](std::string word, std::size_t width) {
    if (word.size() < width) word.append(width - word.size(), ' ');
    return word + "  ";
  };
  std::string text;
  if (reply.dropped() > 0) text += "(" + say::events_forgotten(reply.dropped()) + ")\n";
  for (const wire::DvmEvent& event : reply.events()) {
    std::string line = clock_time(unix_time_of(event.at_ms(), reply.now_ms(), unix_ms)) + "  " +
                       padded(event.kind(), kKindWidth) +
                       padded(one_line(event_about(event)), kAboutWidth) + event_detail(event);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace tide::cli
