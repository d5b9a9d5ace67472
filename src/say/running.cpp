#include "say/running.hpp"

#include <fmt/format.h>

#include <csignal>

#include "base/text.hpp"

namespace tide::say {
namespace {

// What people do next about a process that was ended by this signal and not by us.
std::string_view advice_on(int signal) {
  switch (signal) {
    case SIGSEGV:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGABRT:
      return "ulimit -c unlimited before tide up, and look at the core file with gdb";
    case SIGKILL:
      return "dmesg, which tells whether the node ran out of memory";
    case SIGXCPU:
      return "ulimit -t, the limit on processor time";
    default:
      return {};
  }
}

}  // namespace

Error program_not_in_path(std::string_view path) {
  return not_found(
      fmt::format("not found in PATH ({}){}its path, or -x PATH if it is in yours", path, kTry));
}

Error program_is_a_directory(std::string_view path) {
  return Error{ErrorCode::kPermissionDenied,
               fmt::format("{} is a directory{}the program in it", path, kTry)};
}

Error program_not_executable(std::string_view path) {
  return Error{ErrorCode::kPermissionDenied,
               fmt::format("{} is not an executable file{}chmod +x {}, if it is a program", path,
                           kTry, quote_argument(path))};
}

Error program_without_interpreter() {
  return Error{
      ErrorCode::kPermissionDenied,
      fmt::format("the interpreter that its first line or its ELF header names does not exist"
                  "{}head -1 of it, or readelf -l",
                  kTry)};
}

Error program_of_no_known_kind() {
  return Error{ErrorCode::kPermissionDenied,
               fmt::format("it is neither a program for this machine nor a script with a #! line{}"
                           "sh and its name, if it is a script for sh",
                           kTry)};
}

Error program_not_there(int errnum) {
  return not_found(
      fmt::format("{}{}ls on that node; a relative path counts from the working directory",
                  system_error("", errnum).message.substr(2), kTry));
}

Error working_directory_unusable(std::string_view directory, int errnum) {
  Error error =
      system_error(fmt::format("cannot change to working directory {}", quoted(directory)), errnum);
  error.code = ErrorCode::kInvalidArgument;
  error.message += fmt::format("{}--wdir with a directory that is there on every node", kTry);
  return error;
}

std::string process_not_started(std::string_view nspace, std::uint32_t rank, std::string_view where,
                                std::string_view why) {
  const bool says_where = first_line(why).find(where) != std::string_view::npos;
  return fmt::format("job {}: process {}{}{}: {}", nspace, rank, says_where ? "" : " on ",
                     says_where ? "" : where, why);
}

std::string process_exited(std::string_view nspace, std::uint32_t rank, std::uint32_t pid,
                           std::string_view where, int status) {
  return fmt::format("job {}: process {} (pid {}) on {} exited with status {}", nspace, rank, pid,
                     where, status);
}

std::string process_signalled(std::string_view nspace, std::uint32_t rank, std::uint32_t pid,
                              std::string_view where, int signal) {
  std::string text = fmt::format("job {}: process {} (pid {}) on {} was ended by {}", nspace, rank,
                                 pid, where, signal_words(signal));
  if (const auto advice = advice_on(signal); !advice.empty())
    text += fmt::format("{}{}", kTry, advice);
  return text;
}

std::string process_ended_on_request(std::string_view nspace, std::uint32_t rank, std::uint32_t pid,
                                     std::string_view where, int signal) {
  return fmt::format("job {}: process {} (pid {}) on {} was ended on request, by {}", nspace, rank,
                     pid, where, signal_words(signal));
}

std::string process_aborted(std::string_view nspace, std::uint32_t rank, std::string_view where,
                            int status, std::string_view message) {
  const std::string said = message.empty() ? "" : fmt::format(": {}", one_line(message));
  return fmt::format("job {}: process {} on {} ended the job with status {}{}", nspace, rank, where,
                     status, said);
}

std::string node_lost(std::string_view nspace, std::string_view node,
                      std::span<const std::uint32_t> ranks, std::string_view why, bool one_shot) {
  const std::string_view next =
      one_shot
          ? "again; tide check shows which of the hosts can be used, if any were named"
          : "tide status shows what is left of the DVM, which goes on; run the job again there";
  return fmt::format("job {}: node {} was lost with {}: {}{}{}", nspace, node,
                     ranks.empty() ? "the end of its output" : rank_words(ranks), why, kTry, next);
}

std::string processes_restarted(std::string_view nspace, std::uint32_t times) {
  if (times == 1) return fmt::format("job {}: a process that failed was started again", nspace);
  return fmt::format("job {}: processes that failed were started again, {} times in all", nspace,
                     times);
}

std::string more_processes_failed(std::string_view nspace, std::uint32_t count) {
  return fmt::format("job {}: {} more of its processes failed", nspace, count);
}

std::string job_is_accepted(std::uint32_t number, std::string_view nspace) {
  return fmt::format("job {} ({}) is accepted", number, nspace);
}

Error spawner_unknown(std::string_view nspace) {
  return Error{ErrorCode::kNotFound,
               fmt::format("{} spawns a job, but is no job or tool of this DVM", nspace)};
}

Error targets_unknown() {
  return Error{ErrorCode::kNotFound, "one of the processes or jobs that are meant is not known"};
}

Error job_reads_no_more(std::string_view nspace) {
  return Error{ErrorCode::kConnectionLost,
               fmt::format("job {} has ended and reads no more input", nspace)};
}

Error job_reads_not_yet(std::string_view nspace) {
  return Error{ErrorCode::kUnavailable, fmt::format("job {} has no processes yet", nspace)};
}

Error job_reads_nothing(std::string_view nspace) {
  return Error{ErrorCode::kNotFound,
               fmt::format("job {} was started so that no process reads input", nspace)};
}

Error process_reads_nothing(std::string_view nspace, std::uint32_t rank, std::uint32_t reader) {
  return Error{
      ErrorCode::kNotFound,
      fmt::format("process {} of job {} reads no input, process {} does", rank, nspace, reader)};
}

std::string job_is_spawned(std::string_view nspace, std::uint32_t parent) {
  return fmt::format("job {} is spawned by job {}", nspace, parent);
}

std::string connection_lost(std::string_view why) {
  return fmt::format(
      "the connection to the DVM is lost before the end of the job: {}{}tide status, to "
      "see whether the DVM still runs; without its head the job ends too",
      why, kTry);
}

std::string output_not_written(std::string_view why) {
  return fmt::format("{}; the job is being ended", why);
}

std::string input_not_read(int errnum) {
  return system_error("cannot read standard input", errnum).message +
         "; what was read before is all that the job gets";
}

std::string answer_not_written(int errnum) {
  return system_error("cannot write to standard output", errnum).message;
}

}  // namespace tide::say
