// Where the program of a job lies, and why it can't be started.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace tide::exec {

struct Program {
  std::string path;            // for execve() after the change to the working directory
  std::string seen_from_here;  // the same file for us, who stay where we are
};

// `name` with a slash is taken as it is, relative to `working_directory` (empty: ours). Another
// name is searched in `search_path` (PATH of the job; none: the system's default); its relative
// elements count from the working directory too. The error holds the reason only: kNotFound, or
// kPermissionDenied where something of that name was found that can't be executed.
Result<Program> find_program(const std::string& name, std::optional<std::string_view> search_path,
                             const std::string& working_directory);

// Why execve() of `program` failed with `errnum`, in words that help; codes as for find_program().
Error explain_exec_failure(const Program& program, int errnum);

}  // namespace tide::exec
