// Commands that change the size of a DVM.
#include <string>
#include <utility>
#include <vector>

#include "cli/change.hpp"
#include "cli/commands.hpp"
#include "hosts/wire_words.hpp"
#include "say/campaigns.hpp"
#include "say/pool.hpp"
#include "wire/exit_status.hpp"

namespace tide::cli {
namespace {

std::string words_of_grow(const CommandLine& line, const ShownChange& change) {
  if (line.has(Option::kExtend)) return say::lease_extended(change.allocation, change.lease_ms);
  if (change.complete) return say::nothing_to_change(change.nodes);
  std::string text = say::change_begun(false, own_nodes(change), change.allocation, change.already);
  if (change.lease_ms > 0) text += "\n" + say::lease_of_grow(change.lease_ms);
  return text;
}

}  // namespace

int grow_command(const ClientContext& context) {
  AskedChange asked{.kind = "grow", .first_words = [&context](const ShownChange& change) {
                      return words_of_grow(context.line, change);
                    }};
  wire::ClientRequest& request = asked.request;
  request.mutable_grow()->set_count(count_of(context.line));
  for (const hosts::HostWord& word : words_of(context.line)) {
    *request.mutable_grow()->add_hosts() = hosts::to_wire(word);
  }
  request.mutable_grow()->set_time_ms(time_of(context.line, Option::kLeaseTime));
  request.mutable_grow()->set_warn_ms(time_of(context.line, Option::kLeaseWarn));
  if (const GivenOption* given = context.line.find(Option::kExtend)) {
    request.mutable_grow()->set_extend(given->value);
  }
  return change_size(context, std::move(asked));
}

int shrink_command(const ClientContext& context) {
  AskedChange asked{.kind = "shrink", .shrinks = true, .first_words = words_of_shrink};
  wire::ClientRequest& request = asked.request;
  request.mutable_shrink()->set_count(count_of(context.line));
  for (const hosts::HostWord& word : words_of(context.line)) {
    request.mutable_shrink()->add_nodes(word.name);
  }
  if (const GivenOption* given = context.line.find(Option::kAllocation)) {
    request.mutable_shrink()->set_allocation(given->value);
  }
  return change_size(context, std::move(asked));
}

int pool_command(const ClientContext& context) {
  Result<DvmConnection> connection = connect_to_dvm(context);
  if (!connection) return fail_without_dvm(context.line, connection.error());
  wire::ClientRequest request;
  request.mutable_pool()->set_reclaim(context.line.apps.front().argv.front() == "reclaim");
  request.mutable_pool()->set_count(count_of(context.line));
  for (const hosts::HostWord& word : words_of(context.line)) {
    request.mutable_pool()->add_nodes(word.name);
  }
  const bool takes_back = request.pool().reclaim();
  const Result<wire::ClientReply> reply = ask(connection->channel, std::move(request));
  if (reply) {
    const wire::PoolAnswer& answer = reply->pool();
    const std::vector<std::string> nodes(answer.nodes().begin(), answer.nodes().end());
    print((takes_back ? say::pool_takes_back(nodes) : say::pool_gives(nodes, answer.lease_ms())) +
          "\n");
    return kExitSuccess;
  }
  fail(context.line, reply.error());
  const ErrorCode code = reply.error().code;
  const bool unheard = code == ErrorCode::kConnectionLost || code == ErrorCode::kTimedOut;
  return unheard ? kExitUnknown : kExitRefused;
}

}  // namespace tide::cli
