// An input as a list of records: what happens to a core, one thing after the other.
// A record is a byte for its kind, one for who is concerned, 16 bits of length (little-endian) and
// a body. The last one may be shorter than it says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tide::fuzz {

struct Record {
  std::uint8_t kind = 0;
  std::uint8_t who = 0;
  std::string body;
};

inline constexpr std::size_t kMaxRecords = 96;  // more would make one input slow, not deep
inline constexpr std::size_t kMaxBodyBytes = 4096;

std::vector<Record> cut_records(std::string_view bytes);
std::string join_records(const std::vector<Record>& records);

// Changes one input in place, at most to `max_size`, and returns its new size: mostly the body of
// one record or the order of them, so that the others keep their meaning. The first `prefix` bytes
// are not records.
std::size_t mutate_records(std::uint8_t* data, std::size_t size, std::size_t max_size,
                           std::uint32_t seed, std::size_t prefix);

}  // namespace tide::fuzz
