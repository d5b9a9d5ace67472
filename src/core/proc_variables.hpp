// The environment variables by which a process knows its place in its job.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "wire/job.pb.h"

namespace tide::core {

// `local_size`: how many processes of the job are on this node; `files`: where its files are;
// empty: it brought none.
std::vector<wire::EnvDirective> variables_of(const wire::LaunchCommon& job,
                                             const wire::LaunchProc& proc, std::size_t local_size,
                                             const std::string& node, const std::string& files);

}  // namespace tide::core
