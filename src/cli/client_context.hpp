// What every command has at hand: its command line, parameters, and how to talk to people and
// to a DVM.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/params.hpp"
#include "base/result.hpp"
#include "base/run_directory.hpp"
#include "cli/command_line.hpp"
#include "net/local_channel.hpp"
#include "wire/client.pb.h"

namespace tide::cli {

// How long a DVM may take to answer a question.
inline constexpr std::uint32_t kAnswerTimeoutMs = 10'000;

struct ClientContext {
  CommandLine line;
  Params params;
  std::string run_base;  // where the DVMs of this user are
  const char* const* environment = nullptr;
};

// Parameters from command line, environment and files. kInvalidArgument names what is wrong.
Result<ClientContext> make_client_context(CommandLine line, const char* const* environment);

// All of `text` to standard output; to standard error, as one line that begins with the program.
void print(std::string_view text);
void complain(const CommandLine& line, std::string_view text);

// Whether something of it was lost already.
bool print_failed();

// What to exit with instead of `status`: a failure, which is told, if something was not printed.
int status_after_print(std::string_view program, int status);

// Says what went wrong (as an error object if --json was given) and returns what to exit with
// where no job has a say; the second for one that found no DVM to talk to.
int fail(const CommandLine& line, const Error& error);
int fail_without_dvm(const CommandLine& line, const Error& error);

// Milliseconds since 1970.
std::uint64_t now_unix_ms();

// Absolute path of a program that is installed beside this one.
Result<std::string> sibling_program(std::string_view name);

struct DvmConnection {
  DvmInfo dvm;
  net::LocalChannel channel;
};

// The DVM that the command line means. kNotFound, kUnavailable: none is there to answer.
Result<DvmConnection> connect_to_dvm(const ClientContext& context);
Result<DvmConnection> connect_to_dvm(const ClientContext& context, const DvmInfo& dvm);

// A job by number or namespace, as people write it.
wire::JobRef job_ref(std::string_view text);

// Sends one request and waits for its answer; an answer that is an error becomes one. News that
// come before it are given to `on_news`, and give the answer its whole time again.
Result<wire::ClientReply> ask(net::LocalChannel& channel, wire::ClientRequest request,
                              std::uint32_t timeout_ms = kAnswerTimeoutMs,
                              const std::function<void(std::string_view)>& on_news = {});

}  // namespace tide::cli
