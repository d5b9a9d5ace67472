#include "say/catalogue_samples.hpp"

#include <array>
#include <cerrno>
#include <csignal>

#include "say/command_line.hpp"
#include "say/ending.hpp"
#include "say/finding.hpp"
#include "say/mapping.hpp"
#include "say/running.hpp"
#include "say/starting.hpp"

// The name of the function is kept with its text, so that none can be forgotten.
#define SAMPLE(function, ...) page.add(#function, function(__VA_ARGS__))

namespace tide::say {
namespace {

using std::nullopt;

constexpr const char* kJob = "tide-vm-6655-e451885e@7";
constexpr const char* kRunBase = "/tmp/prte.vm.1000";

class Page {
 public:
  void begin(std::string topic) { topic_ = std::move(topic); }
  void add(std::string function, std::string text) {
    samples_.push_back({topic_, std::move(function), std::move(text)});
  }
  void add(std::string function, const Error& error) { add(std::move(function), error.message); }
  std::vector<Sample> take() { return std::move(samples_); }

 private:
  std::string topic_;
  std::vector<Sample> samples_;
};

void add_command_line(Page& page) {
  page.begin("Command lines");
  SAMPLE(no_command);
  SAMPLE(unknown_command, "statsu", "status");
  SAMPLE(unknown_command, "dance", nullopt);
  SAMPLE(no_program, "prun");
  SAMPLE(no_program_before_colon);
  SAMPLE(no_program_after_colon);
  SAMPLE(one_word_too_many, "now");
  SAMPLE(needs_one_job);
  SAMPLE(needs_debug_word);
  SAMPLE(unknown_option, "--tiemout", "--timeout");
  SAMPLE(unknown_option, "--quetzalcoatl", nullopt);
  SAMPLE(unbuilt_option, "--hostfile", "--host");
  SAMPLE(unbuilt_option, "--bind-to", "");
  SAMPLE(takes_no_value, "--verbose");
  SAMPLE(needs_value, "--timeout", "TIME");
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
  SAMPLE(takes_no_equals, "--map-by node");
  SAMPLE(neither_yes_nor_no, "maybe", "OVERSUBSCRIBE");
  SAMPLE(both_oversubscribe_and_not);
  SAMPLE(empty_directory, "--wdir");
  SAMPLE(empty_node_name, "v1,,v2");
  SAMPLE(unbuilt_relative_host, "+n0");
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
  SAMPLE(daemon_lost_at_start, "v3", "the peer closed the connection");
  SAMPLE(daemon_ended_at_start, "v3", "it was ended by signal 9 (SIGKILL)");
  SAMPLE(daemons_did_not_report, 60000, "v3, v7");
  SAMPLE(daemons_not_wired_up, 60000);
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
  SAMPLE(unknown_host, "v9", nodes);
  SAMPLE(unknown_host, "V3", nodes);
  SAMPLE(no_nodes_left);
  SAMPLE(no_process_for_stdin, 9, 4);
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
  SAMPLE(node_lost, kJob, "v3", 2, "the peer closed the connection");
  SAMPLE(job_is_accepted, 7, kJob);
  SAMPLE(connection_lost, "the peer closed the connection");
  SAMPLE(output_not_written, "cannot write output: No space left on device");
  SAMPLE(input_not_read, EISDIR);
  SAMPLE(answer_not_written, ENOSPC);
}

void add_ending(Page& page) {
  page.begin("Ending jobs and DVMs");
  SAMPLE(no_such_job, "9");
  SAMPLE(not_a_signal, 99);
  SAMPLE(ended_on_request, kJob, SIGTERM);
  SAMPLE(ended_without_client, kJob);
  SAMPLE(ended_because, kJob, "the DVM is taken down");
  SAMPLE(ended_by_timeout, kJob, 90000);
  SAMPLE(processes_did_not_end, kJob);
  SAMPLE(job_is_being_ended, SIGINT);
  SAMPLE(job_is_being_killed, SIGINT);
  SAMPLE(dvm_takes_no_more_jobs);
  SAMPLE(no_dvm_to_end);
  SAMPLE(head_was_killed, "night");
  SAMPLE(head_cannot_be_killed, "night", 4242);
  SAMPLE(dvm_has_not_ended, "night");
}

}  // namespace

std::vector<Sample> catalogue_samples() {
  Page page;
  add_command_line(page);
  add_values(page);
  add_parameters(page);
  add_finding(page);
  add_starting(page);
  add_mapping(page);
  add_running(page);
  add_ending(page);
  return page.take();
}

}  // namespace tide::say
