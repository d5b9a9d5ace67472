#include "tests/fuzz/records.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include "tests/fuzz/fuzz_input.hpp"

namespace tide::fuzz {
namespace {

using Random = std::minstd_rand;

std::size_t pick(Random& random, std::size_t count) {
  return count == 0 ? 0 : random() % count;
}

void mutate_body(Record& record) {
  std::string buffer = record.body;
  const std::size_t size = buffer.size();
  buffer.resize(std::min(kMaxBodyBytes, size + 64));
  const std::size_t changed = LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(buffer.data()),
                                               std::min(size, buffer.size()), buffer.size());
  buffer.resize(changed);
  record.body = std::move(buffer);
}

void mutate_list(std::vector<Record>& records, Random& random) {
  const std::size_t at = pick(random, records.size());
  const std::size_t other = pick(random, records.size());
  const auto place = [&records](std::size_t index) {
    return records.begin() + static_cast<std::ptrdiff_t>(index);
  };
  switch (random() % 8) {
    case 0:
      records.insert(place(other), Record(records[at]));
      return;
    case 1:
      records.erase(place(at));
      return;
    case 2:
      std::swap(records[at], records[other]);
      return;
    case 3:
      records[at].kind = static_cast<std::uint8_t>(random());
      return;
    case 4:
      records[at].who = static_cast<std::uint8_t>(random());
      return;
    default:
      mutate_body(records[at]);
      return;
  }
}

}  // namespace

std::size_t mutate_records(std::uint8_t* data, std::size_t size, std::size_t max_size,
                           std::uint32_t seed, std::size_t prefix) {
  Random random(seed);
  const std::string_view bytes = as_text(data, size);
  if (size <= prefix || random() % 8 == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::vector<Record> records = cut_records(bytes.substr(prefix));
  mutate_list(records, random);
  const std::string joined = join_records(records);
  if (joined.empty() || prefix + joined.size() > max_size) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  std::copy(joined.begin(), joined.end(), data + prefix);
  return prefix + joined.size();
}

}  // namespace tide::fuzz
