#include "pmix/upcalls_data.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pmix/asking.hpp"
#include "pmix/convert.hpp"
#include "pmix/packing.hpp"
#include "pmix/reading.hpp"
#include "pmix/values.hpp"

namespace tide::pmix {
namespace {

// What the standard means where nothing is said.
constexpr wire::Range kDefaultRange = wire::RANGE_SESSION;
constexpr wire::Persistence kDefaultPersistence = wire::PERSIST_APP;

pmix_status_t read_persistence(const pmix_value_t& value, wire::Persistence& persistence) {
  const auto number = value.type == PMIX_PERSIST ? value.data.persist : integer_in(value);
  if (!number || *number < 0 || *number > wire::Persistence_MAX) return PMIX_ERR_BAD_PARAM;
  persistence = static_cast<wire::Persistence>(*number);
  return PMIX_SUCCESS;
}

// The numbers of users or groups.
pmix_status_t read_ids(const pmix_value_t& value, google::protobuf::RepeatedField<uint32_t>& ids) {
  const pmix_data_array_t* array = value.type == PMIX_DATA_ARRAY ? value.data.darray : nullptr;
  if (array == nullptr || array->type != PMIX_UINT32) return PMIX_ERR_BAD_PARAM;
  if (array->array == nullptr || array->size == 0) return PMIX_ERR_BAD_PARAM;
  const auto* numbers = static_cast<const std::uint32_t*>(array->array);
  ids.Add(numbers, numbers + array->size);
  return PMIX_SUCCESS;
}

// Who may read it; nothing if the entry is something else.
std::optional<pmix_status_t> read_access(const pmix_info_t& info, wire::Publish& publish) {
  const std::string_view key = key_of(info);
  if (key == PMIX_ACCESS_USERIDS) return read_ids(info.value, *publish.mutable_users());
  if (key == PMIX_ACCESS_GRPIDS) return read_ids(info.value, *publish.mutable_groups());
  if (key != PMIX_ACCESS_PERMISSIONS) return std::nullopt;
  const pmix_data_array_t* array =
      info.value.type == PMIX_DATA_ARRAY ? info.value.data.darray : nullptr;
  if (array == nullptr || array->type != PMIX_INFO) return PMIX_ERR_BAD_PARAM;
  const auto* entries = static_cast<const pmix_info_t*>(array->array);
  for (std::size_t index = 0; index < array->size && entries != nullptr; ++index) {
    if (key_of(entries[index]) == PMIX_ACCESS_PERMISSIONS) return PMIX_ERR_BAD_PARAM;
    const auto status = read_access(entries[index], publish).value_or(PMIX_ERR_NOT_SUPPORTED);
    if (status != PMIX_SUCCESS) return status;
  }
  return PMIX_SUCCESS;
}

// What all three have in common; nothing if the entry is something else. Who asks is known without
// what libpmix adds about it.
template <class Body>
std::optional<pmix_status_t> read_common(const pmix_info_t& info, wire::ServiceRequest& request,
                                         Body& body) {
  const std::string_view key = key_of(info);
  if (key == PMIX_RANGE) {
    wire::Range range = wire::RANGE_UNDEFINED;
    const pmix_status_t status = read_range(info.value, range);
    body.set_range(range);
    return status;
  }
  if (key == PMIX_TIMEOUT) {
    std::uint32_t timeout_ms = 0;
    const pmix_status_t status = read_timeout_ms(info.value, timeout_ms);
    request.set_timeout_ms(timeout_ms);
    return status;
  }
  if (key == PMIX_USERID || key == PMIX_GRPID) return PMIX_SUCCESS;
  return std::nullopt;
}

// Those whom a custom range names.
pmix_status_t read_audience(const pmix_value_t& value, wire::Publish& publish) {
  auto names = procs_in(value);
  if (!names || names->names().empty()) return PMIX_ERR_BAD_PARAM;
  *publish.mutable_audience() = std::move(*names);
  return PMIX_SUCCESS;
}

pmix_status_t add_datum(const ProcName& who, const pmix_info_t& info, wire::Publish& publish) {
  auto value = pack_value(info.value);
  if (!value) return PMIX_ERR_UNKNOWN_DATA_TYPE;
  if (key_of(info).empty()) return PMIX_ERR_BAD_PARAM;
  auto* datum = publish.add_data();
  datum->set_key(std::string(key_of(info)));
  datum->set_value(std::move(*value));
  *datum->mutable_publisher() = to_wire(who);
  return PMIX_SUCCESS;
}

// What is no directive is data.
pmix_status_t read_published(const ProcName& who, const pmix_info_t& info,
                             wire::ServiceRequest& request) {
  wire::Publish& publish = *request.mutable_publish();
  if (const auto common = read_common(info, request, publish)) return *common;
  if (const auto access = read_access(info, publish)) return *access;
  if (key_of(info) == PMIX_EVENT_CUSTOM_RANGE) return read_audience(info.value, publish);
  if (key_of(info) != PMIX_PERSISTENCE) return add_datum(who, info, publish);
  wire::Persistence persistence = kDefaultPersistence;
  const pmix_status_t status = read_persistence(info.value, persistence);
  publish.set_persistence(persistence);
  return status;
}

pmix_status_t check_published(wire::Publish& publish) {
  if (publish.range() == wire::RANGE_UNDEFINED) publish.set_range(kDefaultRange);
  const bool custom = publish.range() == wire::RANGE_CUSTOM;
  if (publish.data().empty() || custom != publish.has_audience()) return PMIX_ERR_BAD_PARAM;
  std::set<std::string_view> keys;
  for (const auto& datum : publish.data()) keys.insert(datum.key());
  return keys.size() == static_cast<std::size_t>(publish.data_size()) ? PMIX_SUCCESS
                                                                      : PMIX_ERR_DUPLICATE_KEY;
}

// Refuses only what is required: what is wanted is found with or without it.
pmix_status_t unknown(const pmix_info_t& info) {
  return is_required(info) ? PMIX_ERR_NOT_SUPPORTED : PMIX_SUCCESS;
}

// How many of the keys must be there before there is an answer. A flag, which Open MPI has, and 0
// mean all.
pmix_status_t read_wait(const pmix_value_t& value, wire::Lookup& lookup) {
  const int keys = lookup.keys_size();
  std::optional<std::int64_t> number = integer_in(value);
  if (const auto flag = flag_in(value)) number = *flag ? keys : -1;
  if (!number || *number < -1) return PMIX_ERR_BAD_PARAM;
  if (*number < 0) return PMIX_SUCCESS;
  const std::int64_t wanted = *number == 0 ? keys : std::min<std::int64_t>(*number, keys);
  lookup.set_wait_for(static_cast<std::uint32_t>(wanted));
  return PMIX_SUCCESS;
}

pmix_status_t read_wanted(const pmix_info_t& info, wire::ServiceRequest& request) {
  wire::Lookup& lookup = *request.mutable_lookup();
  if (const auto common = read_common(info, request, lookup)) return *common;
  return key_of(info) == PMIX_WAIT ? read_wait(info.value, lookup) : unknown(info);
}

// False if one is longer than any that was published.
bool read_keys(char** keys, google::protobuf::RepeatedPtrField<std::string>& out) {
  for (char** key = keys; key != nullptr && *key != nullptr; ++key) {
    const std::string_view text(*key);
    if (text.empty() || text.size() > PMIX_MAX_KEYLEN) return false;
    out.Add(std::string(text));
  }
  return true;
}

// libpmix copies what it is given before it returns.
void give(const wire::Found& found, pmix_lookup_cbfunc_t done, void* done_data) {
  std::vector<pmix_pdata_t> data(static_cast<std::size_t>(found.data_size()));
  pmix_status_t status = data.empty() ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS;
  for (std::size_t index = 0; index < data.size(); ++index) {
    const auto& datum = found.data(static_cast<int>(index));
    const ProcName publisher = from_wire(datum.publisher());
    if (!is_nspace(publisher.nspace) || datum.key().size() > PMIX_MAX_KEYLEN ||
        !unpack_value(datum.value(), data[index].value)) {
      status = PMIX_ERR_UNPACK_FAILURE;
      break;
    }
    data[index].proc = to_pmix(publisher);
    datum.key().copy(data[index].key, PMIX_MAX_KEYLEN);
  }
  const bool good = status == PMIX_SUCCESS;
  done(status, good ? data.data() : nullptr, good ? data.size() : 0, done_data);
  for (auto& datum : data) release(datum.value);
}

}  // namespace

pmix_status_t data_published(const pmix_proc_t* proc, const pmix_info_t info[], size_t info_count,
                             pmix_op_cbfunc_t done, void* done_data) {
  const auto who = from_pmix(*proc);
  if (!who) return PMIX_ERR_BAD_PARAM;
  wire::ServiceRequest request;
  request.mutable_publish()->set_persistence(kDefaultPersistence);
  for (std::size_t index = 0; index < info_count; ++index) {
    const pmix_status_t status = read_published(*who, info[index], request);
    if (status != PMIX_SUCCESS) return status;
  }
  const pmix_status_t status = check_published(*request.mutable_publish());
  if (status != PMIX_SUCCESS) return status;
  return ask(*who, std::move(request), {},
             [done, done_data](pmix_status_t result, const wire::ServiceAnswer&) {
               done(result == PMIX_ERR_EXISTS ? PMIX_ERR_DUPLICATE_KEY : result, done_data);
             });
}

pmix_status_t data_wanted(const pmix_proc_t* proc, char** keys, const pmix_info_t info[],
                          size_t info_count, pmix_lookup_cbfunc_t done, void* done_data) {
  const auto who = from_pmix(*proc);
  wire::ServiceRequest request;
  wire::Lookup& lookup = *request.mutable_lookup();
  if (!who || !read_keys(keys, *lookup.mutable_keys()) || lookup.keys().empty()) {
    return PMIX_ERR_BAD_PARAM;
  }
  for (std::size_t index = 0; index < info_count; ++index) {
    const pmix_status_t status = read_wanted(info[index], request);
    if (status != PMIX_SUCCESS) return status;
  }
  return ask(*who, std::move(request), {},
             [done, done_data](pmix_status_t result, const wire::ServiceAnswer& answer) {
               // Partial success would keep the client from what was found.
               if (result == PMIX_SUCCESS) return give(answer.found(), done, done_data);
               done(result, nullptr, 0, done_data);
             });
}

pmix_status_t data_unpublished(const pmix_proc_t* proc, char** keys, const pmix_info_t info[],
                               size_t info_count, pmix_op_cbfunc_t done, void* done_data) {
  const auto who = from_pmix(*proc);
  wire::ServiceRequest request;
  wire::Unpublish& unpublish = *request.mutable_unpublish();
  if (!who || !read_keys(keys, *unpublish.mutable_keys())) return PMIX_ERR_BAD_PARAM;
  for (std::size_t index = 0; index < info_count; ++index) {
    const pmix_status_t status =
        read_common(info[index], request, unpublish).value_or(unknown(info[index]));
    if (status != PMIX_SUCCESS) return status;
  }
  return ask(*who, std::move(request), {}, status_to(done, done_data));
}

}  // namespace tide::pmix
