#include "say/catalogue_samples.hpp"

#include <array>
#include <cerrno>
#include <csignal>

#include "say/checking.hpp"
#include "say/command_line.hpp"
#include "say/debugging.hpp"
#include "say/ending.hpp"
#include "say/finding.hpp"
#include "say/hosts.hpp"
#include "say/launching.hpp"
#include "say/mapping.hpp"
#include "say/network.hpp"
#include "say/running.hpp"
#include "say/sample_page.hpp"
#include "say/staging.hpp"
#include "say/starting.hpp"
#include "say/watching.hpp"

namespace tide::say {
namespace {

using std::nullopt;

constexpr const char* kJob = "tide-vm-6655-e451885e@7";
constexpr const char* kRunBase = "/tmp/prte.vm.1000";

void add_command_line(Page& page) {
  page.begin("Command lines");
  SAMPLE(no_command);
  SAMPLE(unknown_command, "statsu", "status");
  SAMPLE(unknown_command, "dance", nullopt);
  SAMPLE(no_program, "prun");
  SAMPLE(no_program_before_colon);
  SAMPLE(no_program_after_colon);
  SAMPLE(one_word_too_many, "now");
  SAMPLE(needs_one_job, "tide kill");
  SAMPLE(needs_debug_word);
  SAMPLE(unknown_option, "--tiemout", "--timeout");
  SAMPLE(unknown_option, "--quetzalcoatl", nullopt);
  SAMPLE(unbuilt_option, "--pernode", "-n with --map-by node");
  SAMPLE(unbuilt_option, "--bind-to", "");
  SAMPLE(option_without_meaning, "--session-id", "sessions have no numbers here",
         "--alloc-id ID, as tide alloc list shows it");
  SAMPLE(takes_no_value, "--verbose");
  SAMPLE(needs_value, "--timeout", "TIME");
  SAMPLE(empty_value, "--launch-agent", "CMD");
  SAMPLE(given_twice, "-n");
  SAMPLE(same_option_twice, "-n", "--np");
  SAMPLE(old_spelling, "--bynode", "--map-by node");
  SAMPLE(unknown_topic, "mapby", "map-by, output, dvm", "map-by");
  SAMPLE(unknown_topic, "weather", "map-by, output, dvm", nullopt);
  SAMPLE(usage, "prun", unknown_option("--quetzalcoatl", nullopt).message);
}

void add_values(Page& page) {
  static constexpr std::array<std::string_view, 2> kWords = {"slot", "node"};
  static constexpr std::array<std::string_view, 2> kTwo = {"slot", "socket"};
  page.begin("Values of options");
  SAMPLE(not_a_number, "four", "the number of processes");
  SAMPLE(number_out_of_range, "the number of nodes", 1, 4096, "0");
  SAMPLE(unknown_word, "slit", "value of --map-by", kWords, "slot");
  SAMPLE(unknown_word, "tree", "value of --map-by", kWords, nullopt);
  SAMPLE(ambiguous_word, "s", "value of --map-by", kTwo);
  SAMPLE(unbuilt_value, "--map-by core", "slot and node are");
  SAMPLE(unbuilt_qualifiers, "--output tag");
  SAMPLE(value_missing, "--runtime-options max-restarts");
  SAMPLE(signal_cannot_be_forwarded, "KILL");
  SAMPLE(takes_no_equals, "--map-by node");
  SAMPLE(neither_yes_nor_no, "maybe", "OVERSUBSCRIBE");
  SAMPLE(both_oversubscribe_and_not);
  SAMPLE(empty_directory, "--wdir");
  SAMPLE(no_such_signal, "SIGNAL");
  SAMPLE(not_a_time, "--timeout", "soon");
  SAMPLE(time_too_long, "--timeout", "5000h", 1193);
  SAMPLE(not_a_job_name, "first");
  SAMPLE(unknown_parameter_asked_for, "rml_radx", "rml_radix");
  SAMPLE(unknown_parameter_asked_for, "colour", nullopt);
  SAMPLE(names_no_variable, "-x", "=3");
  SAMPLE(variable_without_value, "--set-env", "PATH");
  SAMPLE(pattern_with_value, "-x", "OMP_*", "3");
  SAMPLE(unclosed_bracket, "--prepend-env", "PATH[:");
  SAMPLE(no_such_variable, "OMP_NUM_THREADS");
  SAMPLE(no_variable_fits, "OMP_*");
}

void add_parameters(Page& page) {
  static constexpr std::array<std::string_view, 3> kChoices = {"cores", "sockets", "hwthreads"};
  constexpr const char* kFile = "file /home/me/.prte/mca-params.conf:3";
  page.begin("Parameters");
  SAMPLE(unknown_parameter, "rml_radx", "environment PRTE_MCA_rml_radx", "rml_radix");
  SAMPLE(unknown_parameter, "colour", kFile, nullopt);
  SAMPLE(bad_parameter_value, "many", "rml_radix", kFile, "'many' is not a whole number",
         "Most children that a daemon has in the routing tree", "64");
  SAMPLE(bad_parameter_value, "x:y", "tide_failpoint", "command line --prtemca tide_failpoint",
         "failpoint 'x:y' asks for something unknown", "For tests: places to stop at", "");
  SAMPLE(parameter_out_of_range, "1", "4096");
  SAMPLE(parameter_not_a_choice, kChoices, true, "cores");
  SAMPLE(parameter_not_absolute);
  SAMPLE(not_an_interface_or_network, "10.78.0.0/40");
  SAMPLE(two_choices_of_network, "prte_if_include", "file /etc/prte/mca-params.conf:3",
         "prte_if_exclude", "command line --prtemca prte_if_exclude");
  SAMPLE(parameter_line_without_equals, kFile, "rml_radix 2");
  SAMPLE(parameter_file_too_large, "/etc/prte/mca-params.conf", 1048576);
  SAMPLE(heartbeats_too_rare, "1s", "command line --prtemca tide_heartbeat_timeout", "2s",
         "default");
}

void add_finding(Page& page) {
  const std::vector<std::string> dvms = {"night", "dvm-6655"};
  const std::vector<std::string> logs = {"head", "v1", "v2", "v3", "v4"};
  page.begin("Finding a DVM");
  SAMPLE(no_dvm);
  SAMPLE(several_dvms,
         "NAME   AGE    NODES  PID   URI\n"
         "day    1 min  8      6655  tide-vm-6655-e451885e.0;tcp4://127.0.0.1:4711\n"
         "night  2 h    4      4242  tide-vm-4242-5bd5b2f0.0;tcp4://127.0.0.1:4712\n",
         "day");
  SAMPLE(no_dvm_named, "nigth", dvms);
  SAMPLE(no_dvm_named, "work", dvms);
  SAMPLE(no_dvm_named, "work", {});
  SAMPLE(no_dvm_that, "has the process number 17", dvms);
  SAMPLE(no_dvm_that, "has the process number 17", {});
  SAMPLE(no_system_dvm);
  SAMPLE(no_pid_in_file, "night.pid");
  SAMPLE(dvm_chosen_twice, "--dvm", "--pid");
  SAMPLE(all_and_one_dvm);
  SAMPLE(unknown_dvm_form, "name");
  SAMPLE(empty_namespace);
  SAMPLE(dvm_still_starting, "night", "No such file or directory");
  SAMPLE(dvm_does_not_listen, "night", "Connection refused");
  SAMPLE(dvm_unreachable, "night", Error{ErrorCode::kTimedOut, "no answer"});
  SAMPLE(dvm_does_not_answer, 10);
  SAMPLE(unknown_request);
  SAMPLE(no_such_failpoint, "action.exot", std::vector<std::string>{"action.exit"});
  SAMPLE(no_such_failpoint, "action.exit", {});
  SAMPLE(no_log_of, "v9", logs);
  SAMPLE(no_log_of, "haed", logs);
  SAMPLE(log_is_elsewhere, "node7", "/tmp/prte.node7.1000/node-0f3c/logs/node7.log");
  SAMPLE(empty_log, "v3", "/tmp/prte.vm.1000/night/logs/v3.log");
}

void add_starting(Page& page) {
  page.begin("Starting a DVM");
  SAMPLE(dvm_name_taken, "night", 4242);
  SAMPLE(dvm_name_held, "night", "/tmp/prte.vm.1000/night");
  SAMPLE(dvm_directory_of_unknown, "/tmp/prte.vm.1000/night", "night");
  SAMPLE(dvm_name_reserved, "search");
  SAMPLE(dvm_name_invalid, "Night Shift", 32);
  SAMPLE(socket_path_too_long, std::string(80, 'x') + "/prte.vm.1000/night/sock", 80);
  SAMPLE(run_directory_not_a_directory, kRunBase);
  SAMPLE(run_directory_of_another, kRunBase, 1001, 1000);
  SAMPLE(run_directory_open_to_others, kRunBase, 0755);
  SAMPLE(run_directory_not_made, "/home/you/prte.vm.1000", EACCES);
  SAMPLE(run_directory_locked, kRunBase);
  SAMPLE(relative_tmpdir, "scratch", kRunBase);
  SAMPLE(too_few_descriptors, 1000, 2032, 1024);
  SAMPLE(leftover_not_removed, "cannot remove /tmp/prte.vm.1000/night: Permission denied");
  SAMPLE(dvm_not_started,
         node_not_started("v3", "no new process: Resource temporarily unavailable"));
  SAMPLE(node_not_started, "v3", "no new process: Resource temporarily unavailable");
  SAMPLE(daemon_lost_at_start, true, "v3", "the peer closed the connection");
  SAMPLE(daemon_lost_at_start, false, "v3", "the peer closed the connection");
  SAMPLE(daemon_ended_at_start, "v3", "it was ended by signal 9 (SIGKILL)");
  SAMPLE(nodes_not_started,
         std::vector{node_not_started("n3", "no such host"), node_not_started("n5", "refused")}, 32,
         std::vector<std::string>{"n7", "n9"});
  SAMPLE(same_machine, "n3.cluster", "n3");
  SAMPLE(not_needed, "n3");
  SAMPLE(daemons_did_not_report, false, 60000, "v3, v7");
  SAMPLE(daemons_did_not_report, true, 60000, "v3, v7");
  SAMPLE(unacknowledged_by, std::vector<std::string>{"v3"}, false);
  SAMPLE(unacknowledged_by, std::vector<std::string>{"v3", "v7"}, true);
  SAMPLE(daemons_not_wired_up, false, 60000, std::vector<std::string>{}, false);
  SAMPLE(daemons_not_wired_up, false, 60000, std::vector<std::string>{"v3"}, false);
  SAMPLE(daemons_not_wired_up, true, 60000, std::vector<std::string>{"v3"}, true);
  SAMPLE(private_dvm_interrupted, SIGINT);
  SAMPLE(private_dvm_not_started);
  SAMPLE(private_dvm_late, 65000);
  SAMPLE(private_dvm_killed, 15000);
}

SlotShortage some_nodes() {
  SlotShortage out;
  out.program = "./solver";
  out.asked = 16;
  out.rows = {{"v1", 4, SlotSource::kCores, 3, 0, nullopt, 1},
              {"v2", 4, SlotSource::kCores, 0, 0, nullopt, 4},
              {"v3", 4, SlotSource::kCores, 0, 0, nullopt, 4}};
  out.advice = {9, 12, "", false, true};
  return out;
}

SlotShortage limited_by_hosts() {
  SlotShortage out;
  out.program = "./solver";
  out.asked = 4;
  out.rows = {{"v1", 4, SlotSource::kGiven, 0, 0, 2, 2}};
  out.advice = {2, 2, "v1:4", false, true};
  return out;
}

SlotShortage second_program() {
  SlotShortage out;
  out.program = "./worker";
  out.asked = 8;
  out.number = 2;
  out.programs = 2;
  out.rows = {{"v1", 4, SlotSource::kGiven, 0, 1, nullopt, 3},
              {"v2", 4, SlotSource::kGiven, 0, 0, nullopt, 4}};
  out.advice = {7, 7, "", false, true};
  out.unheard = {"v3"};
  return out;
}

// Groups of equal nodes, more of them than are shown.
SlotShortage large_dvm() {
  SlotShortage out;
  out.program = "./solver";
  out.asked = 2048;
  std::uint32_t usable = 0;
  for (std::uint32_t i = 1; i <= 256; ++i) {
    const std::uint32_t in_use = i <= 250 ? i / 50 : i - 246;
    out.rows.push_back({"v" + std::to_string(i), i <= 128 ? 8U : 12U, SlotSource::kHwthreads,
                        in_use, 0, nullopt, (i <= 128 ? 8U : 12U) - in_use});
    usable += out.rows.back().usable;
  }
  out.advice = {usable, 2048, "", false, true};
  return out;
}

LaunchFailure failed_launch(LaunchTrouble trouble, std::vector<std::string> words = {},
                            const std::string& call = "ssh") {
  return {.trouble = trouble,
          .host = "node7",
          .agent = "ssh",
          .call = call,
          .by_hand = call + " node7 'exec /opt/tide/bin/prted --remote'",
          .command = "exec /opt/tide/bin/prted --remote",
          .how = "exit status 71",
          .words = std::move(words),
          .waited_ms = 10000,
          .timeout_ms = 30000,
          .tried_from = "",
          .our_version = "0.2.0",
          .their_version = "0.1.0"};
}

void add_launching(Page& page) {
  page.begin("Reaching other machines");
  SAMPLE(no_launch_agent, "ssh : rsh");
  SAMPLE(launch_agent_without_input, "pdsh");
  SAMPLE(launch_agent_unreadable, "ssh -o 'X=y", "a quote is not closed");
  SAMPLE(not_a_host_name, "-oProxyCommand=x");
  SAMPLE(node_without_job, "node4");
  using enum LaunchTrouble;
  SAMPLE(launch_failed,
         failed_launch(kNameNotFound, {"ssh: Could not resolve hostname node7: Name or service not "
                                       "known"}));
  SAMPLE(launch_failed,
         failed_launch(kRefused, {"ssh: connect to host node7 port 2222: Connection refused"},
                       "ssh -p 2222"));
  SAMPLE(launch_failed,
         failed_launch(kUnreachable, {"ssh: connect to host node7 port 22: No route to host"}));
  SAMPLE(launch_failed, failed_launch(kClosed, {"kex_exchange_identification: Connection closed "
                                                "by remote host"}));
  SAMPLE(launch_failed,
         failed_launch(kAuthentication, {"me@node7: Permission denied (publickey,password)."}));
  SAMPLE(launch_failed, failed_launch(kHostKey, {"Host key verification failed."}));
  auto below = failed_launch(kHostKey, {"Host key verification failed."});
  below.tried_from = "node2";
  SAMPLE(launch_failed, below);
  SAMPLE(launch_failed,
         failed_launch(kProgramMissing, {"bash: line 1: /opt/tide/bin/prted: No such "
                                         "file or directory"}));
  SAMPLE(launch_failed,
         failed_launch(kLibraryMissing, {"/opt/tide/bin/prted: error while loading shared "
                                         "libraries: libpmix.so.2: cannot open shared object file: "
                                         "No such file or directory"}));
  SAMPLE(launch_failed, failed_launch(kVersion));
  SAMPLE(launch_failed, failed_launch(kTimedOut));
  SAMPLE(launch_failed,
         failed_launch(kNoWayBack, {"prted: the daemon did not reach the head within "
                                    "30 s"}));
  SAMPLE(launch_failed, failed_launch(kDaemonEnded, {"prted: no space left on device"}));
  SAMPLE(launch_failed,
         failed_launch(kNoWayBack, {"prted node7 [errmgr] ending: cannot connect to the head: from "
                                    "node7 (10.78.0.7) to 10.78.0.1:4711: no answer within 5 s"}));
  SAMPLE(launch_failed, failed_launch(kOther, {"segmentation fault"}));
}

void add_checking(Page& page) {
  page.begin("Checking hosts");
  const std::string late = launch_failed(failed_launch(LaunchTrouble::kTimedOut));
  SAMPLE(check_progress, "node1", "", 1, 3);
  SAMPLE(check_progress, "node7", late, 2, 3);
  SAMPLE(host_cannot_be_used, "node7", late);
  SAMPLE(host_cannot_be_used, "node8", checked_daemon_ended("signal 9 (SIGKILL)"));
  SAMPLE(host_cannot_be_used, "node9", checked_link_lost("the connection was reset"));
  SAMPLE(checked_daemon_ended, "signal 9 (SIGKILL)");
  SAMPLE(checked_link_lost, "the connection was reset");
  SAMPLE(logins_between_machines_untried, 64);
  SAMPLE(hosts_checked, 32, 31);
  SAMPLE(check_needs_hosts);
  SAMPLE(check_interrupted, SIGINT, 3, 32);
}

void add_network(Page& page) {
  const InterfaceChoiceFailure include{
      "prte_if_include",
      "ib0",
      "node3",
      {"eth0 10.77.0.3/16", "eth1 10.78.0.3/16", "ib1 10.79.0.3/16 (down)"}};
  const InterfaceChoiceFailure exclude{
      "prte_if_exclude", "eth0,10.78.0.0/16", "node3", {"eth0 10.77.0.3/16", "eth1 10.78.0.3/16"}};
  static const std::vector<std::string> kAddresses = {"10.77.0.3", "10.78.0.3"};
  page.begin("Networks");
  SAMPLE(unknown_interface, include, "ib0");
  SAMPLE(no_interface_left, exclude);
  const std::vector<FailedAttempt> attempts = {{"10.77.0.1:4711", no_answer_within(5000)},
                                               {"10.78.0.1:4711", "Connection refused"}};
  SAMPLE(no_connection, "node3", kAddresses, attempts);
  SAMPLE(no_answer_within, 5000);
}

void add_mapping(Page& page) {
  const std::vector<std::string> nodes = {"v1", "v2", "v3", "v4"};
  SlotShortage full = limited_by_hosts();
  full.rows = {{"v1", 2, SlotSource::kParameter, 2, 0, nullopt, 0}};
  full.advice = {0, 2, "", true, true};
  page.begin("Finding room for a job");
  SAMPLE(not_enough_slots, some_nodes());
  SAMPLE(not_enough_slots, limited_by_hosts());
  SAMPLE(not_enough_slots, second_program());
  SAMPLE(not_enough_slots, full);
  SAMPLE(not_enough_slots, large_dvm());
  SAMPLE(no_nodes_left);
  SAMPLE(no_process_for_stdin, 9, 4);
  SAMPLE(launch_too_large, 20480, 16384);
  SAMPLE(node_is_too_full, "v1", 2, 3);
  SAMPLE(job_without_program);
  SAMPLE(job_with_bad_variable, "A=B");
  SAMPLE(too_many_jobs_of_client, 1024);
  SAMPLE(job_too_large, 4000000, 1000000);
}

void add_running(Page& page) {
  const std::string not_found =
      "cannot start 'solvr' on node v1: " + program_not_in_path("/usr/bin:/bin").message;
  page.begin("Running a job");
  SAMPLE(process_not_started, kJob, 0, "node v1", not_found);
  SAMPLE(program_not_in_path, "/usr/bin:/bin");
  SAMPLE(program_is_a_directory, "/home/me/solver");
  SAMPLE(program_not_executable, "/home/me/solver.sh");
  SAMPLE(program_without_interpreter);
  SAMPLE(program_of_no_known_kind);
  SAMPLE(program_not_there, ENOENT);
  SAMPLE(working_directory_unusable, "/scratch/me", ENOENT);
  SAMPLE(process_exited, kJob, 0, 8016, "node v1", 3);
  SAMPLE(process_signalled, kJob, 0, 8016, "node v1", SIGSEGV);
  SAMPLE(process_signalled, kJob, 0, 8016, "node v1", SIGKILL);
  SAMPLE(process_signalled, kJob, 0, 8016, "node v1", SIGTERM);
  SAMPLE(process_ended_on_request, kJob, 1, 8017, "node v1", SIGKILL);
  SAMPLE(process_aborted, kJob, 2, "node v1", 5, "out of memory");
  const std::vector<std::uint32_t> some_ranks = {3, 5, 6, 7};
  std::vector<std::uint32_t> every_fourth;
  for (std::uint32_t rank = 0; rank < 80; rank += 4) every_fourth.push_back(rank);
  SAMPLE(node_lost, kJob, "v3", some_ranks, "the peer closed the connection", false);
  SAMPLE(node_lost, kJob, "v3", every_fourth, "it was silent for 10 s", false);
  SAMPLE(node_lost, kJob, "v3", std::span(some_ranks).first(1), "its daemon ended", true);
  SAMPLE(node_lost, kJob, "v3", {}, "its daemon ended", false);
  SAMPLE(processes_restarted, kJob, 1);
  SAMPLE(processes_restarted, kJob, 2);
  SAMPLE(more_processes_failed, kJob, 3);
  SAMPLE(job_is_accepted, 7, kJob);
  SAMPLE(job_is_spawned, kJob, 7);
  SAMPLE(spawner_unknown, kJob);
  SAMPLE(targets_unknown);
  SAMPLE(job_reads_no_more, kJob);
  SAMPLE(job_reads_not_yet, kJob);
  SAMPLE(job_reads_nothing, kJob);
  SAMPLE(process_reads_nothing, kJob, 0, 2);
  SAMPLE(connection_lost, "the peer closed the connection");
  SAMPLE(output_not_written, "cannot write output: No space left on device");
  SAMPLE(input_not_read, EISDIR);
  SAMPLE(answer_not_written, ENOSPC);
}

void add_staging(Page& page) {
  const auto differs = staged_file_differs().message;
  const auto unpacking = unpacking_failed(archive_entry_leaves("../../.profile")).message;
  page.begin("Files of a job");
  SAMPLE(staged_name_leaves, "../data/in.dat");
  SAMPLE(staged_name_empty, "--preload-files");
  SAMPLE(staged_file_unreadable, "in.dat", ENOENT);
  SAMPLE(staged_file_is_directory, "data");
  SAMPLE(staged_file_is_no_file, "/dev/zero");
  SAMPLE(file_has_changed);
  SAMPLE(preloaded_program_not_found, "solver");
  SAMPLE(preloaded_program_not_executable, "./solver");
  SAMPLE(preloaded_program_not_sent, "solver");
  SAMPLE(too_many_staged_files, 12000, 10000);
  SAMPLE(file_not_staged, kJob, "node v3", "data/in.dat", differs);
  SAMPLE(file_not_staged, kJob, "node v3", "in.tar", unpacking);
  SAMPLE(file_not_staged, kJob, "node v3", "", "No space left on device");
  SAMPLE(file_not_read, kJob, "in.dat", "Input/output error");
  SAMPLE(files_out_of_order, kJob);
  SAMPLE(files_stalled, kJob, 60000, "node v3");
  SAMPLE(files_missing, kJob, "node v9");
  SAMPLE(staged_file_differs);
  SAMPLE(staged_name_is_no_file);
  SAMPLE(staging_was_stopped);
  SAMPLE(unpacking_failed, "No space left on device");
  SAMPLE(archive_not_readable, "truncated");
  SAMPLE(archive_entry_leaves, "../../.profile");
  SAMPLE(archive_entry_of_odd_kind, "dev/null");
  SAMPLE(archive_entry_differs, "in.dat");
  SAMPLE(archive_entry_not_written, "in.dat", ENOSPC);
  SAMPLE(archive_has_too_much, 100000, std::uint64_t{16} << 30U);
}

void add_debugging(Page& page) {
  const std::vector<ProcessLine> lines = {{0, "node v1", 7812, ""}, {1, "node v2", 7815, ""}};
  page.begin("Debugging a job");
  SAMPLE(job_is_held, kJob, 7, "exec", lines, 0);
  SAMPLE(job_is_held, kJob, 7, "pmix-init", lines, 62);
  SAMPLE(job_held_and_restarted);
  SAMPLE(beside_without_number);
  SAMPLE(no_job_to_be_beside, kJob);
  SAMPLE(stops_twice, "--stop-in-init", "--stop-on-exec");
  SAMPLE(program_cannot_be_held, EPERM);
  SAMPLE(
      stack_trace, kJob, 3, "node v1", 4711,
      "Thread 1 (Thread 0x7f0000000740 (LWP 4711) \"ring\"):\n#0  0x00007f0000081234 in pause ()",
      false);
  SAMPLE(no_stack_traces, kJob, 2, "node v1", gdb_shows_no_stack("ptrace: not permitted").message);
  SAMPLE(stack_traces_left_out, kJob, 20, 16, 256);
  const std::vector<std::string> nodes = {"v2", "v3"};
  SAMPLE(stack_traces_are_late, kJob, nodes, 30000);
  SAMPLE(gdb_takes_too_long, 10000);
  SAMPLE(gdb_shows_no_stack, "ptrace: Operation not permitted.");
}

void add_ending(Page& page) {
  page.begin("Ending jobs and DVMs");
  SAMPLE(job_has_no_processes, kJob, 7);
  SAMPLE(no_such_job, "9");
  SAMPLE(not_a_signal, 99);
  SAMPLE(ended_on_request, kJob, SIGTERM);
  SAMPLE(ended_without_client, kJob);
  SAMPLE(ended_because, kJob, "the DVM is taken down");
  SAMPLE(ended_by_timeout, kJob, 90000);
  SAMPLE(not_launched_in_time, kJob, 90000);
  const std::array processes = {ProcessLine{0, "node v1", 4711, "PRTE_PROC_STATE_RUNNING"},
                                ProcessLine{1, "node v2", 0, "PRTE_PROC_STATE_INIT"}};
  SAMPLE(state_at_timeout, kJob, "PRTE_JOB_STATE_SEND_LAUNCH_MSG", processes, 2);
  SAMPLE(processes_did_not_end, kJob);
  SAMPLE(job_is_being_ended, SIGINT);
  SAMPLE(job_is_being_killed, SIGINT);
  SAMPLE(dvm_takes_no_more_jobs);
  SAMPLE(no_dvm_to_end);
  SAMPLE(head_was_killed, "night");
  SAMPLE(head_cannot_be_killed, "night", 4242);
  SAMPLE(dvm_has_not_ended, "night");
  static const std::vector<std::string> kSilent = {"node3", "node4"};
  SAMPLE(waiting_for_jobs, 2, kSilent, 8000);
  SAMPLE(waiting_for_nodes, kSilent, 17000);
  SAMPLE(ended_without_word_from, kSilent);
}

void add_watching(Page& page) {
  static const std::vector<std::string> kSome = {"v2", "v3"};
  static const std::vector<std::uint32_t> kRanks = {4, 5, 6, 7};
  static const std::vector<std::string> kJobs = {"8", "9"};
  page.begin("What a job waits for");
  SAMPLE(waits_for_dvm, kSome, 4);
  SAMPLE(waits_for_dvm, {}, 4);
  SAMPLE(waits_for_suspects, kSome);
  SAMPLE(waits_for_files, kSome, false);
  SAMPLE(waits_for_files, kSome, true);
  SAMPLE(waits_for_files, {}, false);
  SAMPLE(waits_for_launch, kSome, 4);
  SAMPLE(waits_for_debugger, "exec", 7);
  SAMPLE(waits_for_processes, kSome, 4);
  SAMPLE(waits_for_stacks, kSome, 4);
  SAMPLE(waits_for_end, kSome, 4, SIGTERM, 1500);
  SAMPLE(waits_for_end, kSome, 4, SIGKILL, 200);
  SAMPLE(waits_for_output, kSome);
  SAMPLE(waits_for_reader, "its client", 1, 262144);
  SAMPLE(waits_for_collective, "a fence", kSome, kRanks);
  SAMPLE(waits_for_spawned, 0, 8);
  SAMPLE(waits_for_head, "PRTE_JOB_STATE_ALLOCATE");
  SAMPLE(fact_pmix, 8, 16, 2, 4);
  SAMPLE(fact_pmix, 0, 16, 0, 4);
  SAMPLE(fact_pmix, 16, 16, 4, 4);
  SAMPLE(fact_suspected, kSome);
  SAMPLE(fact_children, kJobs);
  SAMPLE(fact_parent, kJob, 0);
  SAMPLE(fact_timeout, 90000);
  SAMPLE(fact_nobody_reads);
  SAMPLE(fact_input_waits, 1);
  SAMPLE(job_never_submitted, "12", 7);
  SAMPLE(job_never_submitted, "12", 0);
  SAMPLE(job_forgotten, "3");
  SAMPLE(processes_forgotten, "3");
  SAMPLE(events_forgotten, 120);
}

void add_hosts(Page& page) {
  static const std::vector<std::string> kNodes = {"node1", "node2"};
  static const std::vector<std::string> kLong = {"node1.east", "node1.west"};
  const HostPlace in_file{"nodes.txt", 3, 7, "node9"};
  const HostPlace in_list{"--host", 0, 7, "+n4"};
  page.begin("Hosts");
  for (int fault = 0; fault <= static_cast<int>(kLastHostFault); ++fault) {
    SAMPLE(bad_host, {"nodes.txt", 3, 1, "…"}, static_cast<HostFault>(fault));
  }
  SAMPLE(what_is_wrong, {"nodes.txt", 3, 1, "…"}, HostFault::kNoName);
  SAMPLE(unknown_host_setting, {"nodes.txt", 3, 7, "slot"}, "slots");
  SAMPLE(unknown_host_setting, {"nodes.txt", 3, 7, "weight"}, nullopt);
  SAMPLE(more_slots_than_max, in_file, 8, 4);
  SAMPLE(host_not_there, in_file, "the default hostfile", kNodes);
  SAMPLE(host_not_there, {"--host", 0, 1, "noed2"}, "this DVM", kNodes);
  SAMPLE(host_left_out, in_list, "node5");
  SAMPLE(ambiguous_host, {"--host", 0, 1, "node1"}, kLong);
  SAMPLE(index_past_the_end, in_list, "this DVM", 4);
  SAMPLE(too_few_empty_nodes, {"--host", 0, 1, "+e:4"}, "this DVM", 3);
  SAMPLE(too_few_empty_nodes, {"nodes.txt", 1, 1, "+e"}, "this DVM", 0);
  SAMPLE(no_list_to_count_in, in_list);
  SAMPLE(no_hosts_left, "nodes.txt");
  SAMPLE(hostfile_not_readable, "nodes.txt", ENOENT);
  SAMPLE(hostfile_too_large, "nodes.txt", std::size_t{16} << 20U);
  SAMPLE(hostfile_without_hosts, "nodes.txt");
  SAMPLE(nodes_and_hosts, "--hostfile");
}

}  // namespace

std::vector<Sample> catalogue_samples() {
  Page page;
  add_command_line(page);
  add_values(page);
  add_parameters(page);
  add_hosts(page);
  add_granting(page);
  add_finding(page);
  add_starting(page);
  add_launching(page);
  add_stepping(page);
  add_checking(page);
  add_network(page);
  add_mapping(page);
  add_running(page);
  add_staging(page);
  add_debugging(page);
  add_ending(page);
  add_watching(page);
  add_elastic(page);
  add_campaigns(page);
  add_reserving(page);
  add_reservations(page);
  add_slurm(page);
  return page.take();
}

}  // namespace tide::say
