#include "tests/fuzz/records.hpp"

#include <algorithm>
#include <utility>

#include "tests/fuzz/fuzz_input.hpp"

namespace tide::fuzz {

std::vector<Record> cut_records(std::string_view bytes) {
  std::vector<Record> records;
  Input input(bytes);
  while (!input.empty() && records.size() < kMaxRecords) {
    Record record;
    record.kind = input.byte();
    record.who = input.byte();
    record.body = input.text(std::min<std::size_t>(input.number(), kMaxBodyBytes));
    records.push_back(std::move(record));
  }
  return records;
}

std::string join_records(const std::vector<Record>& records) {
  std::string out;
  for (const Record& record : records) {
    out.push_back(static_cast<char>(record.kind));
    out.push_back(static_cast<char>(record.who));
    out.push_back(static_cast<char>(record.body.size() & 0xffU));
    out.push_back(static_cast<char>(record.body.size() >> 8U));
    out += record.body;
  }
  return out;
}

}  // namespace tide::fuzz
