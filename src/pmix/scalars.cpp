#include "pmix/scalars.hpp"

#include <sys/time.h>

#include <cstring>
#include <ctime>
#include <limits>
#include <type_traits>

namespace tide::pmix {
namespace {

// Calls `use` with a null pointer of the C type that a scalar has; false for other types.
template <class Use>
bool with_type(pmix_data_type_t type, Use use) {
  switch (type) {
    case PMIX_BOOL:
      return use(static_cast<bool*>(nullptr));
    case PMIX_BYTE:
    case PMIX_UINT8:
    case PMIX_PERSIST:
    case PMIX_SCOPE:
    case PMIX_DATA_RANGE:
    case PMIX_PROC_STATE:
    case PMIX_JOB_STATE:
    case PMIX_LINK_STATE:
    case PMIX_ALLOC_DIRECTIVE:
      return use(static_cast<std::uint8_t*>(nullptr));
    case PMIX_UINT16:
    case PMIX_LOCTYPE:
      return use(static_cast<std::uint16_t*>(nullptr));
    case PMIX_UINT:
    case PMIX_UINT32:
    case PMIX_PROC_RANK:
      return use(static_cast<std::uint32_t*>(nullptr));
    case PMIX_SIZE:
    case PMIX_UINT64:
    case PMIX_DEVTYPE:
      return use(static_cast<std::uint64_t*>(nullptr));
    case PMIX_INT8:
      return use(static_cast<std::int8_t*>(nullptr));
    case PMIX_INT16:
      return use(static_cast<std::int16_t*>(nullptr));
    case PMIX_INT:
    case PMIX_INT32:
    case PMIX_PID:
    case PMIX_STATUS:
      return use(static_cast<std::int32_t*>(nullptr));
    case PMIX_INT64:
    case PMIX_TIME:
      return use(static_cast<std::int64_t*>(nullptr));
    case PMIX_FLOAT:
      return use(static_cast<float*>(nullptr));
    case PMIX_DOUBLE:
      return use(static_cast<double*>(nullptr));
    case PMIX_TIMEVAL:
      return use(static_cast<timeval*>(nullptr));
    default:
      return false;
  }
}

static_assert(sizeof(pmix_rank_t) == 4 && sizeof(pmix_status_t) == 4 && sizeof(pid_t) == 4);
static_assert(sizeof(std::size_t) == 8 && sizeof(time_t) == 8);
static_assert(sizeof(pmix_locality_t) == 2 && sizeof(pmix_device_type_t) == 8);
static_assert(sizeof(pmix_persistence_t) == 1 && sizeof(pmix_scope_t) == 1 &&
              sizeof(pmix_data_range_t) == 1 && sizeof(pmix_proc_state_t) == 1 &&
              sizeof(pmix_job_state_t) == 1 && sizeof(pmix_link_state_t) == 1 &&
              sizeof(pmix_alloc_directive_t) == 1);

template <class T>
void put(T value, wire::Value& out) {
  if constexpr (std::is_floating_point_v<T>) {
    out.set_real(value);
  } else if constexpr (std::is_unsigned_v<T>) {
    out.set_number(value);
  } else {
    out.set_integer(value);
  }
}

void put(const timeval& value, wire::Value& out) {
  out.mutable_time()->set_seconds(value.tv_sec);
  out.mutable_time()->set_microseconds(value.tv_usec);
}

template <class T>
bool get(const wire::Value& in, T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    value = static_cast<T>(in.real());
    return in.has_real();
  } else if constexpr (std::is_unsigned_v<T>) {
    value = static_cast<T>(in.number());
    return in.has_number() && in.number() <= std::numeric_limits<T>::max();
  } else {
    value = static_cast<T>(in.integer());
    return in.has_integer() && in.integer() >= std::numeric_limits<T>::min() &&
           in.integer() <= std::numeric_limits<T>::max();
  }
}

bool get(const wire::Value& in, timeval& value) {
  value.tv_sec = in.time().seconds();
  value.tv_usec = in.time().microseconds();
  return in.has_time();
}

}  // namespace

bool is_scalar(pmix_data_type_t type) {
  return with_type(type, [](auto*) { return true; });
}

bool pack_scalar(pmix_data_type_t type, const void* data, wire::Value& out) {
  return with_type(type, [&]<class T>(T*) {
    T value{};
    std::memcpy(&value, data, sizeof value);
    put(value, out);
    return true;
  });
}

bool unpack_scalar(pmix_data_type_t type, const wire::Value& in, void* data) {
  return with_type(type, [&]<class T>(T*) {
    T value{};
    if (!get(in, value)) return false;
    std::memcpy(data, &value, sizeof value);
    return true;
  });
}

std::size_t element_size(pmix_data_type_t type) {
  std::size_t size = 0;
  with_type(type, [&size]<class T>(T*) {
    size = sizeof(T);
    return true;
  });
  if (size > 0) return size;
  switch (type) {
    case PMIX_STRING:
      return sizeof(char*);
    case PMIX_PROC_NSPACE:
      return sizeof(pmix_nspace_t);
    case PMIX_BYTE_OBJECT:
    case PMIX_COMPRESSED_BYTE_OBJECT:
    case PMIX_COMPRESSED_STRING:
    case PMIX_REGEX:
      return sizeof(pmix_byte_object_t);
    case PMIX_PROC:
      return sizeof(pmix_proc_t);
    case PMIX_ENVAR:
      return sizeof(pmix_envar_t);
    case PMIX_PROC_INFO:
      return sizeof(pmix_proc_info_t);
    case PMIX_DATA_ARRAY:
      return sizeof(pmix_data_array_t);
    case PMIX_INFO:
      return sizeof(pmix_info_t);
    default:
      return 0;
  }
}

bool is_held_by_pointer(pmix_data_type_t type) {
  return type == PMIX_PROC || type == PMIX_PROC_NSPACE || type == PMIX_PROC_INFO ||
         type == PMIX_DATA_ARRAY;
}

}  // namespace tide::pmix
