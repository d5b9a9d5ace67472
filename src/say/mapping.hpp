// Messages about jobs that find no place, or make no sense as a job.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/messages.hpp"

namespace tide::say {

// Where the number of slots of a node comes from.
enum class SlotSource : std::uint8_t { kGiven, kCores, kSockets, kHwthreads, kParameter };

struct SlotRow {  // one node as one program of a job may use it
  std::string node;
  std::uint32_t slots = 0;
  SlotSource source = SlotSource::kGiven;
  std::uint32_t in_use = 0;                 // by other jobs
  std::uint32_t taken = 0;                  // by programs of this job that come before
  std::optional<std::uint32_t> host_limit;  // by --host or --hostfile
  std::uint32_t usable = 0;
  std::uint32_t max_slots = 0;  // processes it takes at most; 0: no limit
};

// What would do instead; 0 and empty: nothing of the kind.
struct SlotAdvice {
  std::uint32_t fits_now = 0;        // -n
  std::uint32_t fits_when_idle = 0;  // -n, once other jobs have ended
  std::string hosts;                 // the --host with which the job fits now
  bool without_hosts = false;        // the job fits now without --host and --hostfile
  bool by_file = false;              // the job has a hostfile, which stays away in these two
  bool oversubscribe = false;        // it may be asked for, and is not
};

struct SlotShortage {
  std::string program;
  std::uint32_t asked = 0;
  std::size_t number = 1;  // of the program in its job, from 1
  std::size_t programs = 1;
  std::vector<SlotRow> rows;
  std::vector<std::string> unheard;  // nodes that are left out because they do not answer
  SlotAdvice advice;
};

// With a table of the nodes, equal ones together, and the smallest changes that would do.
std::string not_enough_slots(const SlotShortage& shortage);

std::string no_nodes_left();
std::string no_process_for_stdin(std::int64_t rank, std::size_t processes);
std::string launch_too_large(std::size_t bytes, std::size_t limit);
std::string node_is_too_full(std::string_view node, std::uint32_t slots, std::uint32_t processes);

// ---- a job that makes no sense, whoever sent it ----
Error job_without_program();
Error job_with_bad_variable(std::string_view name);
Error too_many_jobs_of_client(std::size_t jobs);
Error job_too_large(std::uint64_t processes, std::uint64_t limit);

}  // namespace tide::say
