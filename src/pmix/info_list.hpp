// Arrays of key and value in the form that PMIx takes them.
#pragma once

#include <pmix_common.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "pmix/server.hpp"

namespace tide::pmix {

// A finished array. PMIx reads it until it calls back, so it has an owner until then.
class InfoArray {
 public:
  InfoArray() = default;
  explicit InfoArray(pmix_data_array_t array) : array_(array) {}
  InfoArray(InfoArray&& other) noexcept : array_(std::exchange(other.array_, {})) {}
  InfoArray& operator=(InfoArray&& other) noexcept {
    std::swap(array_, other.array_);
    return *this;
  }
  InfoArray(const InfoArray&) = delete;
  InfoArray& operator=(const InfoArray&) = delete;
  ~InfoArray();

  [[nodiscard]] pmix_info_t* data() const { return static_cast<pmix_info_t*>(array_.array); }
  [[nodiscard]] std::size_t size() const { return array_.size; }

 private:
  pmix_data_array_t array_{};
};

// Collects keys and values; all are copied. What goes wrong is told at the end. Not libpmix's own
// lists, which copy everything again at each step: a large job has tens of megabytes of it.
class InfoList {
 public:
  InfoList() = default;
  ~InfoList();
  InfoList(const InfoList&) = delete;
  InfoList& operator=(const InfoList&) = delete;

  void reserve(std::size_t entries) { entries_.reserve(entries); }
  void text(const char* key, const std::string& value);
  void flag(const char* key, bool value);
  void u32(const char* key, std::uint32_t value);
  void u16(const char* key, std::uint16_t value);
  void rank(const char* key, std::uint32_t value);
  void proc(const char* key, const ProcName& value);
  void regex(const char* key, const char* value);  // as made by PMIx_generate_regex() and its like
  void array(const char* key, InfoList& value);    // which is empty afterwards
  void take(
      const pmix_info_t& entry);   // what its value points to is owned by the list from then on
  void take_all(InfoList& other);  // which is empty afterwards
  void size(const char* key, std::size_t value);
  void status(const char* key, pmix_status_t value);
  // For elements of any type, which are zero; the caller fills them in before the list is used.
  void* new_array(const char* key, std::size_t count, pmix_data_type_t type);

  // The list is empty afterwards.
  Result<InfoArray> finish();

 private:
  void add(const char* key, const void* value, pmix_data_type_t type);
  void add_array(const char* key, pmix_data_array_t* made);
  void failed(const char* key, pmix_status_t status);
  void move_to(pmix_info_t* array);

  std::vector<pmix_info_t> entries_;
  pmix_status_t status_ = PMIX_SUCCESS;
  std::string failed_key_;
};

}  // namespace tide::pmix
