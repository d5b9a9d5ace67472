#include "pmix/packing.hpp"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "pmix/scalars.hpp"
#include "wire/services.pb.h"

namespace tide::pmix {
namespace {

constexpr int kMaxDepth = 12;  // arrays inside of arrays; protobuf refuses more than 33
constexpr std::size_t kMaxMemory = 64U << 20U;  // of one value or array, when it is unpacked
// What an entry says about itself; the other flags are about the array that it is in.
constexpr pmix_info_directives_t kLasting = PMIX_INFO_REQD | PMIX_INFO_QUALIFIER;

// A value's data, or the element of an array: both are at some address, as the type says.
const void* data_of(const pmix_value_t& value) {
  return is_held_by_pointer(value.type) ? value.data.ptr : &value.data;
}

bool pack(const pmix_value_t& value, wire::Value& out, int depth);

bool pack(const pmix_info_t& info, wire::InfoEntry& out, int depth) {
  out.set_key(info.key, strnlen(info.key, sizeof info.key));
  out.set_flags(info.flags & kLasting);
  return pack(info.value, *out.mutable_value(), depth);
}

void set_text(std::string* out, const char* text) {
  if (text != nullptr) *out = text;
}

void pack(const pmix_proc_t& proc, wire::ProcName& out) {
  out.set_nspace(proc.nspace, strnlen(proc.nspace, sizeof proc.nspace));
  out.set_rank(proc.rank);
}

void pack(const pmix_proc_info_t& info, wire::ProcInfoValue& out) {
  pack(info.proc, *out.mutable_name());
  set_text(out.mutable_host(), info.hostname);
  set_text(out.mutable_executable(), info.executable_name);
  out.set_pid(info.pid);
  out.set_exit_code(info.exit_code);
  out.set_state(info.state);
}

void pack(const pmix_envar_t& variable, wire::EnvironmentValue& out) {
  set_text(out.mutable_name(), variable.envar);
  set_text(out.mutable_value(), variable.value);
  out.set_separator(static_cast<unsigned char>(variable.separator));
}

void pack(const pmix_byte_object_t& object, wire::Value& out) {
  out.set_text(object.bytes != nullptr ? std::string(object.bytes, object.size) : std::string());
}

bool pack_at(pmix_data_type_t type, const void* data, wire::Value& out, int depth);

bool pack(const pmix_data_array_t& array, wire::ArrayValue& out, int depth) {
  const std::size_t size = element_size(array.type);
  out.set_type(array.type);
  if (array.size == 0) return true;
  if (size == 0 || depth >= kMaxDepth || array.array == nullptr) return false;
  const char* element = static_cast<const char*>(array.array);
  for (std::size_t index = 0; index < array.size; ++index, element += size) {
    const bool packed =
        array.type == PMIX_INFO
            ? pack(*reinterpret_cast<const pmix_info_t*>(element), *out.add_entries(), depth + 1)
            : pack_at(array.type, element, *out.add_elements(), depth + 1);
    if (!packed) return false;
  }
  return true;
}

// Without the type.
bool pack_at(pmix_data_type_t type, const void* data, wire::Value& out, int depth) {
  if (data == nullptr) return false;
  if (pack_scalar(type, data, out)) return true;
  switch (type) {
    case PMIX_UNDEF:
      return true;
    case PMIX_STRING:
      if (const char* text = *static_cast<char* const*>(data)) out.set_text(text);
      return true;
    case PMIX_PROC_NSPACE:
      out.set_text(static_cast<const char*>(data),
                   strnlen(static_cast<const char*>(data), sizeof(pmix_nspace_t)));
      return true;
    case PMIX_BYTE_OBJECT:
    case PMIX_COMPRESSED_BYTE_OBJECT:
    case PMIX_COMPRESSED_STRING:
    case PMIX_REGEX:
      pack(*static_cast<const pmix_byte_object_t*>(data), out);
      return true;
    case PMIX_PROC:
      pack(*static_cast<const pmix_proc_t*>(data), *out.mutable_proc());
      return true;
    case PMIX_ENVAR:
      pack(*static_cast<const pmix_envar_t*>(data), *out.mutable_variable());
      return true;
    case PMIX_PROC_INFO:
      pack(*static_cast<const pmix_proc_info_t*>(data), *out.mutable_process());
      return true;
    case PMIX_DATA_ARRAY:
      return pack(*static_cast<const pmix_data_array_t*>(data), *out.mutable_array(), depth);
    default:
      return false;
  }
}

bool pack(const pmix_value_t& value, wire::Value& out, int depth) {
  out.set_type(value.type);
  return pack_at(value.type, data_of(value), out, depth);
}

// ---- and back ----
// What libpmix releases later is allocated as it does itself, with malloc().

class Unpacker {
 public:
  bool value(const wire::Value& in, pmix_value_t& out, int depth);
  bool info(const wire::InfoEntry& in, pmix_info_t& out, int depth);

