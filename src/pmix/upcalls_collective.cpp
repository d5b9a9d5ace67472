#include "pmix/upcalls_collective.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pmix/asking.hpp"
#include "pmix/bridge.hpp"
#include "pmix/convert.hpp"
#include "pmix/info_list.hpp"
#include "pmix/packing.hpp"
#include "pmix/reading.hpp"
#include "pmix/values.hpp"

namespace tide::pmix {
namespace {

struct Entered {
  wire::CollectiveId::Kind kind = wire::CollectiveId::CONNECT;
  std::string name;  // of a group
  std::vector<ProcName> participants;
  std::string data;
  Directives directives;
};

// Always taken, and what is wrong with it answered: if one that was lost is the reason why this is
// called, libpmix forgets those that wait when this returns an error.
pmix_status_t pass_on(Entered entered, pmix_status_t status, Waiter::Collective answer) {
  const auto bridge = Bridge::current();
  if (!bridge) return kStopping;
  const auto ticket = bridge->open_ticket({std::move(answer), nspaces_of(entered.participants),
                                           bridge->local_waiters().enter(entered.participants)});
  if (!ticket) return kStopping;
  bridge->post([bridge, entered = std::move(entered), status, ticket = *ticket](Handler& handler) {
    if (status != PMIX_SUCCESS) return bridge->answer(ticket, status, {});
    handler.on_collective(entered.kind, entered.name, entered.participants, entered.data,
                          entered.directives.timeout_s, entered.directives.broken, ticket);
  });
  return PMIX_SUCCESS;
}

// What they all have.
pmix_status_t read_common(const pmix_proc_t* procs, std::size_t proc_count, const pmix_info_t* info,
                          std::size_t info_count, Entered& entered) {
  auto names = procs != nullptr ? names_of(procs, proc_count) : std::nullopt;
  if (!names || names->empty()) return PMIX_ERR_BAD_PARAM;
  entered.participants = std::move(*names);
  return read_directives(info, info_count, entered.directives);
}

pmix_status_t connection(wire::CollectiveId::Kind kind, const pmix_proc_t* procs,
                         std::size_t proc_count, const pmix_info_t* info, std::size_t info_count,
                         pmix_op_cbfunc_t done, void* done_data) {
  Entered entered;
  entered.kind = kind;
  const pmix_status_t status = read_common(procs, proc_count, info, info_count, entered);
  return pass_on(std::move(entered), status,
                 [done, done_data](pmix_status_t result, const std::string&, std::uint64_t) {
                   done(result, done_data);
                 });
}

// ---- groups ----

pmix_status_t read_contribution(const pmix_info_t* info, std::size_t count,
                                wire::GroupContribution& contribution) {
  for (std::size_t index = 0; index < count; ++index) {
    const std::string_view key = key_of(info[index]);
    const pmix_value_t& value = info[index].value;
    if (key == PMIX_GROUP_ASSIGN_CONTEXT_ID) {
      const auto wanted = flag_in(value);
      if (!wanted) return PMIX_ERR_BAD_PARAM;
      if (*wanted) contribution.set_context_wanted(true);
    } else if (key == PMIX_GROUP_ENDPT_DATA) {
      if (value.type != PMIX_BYTE_OBJECT) return PMIX_ERR_BAD_PARAM;
      if (value.data.bo.size == 0 || value.data.bo.bytes == nullptr) continue;
      contribution.add_endpoints(value.data.bo.bytes, value.data.bo.size);
    } else if (key == PMIX_GROUP_ADD_MEMBERS) {
      return PMIX_ERR_NOT_SUPPORTED;  // who is added would have to hear of it
    }
  }
  return PMIX_SUCCESS;
}

wire::Value& add_entry(const char* key, pmix_data_type_t type, wire::InfoEntries& entries) {
  auto* entry = entries.add_entries();
  entry->set_key(key);
  entry->mutable_value()->set_type(type);
  return *entry->mutable_value();
}

// What the members hear. libpmix takes one piece of what all have put, in which it finds what
// several daemons have added.
wire::InfoEntries group_info(const std::vector<ProcName>& members,
                             const wire::GroupContribution& all, std::uint64_t context) {
  wire::InfoEntries entries;
  if (all.context_wanted())
    add_entry(PMIX_GROUP_CONTEXT_ID, PMIX_SIZE, entries).set_number(context);
  auto* array = add_entry(PMIX_GROUP_MEMBERSHIP, PMIX_DATA_ARRAY, entries).mutable_array();
  array->set_type(PMIX_PROC);
  for (const ProcName& member : members) {
    auto* proc = array->add_elements()->mutable_proc();
    proc->set_nspace(member.nspace);
    proc->set_rank(to_pmix(member).rank);
  }
  std::string joined;
  for (const auto& one : all.endpoints()) joined += one;
  if (!joined.empty()) {
    add_entry(PMIX_GROUP_ENDPT_DATA, PMIX_BYTE_OBJECT, entries).set_text(std::move(joined));
  }
  return entries;
}

void release_array(void* array) {
  delete static_cast<InfoArray*>(array);
}

struct GroupWaiter {
  std::vector<ProcName> members;
  pmix_info_cbfunc_t done;
  void* done_data;

