#include "pmix/upcalls_tools.hpp"

#include <pmix_common.h>

#include <optional>
#include <string>

#include "pmix/bridge.hpp"
#include "pmix/convert.hpp"
#include "pmix/values.hpp"

namespace tide::pmix {
namespace {

struct Introduction {
  std::optional<ProcName> wish;
  ToolCard card;
};

Introduction read_introduction(const pmix_info_t* info, std::size_t count) {
  Introduction read;
  // What does not say whose it is, is nobody's that we know.
  read.card.user = static_cast<uid_t>(-1);
  std::optional<std::string> nspace;
  std::optional<std::int64_t> rank;
  for (std::size_t index = 0; index < count; ++index) {
    const std::string_view key = key_of(info[index]);
    const pmix_value_t& value = info[index].value;
    if (key == PMIX_NSPACE) nspace = text_in(value);
    if (key == PMIX_RANK) rank = integer_in(value);
    if (key == PMIX_USERID) read.card.user = static_cast<uid_t>(integer_in(value).value_or(-1));
    if (key == PMIX_GRPID) read.card.group = static_cast<gid_t>(integer_in(value).value_or(-1));
  }
  if (!nspace || nspace->empty()) return read;
  pmix_proc_t wish{};
  if (is_nspace(*nspace)) nspace->copy(wish.nspace, PMIX_MAX_NSLEN);
  wish.rank = static_cast<pmix_rank_t>(rank.value_or(0));
  // A name that can't be is one that can't be given either.
  read.wish = from_pmix(wish).value_or(ProcName{*nspace, kAllRanks});
  return read;
}

}  // namespace

// The handler hears of the tool before it hears from it: what it asks for comes on this thread too.
void tool_connected(pmix_info_t* info, size_t info_count, pmix_tool_connection_cbfunc_t done,
                    void* done_data) {
  const auto bridge = Bridge::current();
  if (!bridge) return;
  const Introduction introduction = read_introduction(info, info_count);
  const ProcName name = bridge->door().admit(introduction.wish, introduction.card);
  pmix_proc_t proc = to_pmix(name);
  done(PMIX_SUCCESS, &proc, done_data);
  bridge->post([name](Handler& handler) { handler.on_tool(name, 0); });
}

}  // namespace tide::pmix
