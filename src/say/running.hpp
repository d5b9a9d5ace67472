// Messages about programs that do not start, and processes and nodes that fail under a job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/messages.hpp"

namespace tide::say {

// ---- reasons why a program does not start on a node ----
Error program_not_in_path(std::string_view path);
Error program_is_a_directory(std::string_view path);
Error program_not_executable(std::string_view path);
Error program_without_interpreter();
Error program_of_no_known_kind();
Error program_not_there(int errnum);
Error working_directory_unusable(std::string_view directory, int errnum);

// ---- how a job fails; `where`: "node v1" ----
std::string process_not_started(std::string_view nspace, std::uint32_t rank, std::string_view where,
                                std::string_view why);
std::string process_exited(std::string_view nspace, std::uint32_t rank, std::uint32_t pid,
                           std::string_view where, int status);
std::string process_signalled(std::string_view nspace, std::uint32_t rank, std::uint32_t pid,
                              std::string_view where, int signal);
std::string process_ended_on_request(std::string_view nspace, std::uint32_t rank, std::uint32_t pid,
                                     std::string_view where, int signal);
std::string process_aborted(std::string_view nspace, std::uint32_t rank, std::string_view where,
                            int status, std::string_view message);
// `ranks`: in order, those that ran there; none: only the end of their output is missing. A DVM for
// one run ends with it.
std::string node_lost(std::string_view nspace, std::string_view node,
                      std::span<const std::uint32_t> ranks, std::string_view why, bool one_shot);

std::string processes_restarted(std::string_view nspace, std::uint32_t times);
// Besides the one that was told.
std::string more_processes_failed(std::string_view nspace, std::uint32_t count);

// ---- seen by the command ----
std::string job_is_accepted(std::uint32_t number, std::string_view nspace);
Error spawner_unknown(std::string_view nspace);
Error targets_unknown();
Error job_reads_no_more(std::string_view nspace);
Error job_reads_not_yet(std::string_view nspace);
Error job_reads_nothing(std::string_view nspace);
Error process_reads_nothing(std::string_view nspace, std::uint32_t rank, std::uint32_t reader);
std::string job_is_spawned(std::string_view nspace, std::uint32_t parent);
std::string connection_lost(std::string_view why);
std::string output_not_written(std::string_view why);
std::string input_not_read(int errnum);
std::string answer_not_written(int errnum);

}  // namespace tide::say