  void tell(pmix_status_t status) const { done(status, nullptr, 0, done_data, nullptr, nullptr); }
  void made(const std::string& data, std::uint64_t context) const {
    wire::GroupContribution all;
    if (!all.ParseFromString(data)) return tell(PMIX_ERR_UNPACK_FAILURE);
    InfoList list;
    if (!unpack_info(group_info(members, all, context), list)) {
      return tell(PMIX_ERR_OUT_OF_RESOURCE);
    }
    auto array = list.finish();
    if (!array) return tell(PMIX_ERR_NOMEM);
    // libpmix reads it after this call.
    auto* kept = new InfoArray(std::move(array).value());
    done(PMIX_SUCCESS, kept->data(), kept->size(), done_data, release_array, kept);
  }
};

}  // namespace

pmix_status_t connect_entered(const pmix_proc_t procs[], size_t proc_count,
                              const pmix_info_t info[], size_t info_count, pmix_op_cbfunc_t done,
                              void* done_data) {
  return connection(wire::CollectiveId::CONNECT, procs, proc_count, info, info_count, done,
                    done_data);
}

pmix_status_t disconnect_entered(const pmix_proc_t procs[], size_t proc_count,
                                 const pmix_info_t info[], size_t info_count, pmix_op_cbfunc_t done,
                                 void* done_data) {
  return connection(wire::CollectiveId::DISCONNECT, procs, proc_count, info, info_count, done,
                    done_data);
}

pmix_status_t group_entered(pmix_group_operation_t operation, char* name, const pmix_proc_t procs[],
                            size_t proc_count, const pmix_info_t info[], size_t info_count,
                            pmix_info_cbfunc_t done, void* done_data) {
  const bool made = operation == PMIX_GROUP_CONSTRUCT;
  Entered entered;
  entered.kind = made ? wire::CollectiveId::GROUP_CONSTRUCT : wire::CollectiveId::GROUP_DESTRUCT;
  entered.name = name != nullptr ? name : "";
  pmix_status_t status = read_common(procs, proc_count, info, info_count, entered);
  wire::GroupContribution contribution;
  if (status == PMIX_SUCCESS && made) status = read_contribution(info, info_count, contribution);
  if (!is_nspace(entered.name)) status = PMIX_ERR_BAD_PARAM;
  entered.data = contribution.SerializeAsString();
  const GroupWaiter waiter{entered.participants, done, done_data};
  return pass_on(
      std::move(entered), status,
      [waiter, made](pmix_status_t result, const std::string& data, std::uint64_t context) {
        if (result != PMIX_SUCCESS || !made) return waiter.tell(result);
        waiter.made(data, context);
      });
}

}  // namespace tide::pmix