 private:
  // Zeroed. Null when this has had enough.
  void* allocate(std::size_t count, std::size_t size) {
    if (count > kMaxMemory / size || count * size > kMaxMemory - used_) return nullptr;
    used_ += count * size;
    return std::calloc(count, size);  // NOLINT(*-no-malloc)
  }
  bool text(std::string_view in, char*& out) {
    out = static_cast<char*>(allocate(in.size() + 1, 1));
    if (out != nullptr) in.copy(out, in.size());
    return out != nullptr;
  }
  bool bytes(const std::string& in, pmix_byte_object_t& out) {
    if (in.empty()) return true;  // libpmix would not release it
    if (!text(in, out.bytes)) return false;
    out.size = in.size();
    return true;
  }
  static bool name(std::string_view in, pmix_nspace_t out) {
    if (in.size() > PMIX_MAX_NSLEN) return false;
    in.copy(out, PMIX_MAX_NSLEN);
    return true;
  }
  static bool proc(const wire::ProcName& in, pmix_proc_t& out) {
    out.rank = in.rank();
    return name(in.nspace(), out.nspace);
  }
  bool variable(const wire::EnvironmentValue& in, pmix_envar_t& out) {
    out.separator = static_cast<char>(in.separator());
    return text(in.name(), out.envar) && text(in.value(), out.value);
  }
  bool process(const wire::ProcInfoValue& in, pmix_proc_info_t& out) {
    out.pid = in.pid();
    out.exit_code = in.exit_code();
    out.state = static_cast<pmix_proc_state_t>(in.state());
    return proc(in.name(), out.proc) && text(in.host(), out.hostname) &&
           text(in.executable(), out.executable_name);
  }
  bool array(const wire::ArrayValue& in, pmix_data_array_t& out, int depth);
  bool at(pmix_data_type_t type, const wire::Value& in, void* data, int depth);

