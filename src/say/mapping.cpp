#include "say/mapping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"

namespace tide::say {
namespace {

constexpr std::size_t kGroupsShown = 8;
constexpr std::size_t kNamesInGroup = 3;

struct Group {  // nodes that differ in their names only
  SlotRow first;
  std::vector<std::string> names;
};

bool alike(const SlotRow& a, const SlotRow& b) {
  return a.slots == b.slots && a.source == b.source && a.in_use == b.in_use && a.taken == b.taken &&
         a.host_limit == b.host_limit && a.usable == b.usable && a.max_slots == b.max_slots;
}

std::vector<Group> grouped(std::span<const SlotRow> rows) {
  std::vector<Group> groups;
  for (const SlotRow& row : rows) {
    const auto same = std::ranges::find_if(
        groups, [&row](const Group& group) { return alike(group.first, row); });
    if (same != groups.end()) {
      same->names.push_back(row.node);
    } else {
      groups.push_back({row, {row.node}});
    }
  }
  return groups;
}

std::string names_of(const Group& group) {
  const std::span<const std::string> names = group.names;
  if (names.size() <= kNamesInGroup) return join(names, ", ");
  return fmt::format("{} … {} ({} nodes)", names.front(), names.back(), names.size());
}

std::string source_words(const SlotRow& row) {
  static constexpr std::array<std::string_view, 5> kSources = {
      "given at the start", "cores found by hwloc", "sockets found by hwloc",
      "hardware threads found by hwloc", "parameter prte_set_default_slots"};
  std::string text(kSources.at(static_cast<std::size_t>(row.source)));
  if (row.host_limit) text += fmt::format("; at most {} asked for", *row.host_limit);
  if (row.max_slots > 0) text += fmt::format("; never more than {}", row.max_slots);
  return text;
}

struct Line {
  std::string name;
  std::uint64_t slots = 0;
  std::uint64_t in_use = 0;
  std::uint64_t taken = 0;
  std::uint64_t usable = 0;
  std::string source;
};

void add(Line& sum, const SlotRow& row, std::size_t times) {
  sum.slots += std::uint64_t{row.slots} * times;
  sum.in_use += std::uint64_t{row.in_use} * times;
  sum.taken += std::uint64_t{row.taken} * times;
  sum.usable += std::uint64_t{row.usable} * times;
}

Line sum_of(std::span<const SlotRow> rows) {
  Line sum;
  sum.name = "together";
  for (const SlotRow& row : rows) add(sum, row, 1);
  return sum;
}

std::vector<Line> lines_of(std::span<const SlotRow> rows) {
  const std::vector<Group> groups = grouped(rows);
  std::vector<Line> lines;
  Line rest;
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const Group& group = groups[i];
    const std::size_t times = group.names.size();
    if (i < kGroupsShown) {
      Line line{names_of(group), 0, 0, 0, 0, {}};
      add(line, group.first, 1);
      line.source = source_words(group.first) + (times > 1 ? "; each" : "");
      lines.push_back(std::move(line));
    } else {
      add(rest, group.first, times);
      left_out += times;
    }
  }
  if (left_out > 0) {
    rest.name = fmt::format("{} more", left_out);
    rest.source = "not shown one by one";
    lines.push_back(std::move(rest));
  }
  if (rows.size() > 1) lines.push_back(sum_of(rows));
  return lines;
}

// Characters, not bytes: the dots between names are one.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string table_of(std::span<const SlotRow> rows) {
  const std::vector<Line> lines = lines_of(rows);
  const bool shows_taken =
      std::ranges::any_of(lines, [](const Line& line) { return line.taken > 0; });
  std::size_t width = width_of("together");
  for (const Line& line : lines) width = std::max(width, width_of(line.name));
  const auto padded = [width](std::string_view name) {
    return std::string(name) + std::string(width - width_of(name), ' ');
  };
  std::string text = fmt::format("\n  {}  SLOTS  IN USE{}  USABLE  SLOTS FROM", padded("NODE"),
                                 shows_taken ? "  THIS JOB" : "");
  for (const Line& line : lines) {
    text += fmt::format("\n  {}  {:>5}  {:>6}", padded(line.name), line.slots, line.in_use);
    if (shows_taken) text += fmt::format("  {:>8}", line.taken);
    text += fmt::format("  {:>6}", line.usable);
    if (!line.source.empty()) text += "  " + line.source;
  }
  return text;
}

