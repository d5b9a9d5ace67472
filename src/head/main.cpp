// prte: the head of a DVM.
#include <fcntl.h>
#include <fmt/format.h>
#include <google/protobuf/stubs/logging.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "base/log.hpp"
#include "base/standard_descriptors.hpp"
#include "exec/descriptor_limit.hpp"
#include "exec/orphans.hpp"
#include "head/check_program.hpp"
#include "head/daemonize.hpp"
#include "head/head_program.hpp"
#include "head/node_places.hpp"
#include "head/options.hpp"
#include "head/scheduler_key.hpp"
#include "head/surroundings.hpp"
#include "say/checking.hpp"
#include "say/command_line.hpp"
#include "say/running.hpp"
#include "say/starting.hpp"
#include "wire/exit_status.hpp"

namespace tide::head {
namespace {

// What people called: `tide check` is this program with --check as its first word.
const char* program_name = "prte";

void complain(const std::string& text) {
  std::fprintf(stderr, "%s: %s\n", program_name, text.c_str());
}

int fail(const std::string& text, int status = 1) {
  complain(text);
  return status;
}

Result<std::string> sibling(const char* name) {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size() - 1);
  if (length < 0) return system_error("cannot find where prte is installed", errno);
  std::string out(path.data(), static_cast<std::size_t>(length));
  out.replace(out.rfind('/') + 1, std::string::npos, name);
  if (access(out.c_str(), X_OK) != 0) return system_error("cannot use " + out, errno);
  return out;
}

Result<std::string> random_bytes(std::size_t count) {
  std::string out(count, '\0');
  if (getrandom(out.data(), count, 0) != static_cast<ssize_t>(count)) {
    return system_error("no random bytes for the DVM's key", errno);
  }
  return out;
}

std::string short_host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  gethostname(name.data(), name.size() - 1);
  const std::string full(name.data());
  return full.substr(0, full.find('.'));
}

// Sweeps what dead DVMs of this user left, processes included, then takes a directory for this one.
Result<NewDvm> take_directory(const HeadOptions& options, const Params& params) {
  const auto& tmpdir_base = params.get_string("prte_tmpdir_base");
  const auto base = run_base_path(tmpdir_base);
  if (const auto ignored = ignored_tmpdir(tmpdir_base)) {
    complain(say::relative_tmpdir(*ignored, base));
  }
  for (const auto& complaint : sweep_dead_dvms(base, exec::kill_processes_of_dvm)) {
    complain(say::leftover_not_removed(complaint));
  }
  auto salt = random_bytes(4);
  if (!salt) return salt.error();
  std::string hex;
  for (const char byte : *salt) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  DvmInfo info;
  info.name = options.dvm_name.empty() ? fmt::format("dvm-{}", getpid()) : options.dvm_name;
  if (options.check) {
    info.name = info.node = fmt::format("check-{}", getpid());  // for no client to find
  }
  info.dvm_id = fmt::format("tide-{}-{}-{}", short_host_name(), getpid(), hex);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  info.started_unix_ms = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
  return create_dvm_directory(base, std::move(info));
}

// `-` is standard output, `+` standard error, anything else a file.
Status write_report(const std::string& where, const std::string& text) {
  if (where.empty()) return ok_status();
  if (where == "-" || where == "+") {
    std::fprintf(where == "-" ? stdout : stderr, "%s\n", text.c_str());
    std::fflush(where == "-" ? stdout : stderr);
    return ok_status();
  }
  std::FILE* file = std::fopen(where.c_str(), "we");
  if (file == nullptr) return system_error("cannot write " + where, errno);
  const bool written = std::fprintf(file, "%s\n", text.c_str()) > 0;
  if (std::fclose(file) != 0 || !written) return system_error("cannot write " + where, errno);
  return ok_status();
}

// Whoever waits for the file must hear now that it will never come.
Status check_report(const std::string& where) {
  if (where.empty() || where == "-" || where == "+") return ok_status();
  std::FILE* file = std::fopen(where.c_str(), "ae");
  if (file == nullptr) return system_error("cannot write " + where, errno);
  std::fclose(file);
  return ok_status();
}