  std::size_t used_ = 0;
};

bool Unpacker::array(const wire::ArrayValue& in, pmix_data_array_t& out, int depth) {
  const auto type = static_cast<pmix_data_type_t>(in.type());
  const std::size_t size = element_size(type);
  const bool of_info = type == PMIX_INFO;
  if (in.type() != type) return false;
  if (of_info ? in.elements_size() > 0 : in.entries_size() > 0) return false;
  const auto count = static_cast<std::size_t>(of_info ? in.entries_size() : in.elements_size());
  out.type = type;
  if (count == 0) return true;
  if (size == 0 || depth >= kMaxDepth) return false;
  auto* element = static_cast<char*>(allocate(count, size));
  if (element == nullptr) return false;
  out.array = element;
  // All of them count from the start, so that what is there is released if one is bad.
  out.size = count;
  for (int index = 0; index < static_cast<int>(count); ++index, element += size) {
    const bool good =
        of_info ? info(in.entries(index), *reinterpret_cast<pmix_info_t*>(element), depth + 1)
                : at(type, in.elements(index), element, depth + 1);
    if (!good) return false;
  }
  if (of_info) static_cast<pmix_info_t*>(out.array)[count - 1].flags |= PMIX_INFO_ARRAY_END;
  return true;
}

// `data` is zero and has the size of the type.
bool Unpacker::at(pmix_data_type_t type, const wire::Value& in, void* data, int depth) {
  if (in.data_case() == wire::Value::DATA_NOT_SET) return true;
  if (is_scalar(type)) return unpack_scalar(type, in, data);
  switch (type) {
    case PMIX_STRING:
      return in.has_text() && text(in.text(), *static_cast<char**>(data));
    case PMIX_PROC_NSPACE:
      return in.has_text() && name(in.text(), static_cast<char*>(data));
    case PMIX_BYTE_OBJECT:
    case PMIX_COMPRESSED_BYTE_OBJECT:
    case PMIX_COMPRESSED_STRING:
    case PMIX_REGEX:
      return in.has_text() && bytes(in.text(), *static_cast<pmix_byte_object_t*>(data));
    case PMIX_PROC:
      return in.has_proc() && proc(in.proc(), *static_cast<pmix_proc_t*>(data));
    case PMIX_ENVAR:
      return in.has_variable() && variable(in.variable(), *static_cast<pmix_envar_t*>(data));
    case PMIX_PROC_INFO:
      return in.has_process() && process(in.process(), *static_cast<pmix_proc_info_t*>(data));
    case PMIX_DATA_ARRAY:
      return in.has_array() && array(in.array(), *static_cast<pmix_data_array_t*>(data), depth);
    default:
      return false;
  }
}

bool Unpacker::value(const wire::Value& in, pmix_value_t& out, int depth) {
  const auto type = static_cast<pmix_data_type_t>(in.type());
  if (in.type() != type) return false;
  if (type != PMIX_UNDEF && element_size(type) == 0) return false;
  if (type == PMIX_INFO) return false;  // is an element of arrays only, and larger than a value
  if (is_held_by_pointer(type)) {
    if (in.data_case() == wire::Value::DATA_NOT_SET) return false;  // libpmix follows the pointer
    out.data.ptr = allocate(1, element_size(type));
    if (out.data.ptr == nullptr) return false;
    out.type = type;
    return at(type, in, out.data.ptr, depth);
  }
  out.type = type;
  return at(type, in, &out.data, depth);
}

bool Unpacker::info(const wire::InfoEntry& in, pmix_info_t& out, int depth) {
  if (in.key().empty() || in.key().size() > PMIX_MAX_KEYLEN ||
      in.key().find('\0') != std::string::npos) {
    return false;
  }
  in.key().copy(out.key, PMIX_MAX_KEYLEN);
  out.flags = in.flags() & kLasting;
  return value(in.value(), out.value, depth);
}

// ---- the end of it ----

void release_at(pmix_data_type_t type, void* data) {
  const auto give_back = [](void* memory) { std::free(memory); };  // NOLINT(*-no-malloc)
  switch (type) {
    case PMIX_STRING:
      give_back(*static_cast<char**>(data));
      break;
    case PMIX_BYTE_OBJECT:
    case PMIX_COMPRESSED_BYTE_OBJECT:
    case PMIX_COMPRESSED_STRING:
    case PMIX_REGEX:
      give_back(static_cast<pmix_byte_object_t*>(data)->bytes);
      break;
    case PMIX_ENVAR:
      give_back(static_cast<pmix_envar_t*>(data)->envar);
      give_back(static_cast<pmix_envar_t*>(data)->value);
      break;
    case PMIX_PROC_INFO:
      give_back(static_cast<pmix_proc_info_t*>(data)->hostname);
      give_back(static_cast<pmix_proc_info_t*>(data)->executable_name);
      break;
    case PMIX_DATA_ARRAY:
      release(*static_cast<pmix_data_array_t*>(data));
      break;
    case PMIX_INFO:
      release(static_cast<pmix_info_t*>(data)->value);
      break;
    default:
      break;
  }
}

}  // namespace

void release(pmix_value_t& value) {
  if (is_held_by_pointer(value.type)) {
    if (value.data.ptr != nullptr) release_at(value.type, value.data.ptr);
    std::free(value.data.ptr);  // NOLINT(*-no-malloc)
  } else {
    release_at(value.type, &value.data);
  }
  value = {};
}

void release(pmix_data_array_t& array) {
  auto* element = static_cast<char*>(array.array);
  for (std::size_t index = 0; element != nullptr && index < array.size; ++index) {
    release_at(array.type, element);
    element += element_size(array.type);
  }
  std::free(array.array);  // NOLINT(*-no-malloc)
  array = {};
}

std::optional<std::string> pack_value(const pmix_value_t& value) {
  wire::Value out;
  if (!pack(value, out, 0)) return std::nullopt;
  return out.SerializeAsString();
}

std::optional<std::string> pack_info(const pmix_info_t* info, std::size_t count) {
  wire::InfoEntries out;
  for (std::size_t index = 0; index < count; ++index) {
    if (!pack(info[index], *out.add_entries(), 0)) return std::nullopt;
  }
  return out.SerializeAsString();
}

bool unpack_value(std::string_view bytes, pmix_value_t& value) {
  wire::Value in;
  value = {};
  if (!in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return false;
  if (Unpacker().value(in, value, 0)) return true;
  release(value);
  return false;
}

bool unpack_info(std::string_view bytes, InfoList& list) {
  wire::InfoEntries in;
  if (!in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return false;
  return unpack_info(in, list);
}

bool unpack_info(const wire::InfoEntries& entries, InfoList& list) {
  const auto count = static_cast<std::size_t>(entries.entries_size());
  if (count > kMaxMemory / sizeof(pmix_info_t)) return false;
  Unpacker unpacker;
  InfoList read;
  for (const auto& entry : entries.entries()) {
    pmix_info_t info{};
    const bool good = unpacker.info(entry, info, 0);
    read.take(info);
    if (!good) return false;
  }
  list.take_all(read);
  return true;
}

}  // namespace tide::pmix
