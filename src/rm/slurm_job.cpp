#include "rm/slurm_job.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
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

// That a node is down, or that others have too much already, passes; these don't.
constexpr std::array<std::string_view, 6> kInVain = {"PartitionNodeLimit", "PartitionTimeLimit",
                                                     "PartitionConfig",    "BadConstraints",
                                                     "InvalidAccount",     "InvalidQOS"};
// QOSMaxNodePerJobLimit, AssocMaxWallDurationPerJobLimit, and their like.
constexpr std::string_view kOfEachJob = "PerJobLimit";

constexpr std::size_t kRowFields = 5;

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

std::string_view find_in(const std::map<std::string_view, std::string_view>& values,
                         std::string_view key) {
  const auto found = values.find(key);
  return found == values.end() ? std::string_view() : found->second;
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
    const auto most = hosts::kMaxSlotsPerHost - count;
    if (!first || !last || *last < *first || *last - *first >= most) return std::nullopt;
    count += *last - *first + 1;
  }
  return count;
}

// Nodes=node[3-4] CPU_IDs=0-3 Mem=0: once for all that have the same. What follows shows that the
// numbers are all there.
Status add_nodes(const std::vector<std::string_view>& words, SlurmJob& job) {
  for (std::size_t i = 0; i + 2 < words.size(); ++i) {
    constexpr std::string_view kNodes = "Nodes=";
    constexpr std::string_view kCores = "CPU_IDs=";
    if (!words[i].starts_with(kNodes) || !words[i + 1].starts_with(kCores)) continue;
    const auto names = expand_slurm_list(words[i].substr(kNodes.size()));
    if (!names) return names.error();
    const auto cores = count_in(words[i + 1].substr(kCores.size()));
    if (!cores) return say::slurm_unreadable("cores", words[i + 1]);
    if (job.nodes.size() + names->size() > hosts::kMaxHosts) {
      return say::slurm_unreadable("nodes", words[i]);
    }
    for (const auto& name : *names)
      job.nodes.push_back({.name = name, .user = {}, .slots = *cores});
  }
  return ok_status();
}

// Of nodes that were moved into a running job Slurm does not tell the cores, only how many there
// are in all. Where a word stands behind the nodes, none of them was cut off.
Status add_nodes_moved_in(const std::map<std::string_view, std::string_view>& values,
                          SlurmJob& job) {
  constexpr std::string_view kBehind = "MinTmpDiskNode";
  const auto all = number<std::uint32_t>(find_in(values, "NumCPUs"));
  if (job.life != SlurmLife::kRuns || !all || !values.contains(kBehind)) return ok_status();
  const auto names = expand_slurm_list(find_in(values, "NodeList"));
  if (!names) return names.error();
  std::uint32_t told = 0;
  std::set<std::string_view> there;
  for (const auto& host : job.nodes) {
    told += host.slots;
    there.insert(host.name);
  }
  std::vector<std::string> untold;
  for (const auto& name : *names) {
    if (!there.contains(name)) untold.push_back(name);
  }
  if (untold.empty() || *all < told + untold.size()) return ok_status();
  const auto cores = (*all - told) / static_cast<std::uint32_t>(untold.size());
  if (cores > hosts::kMaxSlotsPerHost) return ok_status();
  for (const auto& name : untold) job.nodes.push_back({.name = name, .user = {}, .slots = cores});
  return ok_status();
}

// Those that it names must be those whose cores it tells: a text that ends too early is none.
Status check_nodes(const SlurmJob& job, std::string_view list) {
  if (job.life != SlurmLife::kRuns) return ok_status();
  const auto names = expand_slurm_list(list);
  if (!names) return names.error();
  const std::set<std::string_view> named(names->begin(), names->end());
  std::set<std::string_view> there;
  for (const auto& host : job.nodes) there.insert(host.name);
  const bool same = named == there && there.size() == job.nodes.size();
  return same ? ok_status() : Status(say::slurm_unreadable("nodes", list));
}

// Of several lines the first that tells of a job, without what people have put into it: that may
// read like anything.
std::string told_by_slurm(std::string_view text) {
  constexpr std::string_view kJob = "JobId=";
  while (!text.empty() && !text.starts_with(kJob)) {
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  std::string line(text.substr(0, text.find('\n')));
  const auto name = line.find(" JobName=");
  const auto behind = line.find(" UserId=");
  if (name != line.npos && behind != line.npos && name < behind) line.erase(name, behind - name);
  if (const auto command = line.find(" Command="); command != line.npos) line.resize(command);
  return line;
}

Result<SlurmRow> parse_row(std::string_view line) {
  const auto fields = split(line, '|');
  const auto life = fields.size() == kRowFields ? life_of_slurm_state(fields[1]) : std::nullopt;
  if (!life || !is_id(fields[0])) return say::slurm_unreadable("a list of jobs", line);
  SlurmRow row{.id = fields[0], .life = *life, .state = fields[1]};
  auto ends = moment(fields[2]);
  if (!ends) return ends.error();
  row.ends_s = *ends;
  row.reason = something(fields[3]);
  if (!is_nothing(fields[4])) {
    auto names = expand_slurm_list(fields[4]);
    if (!names) return names.error();
    row.nodes = std::move(*names);
  }
  return row;
}

}  // namespace

std::optional<SlurmLife> life_of_slurm_state(std::string_view state) {
  const auto* const found = std::ranges::find(kLives, state, &Lives::first);
  if (found == kLives.end()) return std::nullopt;
  return found->second;
}

bool slurm_waits_in_vain(std::string_view reason) {
  return std::ranges::find(kInVain, reason) != kInVain.end() || reason.ends_with(kOfEachJob);
}

Result<SlurmJob> parse_slurm_job(std::string_view text) {
  const auto line = told_by_slurm(text);
  const auto words = words_of(line);
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
  // While it ends Slurm tells only by the way why.
  if (job.state == "COMPLETING" && values["Reason"] == "TimeLimit") job.state = "TIMEOUT";
  auto ends = moment(values["EndTime"]);
  if (!ends) return ends.error();
  if (!is_nothing(values["TimeLimit"])) job.ends_s = *ends;
  job.partition = something(values["Partition"]);
  job.account = something(values["Account"]);
  job.qos = something(values["QOS"]);
  job.whole_nodes = values["OverSubscribe"] == "NO";
  if (values["BatchFlag"] == "1") job.batch_host = something(values["BatchHost"]);
  if (auto added = add_nodes(words, job); !added) return added.error();
  if (auto added = add_nodes_moved_in(values, job); !added) return added.error();
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