void announce(const HeadOptions& options, const DvmInfo& info, ReadyPipe& pipe) {
  for (const auto& [where, text] : {std::pair{options.report_uri, info.uri},
                                    std::pair{options.report_pid, std::to_string(info.pid)}}) {
    if (auto written = write_report(where, text); !written) log_error(written.error().message);
  }
  if (options.daemonize && !options.no_ready_message) {
    std::printf("DVM %s is ready: %u node%s, %u slot%s (pid %u)\n", info.name.c_str(), info.nodes,
                info.nodes == 1 ? "" : "s", info.slots, info.slots == 1 ? "" : "s", info.pid);
  } else if (!options.no_ready_message) {
    std::printf("DVM ready\n");
  }
  std::fflush(stdout);
  if (options.ready_fd) {
    if (write(*options.ready_fd, "K", 1) != 1) log_warning("nobody took the ready byte");
    close(*options.ready_fd);
  }
  pipe.announce();
}

// Better said before the start than by whichever daemon is the first to find none left.
Status enough_descriptors(const HeadOptions& options, const Params& params) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return system_error("no limit on open files", errno);
  const NodePlaces places(options, launch::ThisMachine::look());
  const auto at_once = static_cast<std::size_t>(params.get_int("plm_ssh_num_concurrent"));
  const std::size_t sessions = options.stay_attached
                                   ? places.on_other_machines()
                                   : std::min(places.on_other_machines(), at_once);
  const std::size_t nodes = places.all().size();
  const std::uint64_t needed = descriptors_needed(nodes, sessions);
  if (limit.rlim_cur >= needed) return ok_status();
  return say::too_few_descriptors(static_cast<std::uint32_t>(nodes), needed, limit.rlim_cur);
}

// From before there is anything to clean up until the program listens to them, signals wait.
class SignalsWait {
 public:
  SignalsWait() {
    sigset_t ends{};
    sigemptyset(&ends);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, number);
    pthread_sigmask(SIG_BLOCK, &ends, &before_);
  }
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;
  SignalsWait(SignalsWait&&) = delete;
  SignalsWait& operator=(SignalsWait&&) = delete;
  ~SignalsWait() { end(); }
  void end() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

int serve_in(HeadSetup setup, ReadyPipe& pipe, SignalsWait& signals) {
  const HeadOptions options = setup.options;
  LogConfig log{.path = options.daemonize ? dvm_log_path(setup.info.directory, "head") : "",
                .program = "prte",
                .node = "head",
                .verbosity = log_verbosity(setup.params)};
  if (auto started = log_init(std::move(log)); !started) return fail(started.error().message);
  const auto show = [&](const core::Progress& progress) {
    if (pipe.announced()) return;
    if (options.show_progress || progress.failure) {
      std::fprintf(stderr, "%s\n", progress.text.c_str());
    }
  };
  int status = 1;
  {
    HeadProgram program(
        std::move(setup),
        {.ready = [&](const DvmInfo& ready) { announce(options, ready, pipe); }, .progress = show});
    signals.end();
    status = program.run();
  }
  log_shutdown();
  return status;
}

// To standard output, and whether it got there.
bool print(const std::string& text) {
  return std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
}

int check_in(HeadSetup setup, SignalsWait& signals) {
  const HeadOptions options = setup.options;
  LogConfig log{.path = dvm_log_path(setup.info.directory, "head"),
                .program = "prte",
                .node = "head",
                .verbosity = log_verbosity(setup.params)};
  if (auto started = log_init(std::move(log)); !started) return fail(started.error().message);
  CheckProgram program(std::move(setup), [&options](const CheckedHost& host, std::size_t done,
                                                    std::size_t all) {
    if (!options.show_progress) return;
    std::fprintf(stderr, "%s\n", say::check_progress(host.name, host.failure, done, all).c_str());
  });
  signals.end();
  const Status ran = program.run();
  log_shutdown();
  if (!ran) return fail(ran.error().message);
  const auto hosts = program.results();
  if (const auto signal = program.interrupted_by()) {
    return fail(say::check_interrupted(*signal, program.settled(), hosts.size()),
                exit_status_of_signal(*signal));
  }
  const std::string found = options.json ? check_json(hosts) : check_text(hosts, program.untried());
  if (!print(found)) return fail(say::answer_not_written(errno));
  const bool all_usable = std::ranges::all_of(hosts, &CheckedHost::usable);
  return all_usable ? kExitSuccess : kExitFailure;
}

// Those of the job of a scheduler that this program runs in, if it does.
Result<std::optional<rm::Grant>> granted_nodes(const HeadOptions& options, const Params& params) {
  if (options.gave_nodes) return std::optional<rm::Grant>();
  return rm::find_grant(params.get_string("ras"), surroundings());
}

