#include "pmix/spawn_request.hpp"

#include <tide/pmix_keys.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "hosts/hostfile.hpp"
#include "hosts/wire_words.hpp"
#include "pmix/own_keys.hpp"
#include "pmix/reading.hpp"
#include "pmix/values.hpp"
#include "wire/limits.hpp"

namespace tide::pmix {
namespace {

constexpr std::size_t kMaxApps = 4096;
constexpr int kMaxTargets = 1024;

// Without these the job would be another one than was asked for.
constexpr auto kRefused = std::to_array<std::string_view>(
    {PMIX_HOSTFILE, PMIX_PPR, PMIX_RANKBY, PMIX_PRELOAD_BIN, PMIX_PRELOAD_FILES,
     PMIX_DEBUG_DAEMONS_PER_PROC, PMIX_COSPAWN_APP, PMIX_COLOCATE_PROCS, PMIX_SET_SESSION_CWD,
     PMIX_INDEX_ARGV, PMIX_NO_PROCS_ON_HEAD, PMIX_CPU_LIST, PMIX_DO_NOT_LAUNCH,
     PMIX_FORKEXEC_AGENT});
// These say only what is so anyway.
constexpr auto kTrue = std::to_array<std::string_view>(
    {PMIX_WDIR_USER_SPECIFIED, PMIX_ENVARS_HARVESTED, PMIX_REQUESTOR_IS_CLIENT,
     PMIX_REQUESTOR_IS_TOOL, PMIX_PARENT_ID, PMIX_SPAWNED, PMIX_USERID, PMIX_GRPID});

bool is_among(std::string_view key, const auto& keys) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

bool is_word(std::string_view text, std::string_view word) {
  return std::equal(text.begin(), text.end(), word.begin(), word.end(), [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == b;
  });
}

// "slot", "node:OVERSUBSCRIBE", ":nooversubscribe".
pmix_status_t read_map_by(const pmix_value_t& value, wire::JobSpec& job) {
  const auto text = text_in(value);
  if (!text) return PMIX_ERR_BAD_PARAM;
  std::vector<std::string> words = split(*text, ':');
  if (is_word(words[0], "node")) {
    job.set_map_by(wire::JobSpec::NODE);
  } else if (is_word(words[0], "slot")) {
    job.set_map_by(wire::JobSpec::SLOT);
  } else if (!words[0].empty()) {
    return PMIX_ERR_NOT_SUPPORTED;
  }
  for (std::size_t index = 1; index < words.size(); ++index) {
    const bool over = is_word(words[index], "oversubscribe");
    if (!over && !is_word(words[index], "nooversubscribe")) return PMIX_ERR_NOT_SUPPORTED;
    job.set_oversubscribe(over);
  }
  return PMIX_SUCCESS;
}

// "a,b:2,+n0": the head knows which nodes these are.
pmix_status_t read_hosts(const pmix_value_t& value, wire::AppSpec& app) {
  const auto text = text_in(value);
  if (!text) return PMIX_ERR_BAD_PARAM;
  const auto words = hosts::parse_host_list(*text, PMIX_HOST);
  if (!words) return PMIX_ERR_BAD_PARAM;
  app.clear_hosts();
  for (const auto& word : *words) *app.add_hosts() = hosts::to_wire(word);
  return PMIX_SUCCESS;
}

// As who asks would find them. Whatever is no plain file could keep us waiting when it is opened.
std::optional<std::vector<std::string>> files_named(const std::string& list,
                                                    const wire::JobSpec& job) {
  const std::filesystem::path directory = job.apps().empty() ? "" : job.apps(0).working_directory();
  std::vector<std::string> out;
  for (const auto& name : split(list, ',')) {
    const auto path = directory / name;
    std::error_code failure;
    if (!path.is_absolute() || !std::filesystem::is_regular_file(path, failure)) return {};
    out.push_back(path.string());
  }
  return out;
}

// Hosts that the DVM is to be extended by: "a,b:2", or files that name them.
pmix_status_t read_added_hosts(const pmix_info_t& info, wire::JobSpec& job) {
  const auto text = text_in(info.value);
  if (!text || text->empty()) return PMIX_ERR_BAD_PARAM;
  const bool is_file = key_of(info) == PMIX_ADD_HOSTFILE;
  const auto files = is_file ? files_named(*text, job) : std::vector<std::string>();
  if (!files) return PMIX_ERR_BAD_PARAM;
  const auto words =
      is_file ? hosts::read_hostfiles(*files) : hosts::parse_host_list(*text, PMIX_ADD_HOST);
  if (!words) return PMIX_ERR_BAD_PARAM;
  for (const auto& word : *words) *job.add_add_hosts() = hosts::to_wire(word);
  return PMIX_SUCCESS;
}

// What PMIx calls first is in front of all there is, as what is prepended.
std::optional<wire::EnvDirective::Kind> envar_kind(std::string_view key) {
  if (key == PMIX_SET_ENVAR) return wire::EnvDirective::SET;
  if (key == PMIX_ADD_ENVAR) return wire::EnvDirective::DEFAULT;
  if (key == PMIX_PREPEND_ENVAR || key == PMIX_FIRST_ENVAR) return wire::EnvDirective::PREPEND;
  if (key == PMIX_APPEND_ENVAR) return wire::EnvDirective::APPEND;
  return std::nullopt;
}

bool is_variable_name(std::string_view name) {
  return !name.empty() && name.find('=') == std::string_view::npos;
}

pmix_status_t read_envar(const pmix_value_t& value, wire::EnvDirective::Kind kind,
                         wire::AppSpec& app) {
  if (value.type != PMIX_ENVAR || value.data.envar.envar == nullptr) return PMIX_ERR_BAD_PARAM;
  const pmix_envar_t& variable = value.data.envar;
  if (!is_variable_name(variable.envar)) return PMIX_ERR_BAD_PARAM;
  auto* directive = app.add_environment();
  directive->set_kind(kind);
  directive->set_name(variable.envar);
  if (variable.value != nullptr) directive->set_value(variable.value);
  const bool separated = kind == wire::EnvDirective::PREPEND || kind == wire::EnvDirective::APPEND;
  if (separated && variable.separator != '\0') {
    directive->set_separator(std::string(1, variable.separator));
  }
  return PMIX_SUCCESS;
}

pmix_status_t read_unset(const pmix_value_t& value, wire::AppSpec& app) {
  const auto name = text_in(value);
  if (!name || !is_variable_name(*name)) return PMIX_ERR_BAD_PARAM;
  auto* directive = app.add_environment();
  directive->set_kind(wire::EnvDirective::UNSET);
  directive->set_name(*name);
  return PMIX_SUCCESS;
}

pmix_status_t read_working_directory(const pmix_value_t& value, wire::AppSpec& app) {
  auto directory = text_in(value);
  if (!directory) return PMIX_ERR_BAD_PARAM;
  app.set_working_directory(std::move(*directory));
  return PMIX_SUCCESS;
}

// What is about one app; nothing if the entry is something else.
std::optional<pmix_status_t> read_of_app(const pmix_info_t& info, wire::AppSpec& app) {
  const std::string_view key = key_of(info);
  if (key == PMIX_HOST) return read_hosts(info.value, app);
  if (key == PMIX_WDIR) return read_working_directory(info.value, app);
  if (key == PMIX_UNSET_ENVAR) return read_unset(info.value, app);
  if (const auto kind = envar_kind(key)) return read_envar(info.value, *kind, app);
  return std::nullopt;
}

pmix_status_t read_stdin_target(const pmix_value_t& value, wire::JobSpec& job) {
  const auto target = proc_in(value);
  if (!target) return PMIX_ERR_BAD_PARAM;
  if (target->rank == kAllRanks) return PMIX_ERR_NOT_SUPPORTED;
  if (target->rank >= kMaxProcessesPerJob) return PMIX_ERR_BAD_PARAM;
  job.set_stdin_rank(static_cast<std::int32_t>(target->rank));
  return PMIX_SUCCESS;
}

// Flags; nothing if the entry is something else.
std::optional<pmix_status_t> read_flag_of_job(const pmix_info_t& info, wire::Spawn& spawn) {
  const std::string_view key = key_of(info);
  const auto flag = flag_in(info.value);
  const bool on = flag.value_or(false);
  wire::JobSpec& job = *spawn.mutable_job();
  if (key == PMIX_FWD_STDOUT) {
    spawn.set_forward_stdout(on);
  } else if (key == PMIX_FWD_STDERR) {
    spawn.set_forward_stderr(on);
  } else if (key == PMIX_NOTIFY_COMPLETION) {
    spawn.set_notify_completion(on);
  } else if (key == PMIX_NOHUP) {
    spawn.set_outlives_tool(on);
  } else if (key == PMIX_FWD_STDIN) {
    if (on && job.stdin_rank() < 0) job.set_stdin_rank(0);
  } else if (key == PMIX_IOF_MERGE_STDERR_STDOUT || key == PMIX_MERGE_STDERR_STDOUT) {
    job.set_merge_output(on);
  } else if (key == PMIX_NO_OVERSUBSCRIBE) {
    if (on) job.set_oversubscribe(false);
  } else {
    return std::nullopt;
  }
  return flag ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
}

std::optional<wire::StopAt> stop_of(std::string_view key) {
  if (key == PMIX_DEBUG_STOP_ON_EXEC) return wire::STOP_ON_EXEC;
  if (key == PMIX_DEBUG_STOP_IN_INIT) return wire::STOP_IN_INIT;
  if (key == PMIX_DEBUG_STOP_IN_APP) return wire::STOP_IN_APP;
  return std::nullopt;
}

// A flag, or which ranks: all or none of a job are held.
pmix_status_t read_stop(const pmix_value_t& value, wire::StopAt stop, wire::JobSpec& job) {
  bool on = flag_in(value).value_or(false);
  if (value.type == PMIX_PROC_RANK) {
    if (value.data.rank != PMIX_RANK_WILDCARD) return PMIX_ERR_NOT_SUPPORTED;
    on = true;
  } else if (!flag_in(value)) {
    return PMIX_ERR_BAD_PARAM;
  }
  if (!on) return PMIX_SUCCESS;
  auto& runtime = *job.mutable_runtime();
  const auto before = runtime.stop_at();
  if (before != wire::STOP_NOWHERE && before != stop) return PMIX_ERR_BAD_PARAM;
  runtime.set_stop_at(stop);
  return PMIX_SUCCESS;
}

// Debugger daemons run beside the processes of another job; nothing if the entry is something else.
std::optional<pmix_status_t> read_of_daemons(const pmix_info_t& info, wire::JobSpec& job) {
  const std::string_view key = key_of(info);
  if (key == PMIX_DEBUGGER_DAEMONS) {
    const auto flag = flag_in(info.value);
    if (flag.value_or(false) && job.per_node() == 0) job.set_per_node(1);
    return flag ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
  }
  if (key == PMIX_DEBUG_TARGET) {
    const auto target = proc_in(info.value);
    if (!target) return PMIX_ERR_BAD_PARAM;
    if (target->rank != kAllRanks) return PMIX_ERR_NOT_SUPPORTED;
    job.set_beside(target->nspace);
    return PMIX_SUCCESS;
  }
  if (key != PMIX_DEBUG_DAEMONS_PER_NODE) return std::nullopt;
  const auto count = integer_in(info.value);
  if (!count || *count < 1 || *count > kMaxProcessesPerJob) return PMIX_ERR_BAD_PARAM;
  job.set_per_node(static_cast<std::uint32_t>(*count));
  return PMIX_SUCCESS;
}

// What becomes of the job when a process fails; nothing if the entry is something else.
std::optional<pmix_status_t> read_of_failures(const pmix_info_t& info, wire::JobSpec& job) {
  const std::string_view key = key_of(info);
  if (key == PMIX_MAX_RESTARTS) {
    const auto count = integer_in(info.value);
    if (!count || *count < 0 || *count > UINT32_MAX) return PMIX_ERR_BAD_PARAM;
    job.mutable_runtime()->set_max_restarts(static_cast<std::uint32_t>(*count));
    return PMIX_SUCCESS;
  }
  if (key != PMIX_JOB_RECOVERABLE && key != PMIX_JOB_CONTINUOUS) return std::nullopt;
  const auto flag = flag_in(info.value);
  if (!flag) return PMIX_ERR_BAD_PARAM;
  job.mutable_runtime()->set_recoverable(*flag);
  if (key == PMIX_JOB_CONTINUOUS && *flag && job.runtime().max_restarts() == 0) {
    job.mutable_runtime()->set_max_restarts(UINT32_MAX);
  }
  return PMIX_SUCCESS;
}

// An allocation, or the default session, which PMIx calls by a name that is none.
pmix_status_t add_target(const char* name, wire::Targets& targets) {
  if (name == nullptr || *name == '\0') {
    targets.set_default_session(true);
    return PMIX_SUCCESS;
  }
  auto& known = *targets.mutable_allocations();
  if (std::find(known.begin(), known.end(), name) != known.end()) return PMIX_SUCCESS;
  if (known.size() == kMaxTargets) return PMIX_ERR_BAD_PARAM;
  *known.Add() = name;
  return PMIX_SUCCESS;
}

// One, or an array of some. What apps say is about the job as well, and all of it holds.
pmix_status_t read_targets(const pmix_value_t& value, wire::JobSpec& job) {
  if (value.type == PMIX_STRING) return add_target(value.data.string, *job.mutable_targets());
  if (value.type != PMIX_DATA_ARRAY || value.data.darray == nullptr) return PMIX_ERR_BAD_PARAM;
  const pmix_data_array_t& array = *value.data.darray;
  if (array.type != PMIX_STRING || array.array == nullptr || array.size == 0) {
    return PMIX_ERR_BAD_PARAM;
  }
  const auto* names = static_cast<const char* const*>(array.array);
  for (std::size_t index = 0; index < array.size; ++index) {
    const pmix_status_t status = add_target(names[index], *job.mutable_targets());
    if (status != PMIX_SUCCESS) return status;
  }
  return PMIX_SUCCESS;
}

pmix_status_t read_scheduler_key(const pmix_value_t& value, wire::Spawn& spawn) {
  const auto key = text_in(value);
  if (!key || key->empty()) return PMIX_ERR_BAD_PARAM;
  spawn.set_scheduler_key(*key);
  return PMIX_SUCCESS;
}

std::optional<pmix_status_t> read_of_job(const pmix_info_t& info, wire::ServiceRequest& request) {
  const std::string_view key = key_of(info);
  wire::Spawn& spawn = *request.mutable_spawn();
  if (const auto status = read_flag_of_job(info, spawn)) return status;
  if (const auto status = read_of_daemons(info, *spawn.mutable_job())) return status;
  if (const auto status = read_of_failures(info, *spawn.mutable_job())) return status;
  if (const auto stop = stop_of(key)) return read_stop(info.value, *stop, *spawn.mutable_job());
  if (key == PMIX_ADD_HOST || key == PMIX_ADD_HOSTFILE) {
    return read_added_hosts(info, *spawn.mutable_job());
  }
  if (key == spawn_target_key()) return read_targets(info.value, *spawn.mutable_job());
  if (key == TIDE_SCHEDULER_KEY) return read_scheduler_key(info.value, spawn);
  if (key == PMIX_MAPBY) return read_map_by(info.value, *spawn.mutable_job());
  if (key == PMIX_STDIN_TGT) return read_stdin_target(info.value, *spawn.mutable_job());
  if (key == PMIX_PERSONALITY) {  // all programs are started the same way
    return info.value.type == PMIX_STRING ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
  }
  const bool of_spawn = key == PMIX_TIMEOUT || key == PMIX_SPAWN_TIMEOUT;
  if (!of_spawn && key != PMIX_JOB_TIMEOUT) return std::nullopt;
  std::uint32_t timeout_ms = 0;
  const pmix_status_t status = read_timeout_ms(info.value, timeout_ms);
  of_spawn ? request.set_timeout_ms(timeout_ms) : spawn.mutable_job()->set_timeout_ms(timeout_ms);
  return status;
}

pmix_status_t read_other(const pmix_info_t& info) {
  const std::string_view key = key_of(info);
  if (is_among(key, kRefused)) {
    const bool off = info.value.type == PMIX_BOOL && !info.value.data.flag;
    return off ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED;
  }
  return is_required(info) && !is_among(key, kTrue) ? PMIX_ERR_NOT_SUPPORTED : PMIX_SUCCESS;
}

pmix_status_t add_environment(char* const* environment, wire::AppSpec& app) {
  for (char* const* entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t sign = text.find('=');
    if (sign == 0 || sign == std::string_view::npos) return PMIX_ERR_BAD_PARAM;
    auto* directive = app.add_environment();
    directive->set_name(std::string(text.substr(0, sign)));
    directive->set_value(std::string(text.substr(sign + 1)));
  }
  return PMIX_SUCCESS;
}

// What is started is `cmd`, whatever the program is told that it is called.
pmix_status_t add_command(const pmix_app_t& in, wire::AppSpec& app) {
  for (char** argument = in.argv; argument != nullptr && *argument != nullptr; ++argument) {
    app.add_argv(*argument);
  }
  if (in.cmd != nullptr) {
    if (app.argv().empty()) app.add_argv();
    app.set_argv(0, in.cmd);
  }
  const bool usable = !app.argv().empty() && !app.argv(0).empty();
  return usable ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
}

pmix_status_t read_app(const pmix_app_t& in, wire::AppSpec& app) {
  if (in.maxprocs < 0 || static_cast<std::uint32_t>(in.maxprocs) > kMaxProcessesPerJob) {
    return PMIX_ERR_BAD_PARAM;
  }
  app.set_processes(static_cast<std::uint32_t>(in.maxprocs));
  if (in.cwd != nullptr) app.set_working_directory(in.cwd);
  const pmix_status_t status = add_command(in, app);
  return status == PMIX_SUCCESS ? add_environment(in.env, app) : status;
}

// Directives of one app, and of the job wherever they are given.
pmix_status_t read_app_info(const pmix_app_t& in, wire::AppSpec& app,
                            wire::ServiceRequest& request) {
  for (std::size_t index = 0; index < in.ninfo && in.info != nullptr; ++index) {
    const pmix_info_t& info = in.info[index];
    auto status = read_of_app(info, app);
    if (!status) status = read_of_job(info, request);
    if (!status) status = read_other(info);
    if (*status != PMIX_SUCCESS) return *status;
  }
  return PMIX_SUCCESS;
}

// For all apps, unless one has a word of its own.
pmix_status_t read_job_info(const pmix_info_t& info, wire::ServiceRequest& request) {
  bool of_app = false;
  for (auto& app : *request.mutable_spawn()->mutable_job()->mutable_apps()) {
    const auto status = read_of_app(info, app);
    if (status.value_or(PMIX_SUCCESS) != PMIX_SUCCESS) return *status;
    of_app = status.has_value();
  }
  return of_app ? PMIX_SUCCESS : read_of_job(info, request).value_or(read_other(info));
}

}  // namespace

pmix_status_t read_spawn(const pmix_info_t* info, std::size_t info_count, const pmix_app_t* apps,
                         std::size_t app_count, wire::ServiceRequest& request) {
  wire::JobSpec& job = *request.mutable_spawn()->mutable_job();
  if (apps == nullptr || app_count == 0 || app_count > kMaxApps) return PMIX_ERR_BAD_PARAM;
  if (info == nullptr && info_count > 0) return PMIX_ERR_BAD_PARAM;
  job.set_stdin_rank(-1);
  for (std::size_t index = 0; index < app_count; ++index) {
    const pmix_status_t status = read_app(apps[index], *job.add_apps());
    if (status != PMIX_SUCCESS) return status;
  }
  for (std::size_t index = 0; index < info_count; ++index) {
    const pmix_status_t status = read_job_info(info[index], request);
    if (status != PMIX_SUCCESS) return status;
  }
  for (int index = 0; index < job.apps_size(); ++index) {
    const pmix_status_t status = read_app_info(apps[index], *job.mutable_apps(index), request);
    if (status != PMIX_SUCCESS) return status;
  }
  // Daemons belong to a job, and what belongs to one is a daemon.
  return job.beside().empty() == (job.per_node() == 0) ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
}

}  // namespace tide::pmix
