#include "pmix/upcalls.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pmix/bridge.hpp"
#include "pmix/convert.hpp"
#include "pmix/library_text.hpp"
#include "pmix/reading.hpp"
#include "pmix/upcalls_allocation.hpp"
#include "pmix/upcalls_collective.hpp"
#include "pmix/upcalls_data.hpp"
#include "pmix/upcalls_events.hpp"
#include "pmix/upcalls_spawn.hpp"
#include "pmix/upcalls_tools.hpp"

namespace tide::pmix {
namespace {

constexpr pmix_status_t kStopping = PMIX_ERR_UNREACH;

// For what is only told. Nobody waits for us, so libpmix goes on at once.
pmix_status_t tell(const std::optional<ProcName>& proc, void (Handler::*what)(const ProcName&)) {
  const auto bridge = Bridge::current();
  if (!bridge) return kStopping;
  if (!proc) return PMIX_ERR_BAD_PARAM;
  bridge->post([name = *proc, what](Handler& handler) { (handler.*what)(name); });
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t client_connected(const pmix_proc_t* proc, void* /*server_object*/,
                               pmix_info_t /*info*/[], size_t /*info_count*/,
                               pmix_op_cbfunc_t /*done: 4.2.2 has none*/, void* /*done_data*/) {
  const auto name = from_pmix(*proc);
  if (const auto bridge = Bridge::current(); bridge && name) {
    bridge->local_waiters().connected(*name);
    bridge->local_counts().connected(*name);
  }
  return tell(name, &Handler::on_client_connected);
}

pmix_status_t client_finalized(const pmix_proc_t* proc, void* /*server_object*/,
                               pmix_op_cbfunc_t /*done*/, void* /*done_data*/) {
  const auto name = from_pmix(*proc);
  if (const auto bridge = Bridge::current(); bridge && name) {
    bridge->local_waiters().finalized(*name);
  }
  return tell(name, &Handler::on_client_finalized);
}

pmix_status_t abort_asked(const pmix_proc_t* proc, void* /*server_object*/, int status,
                          const char message[], pmix_proc_t procs[], size_t proc_count,
                          pmix_op_cbfunc_t done, void* done_data) {
  const auto bridge = Bridge::current();
  if (!bridge) return kStopping;
  auto who = from_pmix(*proc);
  auto whom = names_of(procs, proc_count);
  if (!who || !whom) return PMIX_ERR_BAD_PARAM;
  const auto ticket = bridge->open_ticket({Waiter::Operation{done, done_data}, {who->nspace}});
  if (!ticket) return kStopping;
  bridge->post([who = std::move(*who), status, text = std::string(message ? message : ""),
                whom = std::move(*whom), ticket = *ticket](Handler& handler) {
    handler.on_abort(who, status, text, whom, ticket);
  });
  return PMIX_SUCCESS;
}

// Always taken, and what is wrong with it answered: when the last local participant is lost instead
// of entering, libpmix forgets those that wait if this returns an error. The data is ours from the
// call on, whatever we return; the other arrays stay libpmix's.
pmix_status_t fence_entered(const pmix_proc_t procs[], size_t proc_count, const pmix_info_t info[],
                            size_t info_count, char* data, size_t size, pmix_modex_cbfunc_t done,
                            void* done_data) {
  const LibraryText owned(data);
  const auto bridge = Bridge::current();
  if (!bridge) return kStopping;
  auto names = names_of(procs, proc_count);
  Directives directives;
  pmix_status_t status = read_directives(info, info_count, directives);
  if (!names) status = PMIX_ERR_BAD_PARAM;
  const auto participants = names.value_or(std::vector<ProcName>());
  const auto ticket = bridge->open_ticket({Waiter::Modex{done, done_data}, nspaces_of(participants),
                                           bridge->local_waiters().enter(participants)});
  if (!ticket) return kStopping;
  if (status != PMIX_SUCCESS) {
    bridge->post(
        [bridge, ticket = *ticket, status](Handler&) { bridge->answer(ticket, status, {}); });
    return PMIX_SUCCESS;
  }
  bridge->post([names = std::move(*names), bytes = size > 0 ? std::string(data, size) : "",
                directives, ticket = *ticket](Handler& handler) {
    handler.on_fence(names, bytes, directives.collect, directives.timeout_s, directives.broken,
                     ticket);
  });
  return PMIX_SUCCESS;
}

pmix_status_t modex_wanted(const pmix_proc_t* proc, const pmix_info_t info[], size_t info_count,
                           pmix_modex_cbfunc_t done, void* done_data) {
  const auto bridge = Bridge::current();
  if (!bridge) return kStopping;
  auto whose = from_pmix(*proc);
  if (!whose) return PMIX_ERR_BAD_PARAM;
  Directives directives;
  const pmix_status_t status = read_directives(info, info_count, directives);
  if (status != PMIX_SUCCESS) return status;
  const auto ticket = bridge->open_ticket({Waiter::Modex{done, done_data}, {whose->nspace}});
  if (!ticket) return kStopping;
  bridge->post([whose = std::move(*whose), directives, ticket = *ticket](Handler& handler) {
    handler.on_modex(whose, directives.timeout_s, ticket);
  });
  return PMIX_SUCCESS;
}

}  // namespace

pmix_server_module_t& server_module() {
  static pmix_server_module_t module = [] {
    // By name, one by one: later releases have more members, in other places.
    pmix_server_module_t made{};
    made.client_connected2 = client_connected;
    made.client_finalized = client_finalized;
    made.abort = abort_asked;
    made.fence_nb = fence_entered;
    made.direct_modex = modex_wanted;
    made.connect = connect_entered;
    made.disconnect = disconnect_entered;
    made.group = group_entered;
    made.publish = data_published;
    made.lookup = data_wanted;
    made.unpublish = data_unpublished;
    made.spawn = spawn_asked;
    made.register_events = events_registered;
    made.deregister_events = events_deregistered;
    made.notify_event = event_notified;
    made.tool_connected = tool_connected;
    made.query = query_asked;
    made.allocate = allocation_asked;
    made.job_control = control_asked;
    made.log = log_asked;
    made.iof_pull = output_pulled;
    made.push_stdin = input_pushed;
    return made;
  }();
  return module;
}

// Losses at the same moment are one event: the first is its source, the others are among what it
// comes with, a rank as often as it had connections.
void connection_lost(size_t /*handler*/, pmix_status_t /*status*/, const pmix_proc_t* source,
                     pmix_info_t info[], size_t info_count, pmix_info_t* /*results*/,
                     size_t /*result_count*/, pmix_event_notification_cbfunc_fn_t done,
                     void* done_data) {
  std::vector<ProcName> lost;
  const auto add = [&lost](const pmix_proc_t* proc) {
    if (auto name = proc != nullptr ? from_pmix(*proc) : std::nullopt) lost.push_back(*name);
  };
  add(source);
  for (size_t index = 0; index < info_count; ++index) {
    const bool named = std::string_view(info[index].key) == PMIX_PROCID;
    if (named && info[index].value.type == PMIX_PROC) add(info[index].value.data.proc);
  }
  for (const ProcName& name : lost) {
    if (const auto bridge = Bridge::current()) {
      const bool another_goes_on = bridge->local_waiters().lost(name);
      bridge->local_counts().lost(name, another_goes_on);
    }
    tell(name, &Handler::on_client_lost);
  }
  if (done != nullptr) {
    done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, done_data);
  }
}

void operation_done(pmix_status_t status, void* number) {
  if (const auto bridge = Bridge::current()) bridge->operation_done(number, status, {});
}

void registration_done(pmix_status_t status, size_t /*handler*/, void* number) {
  operation_done(status, number);
}

void fetch_done(pmix_status_t status, char* data, size_t size, void* number) {
  const auto bridge = Bridge::current();
  if (bridge) bridge->operation_done(number, status, size > 0 ? std::string(data, size) : "");
}

}  // namespace tide::pmix