Result<launch::LauncherChoice> launcher_for(const HeadOptions& options, const Params& params) {
  launch::LauncherQuestion question;
  if (options.grant) {
    question.manager = options.grant->manager;
    question.job = options.grant->job;
  }
  question.plm = params.get_string("plm");
  question.command_all = params.get_string("plm_command_all");
  question.command_each = params.get_string("plm_command_each");
  return launch::choose_launcher(question, launch::find_in_path);
}

int serve(const HeadOptions& options, Params params, Failpoints failpoints, ReadyPipe& pipe) {
  auto raised = exec::raise_descriptor_limit();
  if (!raised) return fail(raised.error().message);
  if (auto enough = enough_descriptors(options, params); !enough) {
    return fail(enough.error().message);
  }
  auto prted = sibling("prted");
  if (!prted) return fail(prted.error().message);
  for (const auto& where : {options.report_uri, options.report_pid}) {
    if (auto writable = check_report(where); !writable) return fail(writable.error().message);
  }
  auto launcher = launcher_for(options, params);
  if (!launcher) return fail(launcher.error().message);
  auto scheduler_key = read_scheduler_key(params.get_string("tide_scheduler_key_file"));
  if (!scheduler_key) return fail(scheduler_key.error().message);
  auto key = random_bytes(32);
  if (!key) return fail(key.error().message);
  SignalsWait signals;
  auto dvm = take_directory(options, params);
  if (!dvm) return fail(dvm.error().message);
  HeadSetup setup{options,
                  std::move(params),
                  std::move(failpoints),
                  dvm->info,
                  dvm->directory,
                  std::move(*key),
                  std::move(*prted),
                  *raised,
                  std::move(*launcher),
                  std::move(*scheduler_key),
                  pipe.fd()};
  const int status = options.check ? check_in(std::move(setup), signals)
                                   : serve_in(std::move(setup), pipe, signals);
  // Gone already after an orderly end; a start that failed early leaves it.
  if (auto removed = dvm->directory.remove(); !removed) {
    complain(removed.error().message);
  }
  return status;
}

}  // namespace
}  // namespace tide::head

int main(int argc, char** argv) {
  using namespace tide;
  using namespace tide::head;
  // It would write a line for every bad message that a peer sends; ours are rate-limited.
  google::protobuf::SetLogHandler(nullptr);
  open_missing_standard_descriptors();
  if (argc > 1 && std::string_view(argv[1]) == "--check") program_name = "tide check";
  auto parsed = parse_options(argc, argv);
  if (!parsed) return fail(say::usage(program_name, parsed.error().message), 2);
  if (parsed->print) return print(*parsed->print) ? 0 : fail(say::answer_not_written(errno));
  auto params = Params::load(standard_param_inputs(parsed->options.params, environ));
  if (!params) return fail(params.error().message, 2);
  parsed->options.elastic = params->get_bool("prte_elastic_mode");
  auto grant = granted_nodes(parsed->options, *params);
  if (!grant) return fail(grant.error().message);
  if (parsed->options.gave_nodes) {
    parsed->options.job_aside = rm::find_job_around(params->get_string("ras"), surroundings());
  }
  if (const auto chosen = choose_nodes(parsed->options, std::move(*grant)); !chosen) {
    return fail(say::usage(program_name, chosen.error().message), 2);
  }
  if (const auto pool = check_pool(parsed->options); !pool) {
    return fail(say::usage(program_name, pool.error().message), 2);
  }
  keep_the_rest(parsed->options);
  limit_size(parsed->options, static_cast<std::size_t>(params->get_int("prte_max_vm_size")));
  auto failpoints = Failpoints::parse(params->get_string("tide_failpoint"));
  if (!failpoints) return fail(failpoints.error().message, 2);
  // The last two a scheduler may send for programs that write checkpoints.
  for (const int number : {SIGPIPE, SIGUSR1, SIGUSR2}) std::signal(number, SIG_IGN);
  ReadyPipe pipe;
  if (parsed->options.daemonize && !parsed->options.check) {
    auto forked = daemonize(pipe);
    if (!forked) return fail(forked.error().message);
    if (*forked) return **forked;  // the parent: the child is ready, or has failed
  }
  return serve(parsed->options, std::move(*params), std::move(*failpoints), pipe);
}
