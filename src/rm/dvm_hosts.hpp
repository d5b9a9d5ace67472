// The hosts of a DVM, from what a command line says.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "hosts/host_word.hpp"
#include "rm/grant.hpp"
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

// The same, read and parsed; and what there is already.
struct HostSources {
  std::vector<hosts::HostWord> default_hostfile;
  std::vector<hosts::HostWord> hostfile;
  std::vector<hosts::HostWord> host_list;
  std::vector<Host> granted = {};
  std::string granted_by = {};  // what it is called in messages: "Slurm job 17"
};

// Reads the files. Without a grant nothing is found where nothing is given; with one all of it.
Result<std::vector<Host>> find_hosts(const HostArguments& arguments,
                                     const std::optional<Grant>& grant);

// The hosts that are granted, or the first source that is given says which there are; each further
// source chooses among them: its slots limit those of the host, and relative names count in the
// first list.
Result<std::vector<Host>> choose_hosts(const HostSources& sources);

}  // namespace tide::rm
