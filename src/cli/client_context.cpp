#include "cli/client_context.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <climits>

#include "cli/dvm_choice.hpp"
#include "cli/dvm_finder.hpp"
#include "cli/job_request.hpp"
#include "cli/json_text.hpp"
#include "cli/values.hpp"
#include "say/finding.hpp"
#include "say/running.hpp"
#include "wire/exit_status.hpp"

namespace tide::cli {
namespace {

// 0, or why not all of it was written.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

// Why print() lost something; standard output is one for the whole program, and so is this.
int& print_errno() {
  static int first = 0;
  return first;
}

void tell(const CommandLine& line, const Error& error) {
  if (line.has(Option::kJson)) {
    print(error_json(error));
  } else {
    complain(line, error.message);
  }
}

}  // namespace

Result<ClientContext> make_client_context(CommandLine line, const char* const* environment) {
  Result<Params> params =
      Params::load(standard_param_inputs(command_line_params(line), environment));
  if (!params) return params.error();
  std::string run_base = run_base_path(params->get_string("prte_tmpdir_base"));
  return ClientContext{std::move(line), std::move(params).value(), std::move(run_base),
                       environment};
}

void print(std::string_view text) {
  const int errnum = write_all(STDOUT_FILENO, text);
  if (print_errno() == 0) print_errno() = errnum;
}

bool print_failed() {
  return print_errno() != 0;
}

int status_after_print(std::string_view program, int status) {
  if (print_errno() == 0) return status;
  CommandLine line;
  line.program = program;
  complain(line, say::answer_not_written(print_errno()));
  return status == kExitSuccess ? kExitFailure : status;
}

void complain(const CommandLine& line, std::string_view text) {
  std::string whole = line.program + ": " + std::string(text);
  if (!whole.ends_with('\n')) whole += '\n';
  write_all(STDERR_FILENO, whole);
}

int fail(const CommandLine& line, const Error& error) {
  tell(line, error);
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
      return kExitUsage;
    case ErrorCode::kUnavailable:
    case ErrorCode::kConnectionLost:
    case ErrorCode::kConnectionRefused:
      return kExitNoDvm;
    default:
      return kExitFailure;
  }
}

int fail_without_dvm(const CommandLine& line, const Error& error) {
  tell(line, error);
  return error.code == ErrorCode::kInvalidArgument ? kExitUsage : kExitNoDvm;
}

std::uint64_t now_unix_ms() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(since).count());
}

Result<std::string> sibling_program(std::string_view name) {
  std::array<char, PATH_MAX> buffer{};
  const ssize_t size = readlink("/proc/self/exe", buffer.data(), buffer.size());
  if (size < 0) return system_error("finding the place of this program", errno);
  const std::string_view self(buffer.data(), static_cast<std::size_t>(size));
  std::string path = std::string(self.substr(0, self.rfind('/') + 1)) + std::string(name);
  if (access(path.c_str(), X_OK) != 0) return system_error("cannot start " + path, errno);
  return path;
}

Result<DvmConnection> connect_to_dvm(const ClientContext& context) {
  Result<DvmChoice> choice = dvm_choice(context.line);
  if (!choice) return choice.error();
  Result<DvmInfo> dvm = find_dvm(context.run_base, *choice, now_unix_ms());
  if (!dvm) return dvm.error();
  return connect_to_dvm(context, *dvm);
}

Result<DvmConnection> connect_to_dvm(const ClientContext& context, const DvmInfo& dvm) {
  Result<std::string> path = dvm_socket_path(dvm.directory);
  if (!path) return path.error();
  auto channel = net::LocalChannel::connect(*path, kAnswerTimeoutMs, context.line.program);
  if (channel) return DvmConnection{dvm, std::move(channel).value()};
  const Error& error = channel.error();
  if (error.code == ErrorCode::kNotFound || error.code == ErrorCode::kConnectionRefused) {
    return dvm.ready ? say::dvm_does_not_listen(dvm.name, error.message)
                     : say::dvm_still_starting(dvm.name, error.message);
  }
  return say::dvm_unreachable(dvm.name, error);
}

wire::JobRef job_ref(std::string_view text) {
  wire::JobRef ref;
  const Result<JobName> name = parse_job_name(text);
  if (name && name->number != 0) {
    ref.set_number(name->number);
  } else {
    ref.set_nspace(std::string(text));
  }
  return ref;
}

Result<wire::ClientReply> ask(net::LocalChannel& channel, wire::ClientRequest request,
                              std::uint32_t timeout_ms,
                              const std::function<void(std::string_view)>& on_news) {
  using Clock = std::chrono::steady_clock;
  constexpr std::uint32_t kRequest = 1;
  request.set_request(kRequest);
  if (Status status = channel.send(request); !status) return status.error();
  auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    auto incoming = channel.receive(left > 0 ? static_cast<std::uint32_t>(left) : 0);
    if (!incoming) return incoming.error();
    if (!incoming->has_value()) {
      return say::dvm_does_not_answer(timeout_ms / 1000);
    }
    wire::ClientReply& reply = (**incoming).reply;
    if (reply.request() != kRequest) continue;
    if (reply.has_news()) {
      if (on_news) on_news(reply.news().text());
      deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
      continue;
    }
    if (!reply.has_error()) return std::move(reply);
    return Error{static_cast<ErrorCode>(reply.error().code()), reply.error().message()};
  }
}

}  // namespace tide::cli
