#include "cli/head_arguments.hpp"

#include <algorithm>

#include "hosts/hostfile.hpp"
#include "say/hosts.hpp"

namespace tide::cli {
namespace {

const char* head_spelling(Option option) {
  switch (option) {
    case Option::kNodes:
      return "--nodes";
    case Option::kSlots:
      return "--slots";
    case Option::kDefaultHostfile:
      return "--default-hostfile";
    case Option::kSetSlots:
      return "--set-slots";
    case Option::kMaxVmSize:
      return "--max-vm-size";
    case Option::kReportUri:
      return "--report-uri";
    case Option::kReportPid:
      return "--report-pid";
    case Option::kSystemServer:
      return "--system-server";
    case Option::kPrefix:
      return "--prefix";
    case Option::kNoPrefix:
      return "--noprefix";
    case Option::kLaunchAgent:
      return "--launch-agent";
    case Option::kElastic:
      return "--elastic";
    case Option::kPoolNodes:
      return "--pool";
    case Option::kPoolHostfile:
      return "--pool-hostfile";
    case Option::kPoolLease:
      return "--pool-lease";
    case Option::kPoolWarn:
      return "--pool-warn";
    case Option::kPrteMca:
      return "--prtemca";
    default:
      return nullptr;
  }
}

bool is_flag(Option option) {
  return option == Option::kSystemServer || option == Option::kNoPrefix ||
         option == Option::kElastic;
}

// Those given with one option, each once: programs of a job may name the same file.
std::vector<std::string> files_given(const CommandLine& line) {
  std::vector<std::string> files;
  for (const AppWords& words : line.apps) {
    for (const GivenOption& given : words.options) {
      if (given.option != Option::kHostfile) continue;
      if (std::ranges::find(files, given.value) == files.end()) files.push_back(given.value);
    }
  }
  return files;
}

// With --nodes, hosts choose among the nodes of this machine. Where several programs of a job
// choose each for itself among hosts of files, the DVM has all of them.
void add_hosts(const CommandLine& line, std::vector<std::string>& argv) {
  const bool one_shot = line.command == Command::kOneShot;
  if (one_shot && line.has(Option::kNodes)) return;
  const std::vector<std::string> files = files_given(line);
  for (const std::string& file : files) argv.insert(argv.end(), {"--hostfile", file});
  const bool has_list = !files.empty() || line.has(Option::kDefaultHostfile);
  if (has_list && one_shot && !hosts_are_the_dvm(line)) return;
  for (const AppWords& words : line.apps) {
    for (const GivenOption& given : words.options) {
      if (given.option == Option::kHost) argv.insert(argv.end(), {"--host", given.value});
    }
  }
}

}  // namespace

bool hosts_are_the_dvm(const CommandLine& line) {
  return line.command == Command::kOneShot && line.apps.size() == 1 && !line.has(Option::kNodes);
}

Status check_hosts(const CommandLine& line) {
  const bool names_machines = line.command == Command::kUp || line.command == Command::kCheck ||
                              line.command == Command::kOneShot;
  if (!names_machines) return ok_status();
  const bool chooses_nodes = line.command == Command::kOneShot;
  for (const AppWords& words : line.apps) {
    for (const GivenOption& given : words.options) {
      const bool is_list = given.option == Option::kHost;
      const bool is_default = given.option == Option::kDefaultHostfile;
      if (!is_list && !is_default && given.option != Option::kHostfile) continue;
      if (line.has(Option::kNodes) && (is_default || !chooses_nodes)) {
        return say::nodes_and_hosts(given.spelling);
      }
      if (!is_list) continue;
      const auto hosts = hosts::parse_host_list(given.value, given.spelling);
      if (!hosts) return hosts.error();
    }
  }
  return ok_status();
}

void add_head_options(const CommandLine& line, std::vector<std::string>& argv) {
  add_hosts(line, argv);
  for (const AppWords& words : line.apps) {
    for (const GivenOption& given : words.options) {
      const char* spelling = head_spelling(given.option);
      if (spelling == nullptr) continue;
      argv.emplace_back(spelling);
      if (!is_flag(given.option)) argv.push_back(given.value);
      if (given.option == Option::kPrteMca) argv.push_back(given.second_value);
    }
  }
}

std::vector<char*> argument_pointers(std::vector<std::string>& argv) {
  std::vector<char*> pointers;
  for (std::string& word : argv) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace tide::cli
