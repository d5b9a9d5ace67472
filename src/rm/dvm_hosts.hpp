// The hosts of a DVM, from what a command line says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "hosts/host_word.hpp"
#include "rm/host.hpp"

namespace tide::rm {

// Nothing given is an empty list.
struct HostArguments {
  std::vector<std::string> default_hostfiles;
  std::vector<std::string> hostfiles;
  std::vector<std::string> host_lists;

  [[nodiscard]] bool empty() const {
    return default_hostfiles.empty() && hostfiles.empty() && host_lists.empty();
  }
  // Of those given; for messages.
  [[nodiscard]] std::string_view first_option() const;
};

// The same, read and parsed.
struct HostSources {
  std::vector<hosts::HostWord> default_hostfile;
  std::vector<hosts::HostWord> hostfile;
  std::vector<hosts::HostWord> host_list;
};

// Reads the files. Empty if nothing is given.
Result<std::vector<Host>> find_hosts(const HostArguments& arguments);

// The first source that is given says which hosts there are, each further one chooses among them:
// its slots limit those of the host, and relative names count in the list of the first.
Result<std::vector<Host>> choose_hosts(const HostSources& sources);

}  // namespace tide::rm
