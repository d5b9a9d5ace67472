// The command line of prte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "rm/dvm_hosts.hpp"
#include "rm/grant.hpp"
#include "rm/host.hpp"

namespace tide::head {

struct HeadOptions {
  std::uint32_t nodes = 1;                 // virtual ones of this machine, where no hosts are named
  bool gave_nodes = false;                 // they are wanted, whatever a scheduler has granted
  rm::HostArguments named;                 // where to find the names of hosts
  std::vector<rm::Host> hosts;             // found there: of this machine and others
  std::optional<rm::Grant> grant;          // what they are chosen from, all of it
  std::optional<rm::JobAround> job_aside;  // its nodes are not used, as `gave_nodes` says
  bool elastic = false;                    // it can grow and shrink while it runs
  std::uint32_t pool_nodes = 0;            // virtual ones more, to be had later
  std::vector<std::string> pool_hostfiles;  // where hosts that are to be had later are named
  std::vector<rm::Host> pool_hosts;         // found there
  std::uint32_t pool_lease_ms = 0;          // what comes from there may stay so long; 0: no limit
  std::uint32_t pool_warn_ms = 0;           // and is warned of so long before
  std::uint32_t slots = 0;  // of nodes for which none are given; 0: from the hardware
  std::string dvm_name;     // empty: made from the pid
  bool check = false;       // try the hosts, and start no DVM
  bool json = false;        // what a check found is for programs
  bool daemonize = false;
  bool show_progress = false;
  bool no_ready_message = false;
  bool one_shot = false;
  std::string prefix;               // where Tide is installed on other machines; empty: as here
  bool no_prefix = false;           // there prted is found by PATH
  std::string launch_agent;         // what is run there in place of prted
  bool stay_attached = false;       // the sessions that start daemons stay
  bool system_server = false;       // tools that name no other come to this DVM
  std::optional<int> keepalive_fd;  // the DVM ends when this pipe closes
  std::optional<int> ready_fd;      // gets a K when the DVM is ready
  std::string report_uri;           // a file, `-` standard output, `+` standard error
  std::string report_pid;
  std::vector<std::pair<std::string, std::string>> params;
};

// What a command line asks for: options, or a text to print (help, version).
struct ParsedOptions {
  HeadOptions options;
  std::optional<std::string> print;
};
Result<ParsedOptions> parse_options(int argc, const char* const* argv);

// Reads the hostfiles that are named. With a grant the hosts are those, or are chosen among them;
// there is none where virtual nodes are wanted.
Status choose_nodes(HeadOptions& options, std::optional<rm::Grant> grant);

// Whether what is said of the pool goes together with the rest, once `elastic` is known for good:
// parameters may say so, too.
Status check_pool(const HeadOptions& options);

// What a scheduler granted and nobody chose can be had later. Slurm's manager knows that by itself.
void keep_the_rest(HeadOptions& options);

// Keeps the first nodes or hosts, `most` of them; 0: all.
void limit_size(HeadOptions& options, std::size_t most);

}  // namespace tide::head