struct Choice {
  std::string write;
  std::string effect;
};

std::vector<Choice> choices_in(const SlotAdvice& advice, std::uint32_t asked) {
  std::vector<Choice> choices;
  if (advice.fits_now > 0) choices.push_back({fmt::format("-n {}", advice.fits_now), "fits now"});
  if (advice.fits_when_idle > advice.fits_now) {
    choices.push_back({fmt::format("-n {}", advice.fits_when_idle),
                       advice.fits_when_idle >= asked ? "as asked, once other jobs have ended"
                                                      : "once other jobs have ended"});
  }
  if (!advice.hosts.empty()) {
    choices.push_back(
        {"--host " + advice.hosts, advice.by_file ? "fits now, without --hostfile" : "fits now"});
  }
  if (advice.without_hosts) {
    choices.push_back({advice.by_file ? "no --hostfile" : "no --host", "fits now, on any node"});
  }
  if (advice.oversubscribe) {
    choices.push_back({"--map-by :OVERSUBSCRIBE", "more processes than slots"});
  }
  return choices;
}

std::string advice_text(const SlotShortage& shortage) {
  const std::vector<Choice> choices = choices_in(shortage.advice, shortage.asked);
  std::size_t width = 0;
  for (const Choice& choice : choices) width = std::max(width, choice.write.size());
  std::string text;
  for (const Choice& choice : choices) {
    text += text.empty() ? std::string(kTry) : "\n       ";
    text += fmt::format("{:<{}}  {}", choice.write, width, choice.effect);
  }
  return text;
}

}  // namespace

std::string not_enough_slots(const SlotShortage& shortage) {
  const Line sum = sum_of(shortage.rows);
  std::string text =
      fmt::format("not enough slots for {} of {}", counted(shortage.asked, "process", "processes"),
                  quoted(shortage.program));
  if (shortage.programs > 1) {
    text += fmt::format(" (program {} of {})", shortage.number, shortage.programs);
  }
  text += fmt::format(": {} usable of {}", sum.usable, counted(sum.slots, "slot", "slots"));
  text += table_of(shortage.rows);
  if (!shortage.unheard.empty()) {
    text += fmt::format("\n  left out, because they do not answer at present: {}",
                        name_list(shortage.unheard));
  }
  return text + advice_text(shortage);
}

std::string no_nodes_left() {
  return fmt::format(
      "the DVM has no nodes to run on: all were lost, or do not answer at present{}"
      "tide status, which shows them; or a new DVM by tide down and tide up",
      kTry);
}

std::string no_process_for_stdin(std::int64_t rank, std::size_t processes) {
  return fmt::format(
      "standard input is for process {} and the job has only {}, counted from 0{}"
      "--stdin {}, or --stdin none",
      rank, processes, kTry, processes - 1);
}

std::string launch_too_large(std::size_t bytes, std::size_t limit) {
  return fmt::format(
      "what its nodes have to be told to launch it takes {} bytes, above the {} that fit into a "
      "message{}fewer processes, arguments or variables, or a DVM with a larger prte_max_msg_size",
      bytes, limit, kTry);
}

std::string node_is_too_full(std::string_view node, std::uint32_t slots, std::uint32_t processes) {
  return fmt::format("node {} has {} and {}, because other jobs came first{}the same again", node,
                     counted(slots, "slot", "slots"), counted(processes, "process", "processes"),
                     kTry);
}

Error job_without_program() {
  return invalid("the job names no program, or not for every part");
}

Error job_with_bad_variable(std::string_view name) {
  return invalid(fmt::format("{} is not the name of an environment variable", quoted(name)));
}

Error too_many_jobs_of_client(std::size_t jobs) {
  return Error{
      ErrorCode::kOutOfResources,
      fmt::format("this client has {} jobs that have not ended, and may not have more; wait "
                  "for some of them",
                  jobs)};
}

Error job_too_large(std::uint64_t processes, std::uint64_t limit) {
  return invalid(
      fmt::format("{} processes are more than the {} that one job may have{}several jobs",
                  processes, limit, kTry));
}

}  // namespace tide::say
