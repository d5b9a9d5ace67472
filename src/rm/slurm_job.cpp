#include "rm/slurm_job.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <utility>

#include "base/text.hpp"
#include "hosts/host_word.hpp"
#include "rm/slurm_list.hpp"
#include "say/slurm.hpp"

namespace tide::rm {
namespace {

using Lives = std::pair<std::string_view, SlurmLife>;
constexpr std::array kLives = {
    Lives{"PENDING", SlurmLife::kWaits},       Lives{"REQUEUED", SlurmLife::kWaits},
    Lives{"REQUEUE_HOLD", SlurmLife::kWaits},  Lives{"REQUEUE_FED", SlurmLife::kWaits},
    Lives{"RESV_DEL_HOLD", SlurmLife::kWaits}, Lives{"SPECIAL_EXIT", SlurmLife::kWaits},
    Lives{"CONFIGURING", SlurmLife::kComes},   Lives{"POWER_UP_NODE", SlurmLife::kComes},
    Lives{"RUNNING", SlurmLife::kRuns},        Lives{"RESIZING", SlurmLife::kRuns},
    Lives{"SIGNALING", SlurmLife::kRuns},      Lives{"STAGE_OUT", SlurmLife::kRuns},
    Lives{"STOPPED", SlurmLife::kRuns},        Lives{"SUSPENDED", SlurmLife::kRuns},
    Lives{"COMPLETING", SlurmLife::kOver},     Lives{"COMPLETED", SlurmLife::kOver},
    Lives{"CANCELLED", SlurmLife::kOver},      Lives{"FAILED", SlurmLife::kOver},
    Lives{"TIMEOUT", SlurmLife::kOver},        Lives{"NODE_FAIL", SlurmLife::kOver},
    Lives{"PREEMPTED", SlurmLife::kOver},      Lives{"BOOT_FAIL", SlurmLife::kOver},
    Lives{"DEADLINE", SlurmLife::kOver},       Lives{"OUT_OF_MEMORY", SlurmLife::kOver},
    Lives{"REVOKED", SlurmLife::kOver}};

constexpr std::size_t kRowFields = 7;

// Slurm writes so where there is nothing.
bool is_nothing(std::string_view value) {
  return value.empty() || value == "(null)" || value == "N/A" || value == "Unknown" ||
         value == "UNLIMITED" || value == "None" || value == "NONE";
}

std::string something(std::string_view value) {
  return is_nothing(value) ? std::string() : std::string(value);
}

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// A moment that is no number is one that we asked for in vain.
Result<std::optional<std::uint64_t>> moment(std::string_view text) {
  if (is_nothing(text)) return std::optional<std::uint64_t>();
  const auto seconds = number<std::uint64_t>(text);
  if (!seconds) return say::slurm_unreadable("a time", text);
  return seconds;
}

bool is_id(std::string_view text) {
  return !text.empty() && number<std::uint32_t>(text).has_value();
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> out;
  while (!line.empty()) {
    const auto end = std::min(line.find(' '), line.size());
    if (end > 0) out.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return out;
}

// `0-3,8` are five.
std::optional<std::uint32_t> count_in(std::string_view ids) {
  std::uint32_t count = 0;
  for (const auto& piece : split(ids, ',')) {
    const auto dash = piece.find('-');
    const auto first = number<std::uint32_t>(std::string_view(piece).substr(0, dash));
    const auto last = dash == std::string::npos
                          ? first
                          : number<std::uint32_t>(std::string_view(piece).substr(dash + 1));
    if (!first || !last || *last < *first || *last - *first >= hosts::kMaxSlotsPerHost) {
      return std::nullopt;
    }
    count += *last - *first + 1;
  }
  return count;
}

// Nodes=node[3-4] CPU_IDs=0-3: once for all that have the same.
Status add_nodes(const std::vector<std::string_view>& words, SlurmJob& job) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    constexpr std::string_view kNodes = "Nodes=";
    constexpr std::string_view kCores = "CPU_IDs=";
    if (!words[i].starts_with(kNodes) || !words[i + 1].starts_with(kCores)) continue;
    const auto names = expand_slurm_list(words[i].substr(kNodes.size()));
    if (!names) return names.error();
    const auto cores = count_in(words[i + 1].substr(kCores.size()));
    if (!cores) return say::slurm_unreadable("cores", words[i + 1]);
    for (const auto& name : *names)
      job.nodes.push_back({.name = name, .user = {}, .slots = *cores});
  }
  return ok_status();
}

// Those that it names must be those whose cores it tells: a text that ends too early is none.
Status check_nodes(const SlurmJob& job, std::string_view list) {
  if (is_nothing(list)) return ok_status();
  const auto names = expand_slurm_list(list);
  if (!names) return names.error();
  if (job.life != SlurmLife::kRuns) return ok_status();
  const bool same = names->size() == job.nodes.size() &&
                    std::ranges::all_of(job.nodes, [&names](const Host& host) {
                      return std::ranges::find(*names, host.name) != names->end();
                    });
  return same ? ok_status() : Status(say::slurm_unreadable("nodes", list));
}

Result<SlurmRow> parse_row(std::string_view line) {
  std::array<std::string_view, kRowFields> fields;
  for (std::size_t i = 0; i + 1 < kRowFields; ++i) {
    const auto end = line.find('|');
    if (end == std::string_view::npos) return say::slurm_unreadable("a list of jobs", line);
    fields.at(i) = line.substr(0, end);
    line.remove_prefix(end + 1);
  }
  fields.back() = line;
  const auto life = life_of_slurm_state(fields[1]);
  if (!is_id(fields[0]) || !life) return say::slurm_unreadable("a list of jobs", line);
  SlurmRow row{.id = std::string(fields[0]), .life = *life, .state = std::string(fields[1])};
  auto ends = moment(fields[2]);
  if (!ends) return ends.error();
  row.ends_s = *ends;
  row.reason = something(fields[3]);
  if (!is_nothing(fields[4])) {
    auto names = expand_slurm_list(fields[4]);
    if (!names) return names.error();
    row.nodes = std::move(*names);
  }
  row.comment = something(fields[5]);
  row.name = std::string(fields[6]);
  return row;
}

}  // namespace

