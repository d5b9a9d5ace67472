#include "pmix/info_list.hpp"

#include <pmix.h>

#include <cstring>
#include <string_view>

#include "base/check.hpp"
#include "pmix/convert.hpp"
#include "pmix/packing.hpp"

namespace tide::pmix {

InfoArray::~InfoArray() {
  release(array_);
}

InfoList::~InfoList() {
  for (auto& entry : entries_) release(entry.value);
}

void InfoList::failed(const char* key, pmix_status_t status) {
  if (status_ != PMIX_SUCCESS) return;
  status_ = status;
  failed_key_ = key;
}

void InfoList::add(const char* key, const void* value, pmix_data_type_t type) {
  pmix_info_t entry{};
  const pmix_status_t status = PMIx_Info_load(&entry, key, value, type);
  if (status != PMIX_SUCCESS) return failed(key, status);
  entries_.push_back(entry);
}

// The array owns what the values point to from then on. The last entry of an array has a flag that
// says so, and the others keep theirs.
void InfoList::move_to(pmix_info_t* array) {
  for (std::size_t index = 0; index < entries_.size(); ++index) {
    std::memcpy(array[index].key, entries_[index].key, sizeof array[index].key);
    array[index].value = entries_[index].value;
    array[index].flags |= entries_[index].flags & ~pmix_info_directives_t{PMIX_INFO_ARRAY_END};
  }
  entries_.clear();
}

void InfoList::text(const char* key, const std::string& value) {
  add(key, value.c_str(), PMIX_STRING);
}

void InfoList::flag(const char* key, bool value) {
  add(key, &value, PMIX_BOOL);
}

void InfoList::u32(const char* key, std::uint32_t value) {
  add(key, &value, PMIX_UINT32);
}

void InfoList::u16(const char* key, std::uint16_t value) {
  add(key, &value, PMIX_UINT16);
}

void InfoList::rank(const char* key, std::uint32_t value) {
  add(key, &value, PMIX_PROC_RANK);
}

void InfoList::proc(const char* key, const ProcName& value) {
  const pmix_proc_t proc = to_pmix(value);
  add(key, &proc, PMIX_PROC);
}

void InfoList::regex(const char* key, const char* value) {
  add(key, value, PMIX_REGEX);
}

void InfoList::array(const char* key, InfoList& value) {
  if (value.status_ != PMIX_SUCCESS) return failed(value.failed_key_.c_str(), value.status_);
  pmix_data_array_t* made = nullptr;
  const std::size_t count = value.entries_.size();
  PMIX_DATA_ARRAY_CREATE(made, count, PMIX_INFO);
  TIDE_CHECK(made != nullptr && (made->array != nullptr || value.entries_.empty()));
  value.move_to(static_cast<pmix_info_t*>(made->array));
  add_array(key, made);
}

void InfoList::add_array(const char* key, pmix_data_array_t* made) {
  pmix_info_t entry{};
  std::string_view(key).copy(entry.key, PMIX_MAX_KEYLEN);
  entry.value.type = PMIX_DATA_ARRAY;
  entry.value.data.darray = made;
  entries_.push_back(entry);
}

void InfoList::take(const pmix_info_t& entry) {
  entries_.push_back(entry);
}

void InfoList::take_all(InfoList& other) {
  if (other.status_ != PMIX_SUCCESS) failed(other.failed_key_.c_str(), other.status_);
  entries_.insert(entries_.end(), other.entries_.begin(), other.entries_.end());
  other.entries_.clear();
}

void InfoList::size(const char* key, std::size_t value) {
  add(key, &value, PMIX_SIZE);
}

void InfoList::status(const char* key, pmix_status_t value) {
  add(key, &value, PMIX_STATUS);
}

void* InfoList::new_array(const char* key, std::size_t count, pmix_data_type_t type) {
  pmix_data_array_t* made = nullptr;
  PMIX_DATA_ARRAY_CREATE(made, count, type);
  TIDE_CHECK(made != nullptr && (count == 0 || made->array != nullptr));
  add_array(key, made);
  return made->array;
}

Result<InfoArray> InfoList::finish() {
  if (status_ != PMIX_SUCCESS) return from_pmix(status_, "libpmix does not take " + failed_key_);
  if (entries_.empty()) return InfoArray();
  pmix_data_array_t made{};
  const std::size_t count = entries_.size();
  PMIX_DATA_ARRAY_CONSTRUCT(&made, count, PMIX_INFO);
  TIDE_CHECK(made.array != nullptr);
  move_to(static_cast<pmix_info_t*>(made.array));
  return InfoArray(made);
}

}  // namespace tide::pmix
