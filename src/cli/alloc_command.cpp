// Allocations of nodes: asked for, extended, given back, and listed.
#include <string>
#include <utility>

#include "cli/alloc_request.hpp"
#include "cli/allocation_text.hpp"
#include "cli/change.hpp"
#include "cli/commands.hpp"
#include "wire/exit_status.hpp"

namespace tide::cli {
namespace {

int list_allocations(const ClientContext& context, DvmConnection& connection) {
  wire::ClientRequest request;
  request.mutable_status();
  const Result<wire::ClientReply> reply = ask(connection.channel, std::move(request));
  if (!reply) return fail(context.line, reply.error());
  const bool json = context.line.has(Option::kJson);
  print(json ? allocations_json(reply->status()) : allocations_text(reply->status()));
  return kExitSuccess;
}

}  // namespace

int alloc_command(const ClientContext& context) {
  const CommandLine& line = context.line;
  Result<DvmConnection> connection = connect_to_dvm(context);
  if (!connection) return fail_without_dvm(line, connection.error());
  const AllocWord word = alloc_word(line).value();  // checked by check_use()
  if (word == AllocWord::kList) return list_allocations(context, *connection);
  AskedChange asked{
      .kind = std::string(alloc_word_name(word)),
      .shrinks = word == AllocWord::kRelease || word == AllocWord::kCancel,
      .first_words = [&line](const ShownChange& change) { return alloc_words(line, change); }};
  *asked.request.mutable_allocation() = make_alloc_request(line, connection->dvm.dvm_id);
  return change_size(context, *connection, std::move(asked));
}

}  // namespace tide::cli
