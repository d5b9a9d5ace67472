// Messages about daemons on other machines that can't be started.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/messages.hpp"

namespace tide::say {

enum class LaunchTrouble : std::uint8_t {
  kNameNotFound,
  kRefused,
  kUnreachable,
  kClosed,  // the other side broke off before anybody logged in
  kAuthentication,
  kHostKey,
  kProgramMissing,
  kLibraryMissing,
  kVersion,
  kTimedOut,
  kNoWayBack,    // the daemon runs there and does not find the head
  kDaemonEnded,  // it ran, and did not join
  kOther,
};

struct LaunchFailure {
  LaunchTrouble trouble = LaunchTrouble::kOther;
  std::string host;
  std::string agent;               // as people call it: ssh
  std::string call;                // with its options: ssh -p 2222
  std::string by_hand;             // all of what people may run to see for themselves
  std::string command;             // what the other machine's shell was to run
  std::string how;                 // "exit status 255"
  std::vector<std::string> words;  // the last lines from there, as they are
  std::uint32_t waited_ms = 0;     // in vain
  std::uint32_t timeout_ms = 0;    // plm_ssh_timeout
  std::string tried_from;          // the node that tried; empty: the head's machine
  std::string our_version;
  std::string their_version;
};

// Why a daemon on another machine was not started, its own words, and what to do.
std::string launch_failed(const LaunchFailure& failure);

Error no_launch_agent(std::string_view agents);
Error launch_agent_without_input(std::string_view agent);
Error launch_agent_unreadable(std::string_view agents, std::string_view why);
std::string not_a_host_name(std::string_view host);
std::string node_without_job(std::string_view host);

}  // namespace tide::say
