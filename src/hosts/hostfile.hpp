// Hostfiles and lists of hosts, from text to words. Pure; errors say where the text is wrong.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "hosts/host_word.hpp"

namespace tide::hosts {

// One host per line with its settings: `node[01-16] slots=4 max-slots=8`, `user@node:2`, `^node3`,
// `+n0`; `#` begins a comment. `file` is its name, for messages.
Result<std::vector<HostWord>> parse_hostfile(std::string_view text, std::string_view file);

// `a,b:2,node[01-04],+n0`, the value of `option`.
Result<std::vector<HostWord>> parse_host_list(std::string_view text, std::string_view option);

// Reads and parses. Each element may be a list of files, as scripts write them: `a.txt,b.txt`.
// kInvalidArgument also if a file names no host.
Result<std::vector<HostWord>> read_hostfiles(std::span<const std::string> files);

}  // namespace tide::hosts
