// What Slurm says of its jobs, read. Pure: the text comes from elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "rm/host.hpp"

namespace tide::rm {

// Slurm has more states; what hangs on them is this.
enum class SlurmLife : std::uint8_t {
  kWaits,  // in the queue
  kComes,  // it has nodes that are not ready yet
  kRuns,   // its nodes can be used
  kOver,   // it has ended, or is ending
};
// Nothing: it is no word of Slurm's.
std::optional<SlurmLife> life_of_slurm_state(std::string_view state);
// Whether a job that waits for this reason would do so for ever, as long as nobody configures Slurm
// anew or changes the job.
bool slurm_waits_in_vain(std::string_view reason);

// As `scontrol -d -o show job` tells of it, with SLURM_TIME_FORMAT=%s.
struct SlurmJob {
  std::string id{};
  SlurmLife life = SlurmLife::kOver;
  std::string state{};                    // Slurm's word: RUNNING, TIMEOUT
  std::vector<Host> nodes{};              // with the cores that are granted there
  std::optional<std::uint64_t> ends_s{};  // since 1970; none: no limit, or not known
  std::string partition{};
  std::string account{};     // empty: it has none
  std::string qos{};         // as above
  std::string batch_host{};  // where its script runs; empty: it has none
  bool whole_nodes = false;  // shared with no other job
};
Result<SlurmJob> parse_slurm_job(std::string_view text);

// A line of `squeue`, in the format below.
struct SlurmRow {
  std::string id{};
  SlurmLife life = SlurmLife::kOver;
  std::string state{};
  std::optional<std::uint64_t> ends_s{};
  std::string reason{};  // why it waits, or ended
  std::vector<std::string> nodes{};
};
// %A: the number by which Slurm knows a job everywhere, also one that is part of an array.
inline constexpr std::string_view kSlurmRowFormat = "%A|%T|%e|%r|%N";
// Lines that are none are passed over, as long as one is; no line at all is an empty list.
Result<std::vector<SlurmRow>> parse_slurm_rows(std::string_view text);

}  // namespace tide::rm
