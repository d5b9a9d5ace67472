#include "say/launching.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace tide::say {
namespace {

// Without what is around it for the shell.
std::string_view program_of(std::string_view command) {
  constexpr std::string_view kBefore = "exec ";
  if (command.starts_with(kBefore)) command.remove_prefix(kBefore.size());
  return command.substr(0, command.find(" --remote"));
}

std::string what_happened(const LaunchFailure& failure) {
  const std::string& host = failure.host;
  switch (failure.trouble) {
    case LaunchTrouble::kNameNotFound:
      return fmt::format("no machine of the name {} is known", host);
    case LaunchTrouble::kRefused:
      return fmt::format("{} is there and takes no connection from {}", host, failure.agent);
    case LaunchTrouble::kUnreachable:
      return fmt::format("there is no way to {} in the network", host);
    case LaunchTrouble::kClosed:
      return fmt::format("{} broke off the connection before the login", host);
    case LaunchTrouble::kAuthentication:
      return fmt::format("{} does not let us in without a password", host);
    case LaunchTrouble::kHostKey:
      return fmt::format("the host key of {} is not known here, or another than it was", host);
    case LaunchTrouble::kProgramMissing:
      return fmt::format("{} has no {}, or can't run it", host, program_of(failure.command));
    case LaunchTrouble::kLibraryMissing:
      return fmt::format("a library that prted needs is missing on {}", host);
    case LaunchTrouble::kVersion:
      return fmt::format("prted on {} is of version {}, this is version {}", host,
                         failure.their_version, failure.our_version);
    case LaunchTrouble::kTimedOut:
      return fmt::format("no answer from {} within {}", host, human_duration_ms(failure.waited_ms));
    case LaunchTrouble::kNoWayBack:
      return fmt::format("the daemon was started on {} and can't connect to the head", host);
    case LaunchTrouble::kDaemonEnded:
      return fmt::format("the daemon was started on {} and did not come up ({})", host,
                         failure.how);
    case LaunchTrouble::kOther:
      break;
  }
  return fmt::format("{} {} ended with {} and without a word from prted", failure.agent, host,
                     failure.how);
}

std::string what_to_do(const LaunchFailure& failure) {
  const std::string& host = failure.host;
  switch (failure.trouble) {
    case LaunchTrouble::kNameNotFound:
      return fmt::format("another spelling, or an address; 'getent hosts {}' must find it", host);
    case LaunchTrouble::kRefused:
      return fmt::format("does sshd run there? '{} {} true' must work", failure.call, host);
    case LaunchTrouble::kUnreachable:
      return fmt::format("is it switched on? 'ping {}' should be answered", host);
    case LaunchTrouble::kClosed:
      return "fewer at once, where its sshd limits them: --prtemca plm_ssh_num_concurrent 8";
    case LaunchTrouble::kAuthentication:
      return fmt::format("ssh-copy-id{} {}; '{} -o BatchMode=yes {} true' must work",
                         failure.call.substr(std::min(failure.call.find(' '), failure.call.size())),
                         host, failure.call, host);
    case LaunchTrouble::kHostKey:
      return fmt::format("log in once by hand: {} {}", failure.call, host);
    case LaunchTrouble::kProgramMissing:
      return "install Tide there at the same place, or say where it is: --prefix DIR";
    case LaunchTrouble::kLibraryMissing:
      return fmt::format("install it there; '{} {} ldd {}' shows what is missing", failure.call,
                         host, program_of(failure.command));
    case LaunchTrouble::kVersion:
      return "install the same version everywhere, or name it: --prefix DIR";
    case LaunchTrouble::kTimedOut:
      return fmt::format("by hand: {}; or more time: --prtemca plm_ssh_timeout {}s",
                         failure.by_hand, failure.timeout_ms / 1000 * 2 + 1);
    case LaunchTrouble::kNoWayBack:
      return fmt::format(
          "a firewall must let {} in at any port of the head's machine; a network that works is "
          "chosen with --prtemca prte_if_include NETWORK, such as 10.78.0.0/16",
          host);
    case LaunchTrouble::kDaemonEnded:
      return "prte --leave-session-attached shows all that it says";
    case LaunchTrouble::kOther:
      break;
  }
  return fmt::format("by hand: {}", failure.by_hand);
}

}  // namespace

std::string launch_failed(const LaunchFailure& failure) {
  std::string text = what_happened(failure);
  if (!failure.tried_from.empty()) text += fmt::format(" (tried from node {})", failure.tried_from);
  for (const std::string& line : failure.words) text += "\n    " + one_line(line);
  const bool advised = std::ranges::any_of(
      failure.words, [](const std::string& line) { return line.starts_with("try: "); });
  if (advised) return text;
  text += std::string(kTry) + what_to_do(failure);
  // Machines that all can be reached from here need not reach each other.
  if (!failure.tried_from.empty()) text += "; or from here: --prtemca plm_ssh_no_tree_spawn 1";
  return text;
}

Error no_launch_agent(std::string_view agents) {
  return not_found(fmt::format(
      "nothing that reaches other machines is installed here: {}{}apt install openssh-client, or "
      "name another: --prtemca plm_ssh_agent PROGRAM",
      quoted(agents), kTry));
}

Error launch_agent_without_input(std::string_view agent) {
  return invalid(fmt::format(
      "{} does not pass its standard input on, and the DVM's key travels by no other way{}"
      "--prtemca plm_ssh_agent ssh; it is started for many hosts at once, too",
      agent, kTry));
}

Error launch_agent_unreadable(std::string_view agents, std::string_view why) {
  return invalid(fmt::format("plm_ssh_agent {}: {}{}--prtemca plm_ssh_agent 'ssh -p 2222'",
                             quoted(agents), why, kTry));
}

std::string node_without_job(std::string_view host) {
  return fmt::format("the job that {} was of is over", host);
}

std::string not_a_host_name(std::string_view host) {
  return fmt::format("{} can't be the name of a host", quoted(host));
}

}  // namespace tide::say