std::optional<SlurmLife> life_of_slurm_state(std::string_view state) {
  const auto* const found = std::ranges::find(kLives, state, &Lives::first);
  if (found == kLives.end()) return std::nullopt;
  return found->second;
}

Result<SlurmJob> parse_slurm_job(std::string_view text) {
  const auto words = words_of(trim(text));
  std::map<std::string_view, std::string_view> values;
  for (const auto word : words) {
    const auto equals = word.find('=');
    if (equals == std::string_view::npos) continue;
    values.try_emplace(word.substr(0, equals), word.substr(equals + 1));
  }
  SlurmJob job;
  job.id = std::string(values["JobId"]);
  const auto life = life_of_slurm_state(values["JobState"]);
  if (!is_id(job.id) || !life) return say::slurm_unreadable("a job", text);
  job.life = *life;
  job.state = std::string(values["JobState"]);
  auto ends = moment(values["EndTime"]);
  if (!ends) return ends.error();
  if (!is_nothing(values["TimeLimit"])) job.ends_s = *ends;
  job.partition = something(values["Partition"]);
  job.account = something(values["Account"]);
  job.qos = something(values["QOS"]);
  if (values["BatchFlag"] == "1") job.batch_host = something(values["BatchHost"]);
  if (auto added = add_nodes(words, job); !added) return added.error();
  if (auto whole = check_nodes(job, values["NodeList"]); !whole) return whole.error();
  return job;
}

Result<std::vector<SlurmRow>> parse_slurm_rows(std::string_view text) {
  std::vector<SlurmRow> out;
  std::optional<Error> wrong;
  for (const auto& line : split(text, '\n')) {
    if (trim(line).empty()) continue;
    auto row = parse_row(line);
    if (row) {
      out.push_back(std::move(*row));
    } else if (!wrong) {
      wrong = row.error();
    }
  }
  if (out.empty() && wrong) return *wrong;
  return out;
}

}  // namespace tide::rm
