#include "sim/published.hpp"

#include <algorithm>

#include "sim/journal.hpp"

namespace tide::sim {

namespace {

[[noreturn]] void broken(const std::string& key, const char* what) {
  throw BrokenPromise("a look-up brings what is published", key + ": " + what);
}

// As long as its publisher lives it stays until somebody takes it back.
bool lasts(const Published::Value& value) {
  return value.terms.persistence() != wire::PERSIST_FIRST_READ && value.taking_back == 0;
}

}  // namespace

std::size_t Published::publish(const std::string& key, Value value) {
  value.asked = now();
  auto& values = values_[key];
  values.push_back(std::move(value));
  return values.size() - 1;
}

void Published::on_published(const std::string& key, std::size_t which, const Status& status) {
  auto& values = values_.at(key);
  Value& value = values.at(which);
  const bool other_may = std::ranges::any_of(values, [&](const Value& other) {
    const bool over = other.refused || (other.taken_back > 0 && other.taken_back < value.asked);
    return &other != &value && other.asked < value.asked && !over;
  });
  const bool other_must = std::ranges::any_of(values, [&](const Value& other) {
    return &other != &value && other.there > 0 && other.there < value.asked && lasts(other);
  });
  if (status) {
    value.there = now();
    if (other_must) broken(key, "it was published twice");
  } else {
    value.refused = true;
    if (!other_may || status.error().code != ErrorCode::kAlreadyExists) {
      broken(key, "it was refused and nobody has that key");
    }
  }
}

void Published::take_back(const std::string& key, const wire::ProcName& who) {
  for (auto& value : values_[key]) {
    if (core::id_of(value.publisher.name) == core::id_of(who) && value.taking_back == 0) {
      value.taking_back = now();
    }
  }
}

void Published::on_taken_back(const std::string& key, const wire::ProcName& who) {
  for (auto& value : values_[key]) {
    const bool meant = core::id_of(value.publisher.name) == core::id_of(who);
    if (meant && value.taking_back > 0 && value.taken_back == 0) value.taken_back = now();
  }
}

bool Published::visible(const Value& value, const Person& reader) {
  const Person& one = value.publisher;
  switch (value.terms.range()) {
    case wire::RANGE_LOCAL:
      return one.daemon == reader.daemon;
    case wire::RANGE_NAMESPACE:
      return one.name.nspace() == reader.name.nspace();
    case wire::RANGE_PROC_LOCAL:
      return core::id_of(one.name) == core::id_of(reader.name);
    case wire::RANGE_CUSTOM:
      return std::ranges::any_of(value.terms.audience().names(), [&](const auto& name) {
        return core::id_of(name) == core::id_of(reader.name);
      });
    default:
      return true;
  }
}

void Published::on_found(const std::string& key, const Person& reader, std::uint64_t asked,
                         const wire::Found& found) {
  if (found.data_size() != 1) broken(key, "one was wanted, and another number came");
  auto& values = values_[key];
  const auto value = std::ranges::find(values, found.data(0).value(), &Value::value);
  if (value == values.end()) broken(key, "nobody published that");
  if (!visible(*value, reader)) broken(key, "it is not for who got it");
  if (value->taken_back > 0 && value->taken_back < asked) broken(key, "it was taken back");
  ++value->given;
  const bool once = value->terms.persistence() == wire::PERSIST_FIRST_READ;
  if (once && value->given > 1) broken(key, "it was for the first reader, and given twice");
}

void Published::on_nothing(const std::string& key, const Person& reader, std::uint64_t asked,
                           bool publisher_lives) const {
  const auto values = values_.find(key);
  if (values == values_.end() || !publisher_lives) return;
  const bool missed = std::ranges::any_of(values->second, [&](const Value& value) {
    return value.there > 0 && value.there < asked && lasts(value) && visible(value, reader);
  });
  if (missed) broken(key, "it is there and was not found");
}

std::pair<std::size_t, std::size_t> Published::left() const {
  std::size_t must = 0;
  std::size_t may = 0;
  for (const auto& [key, values] : values_) {
    for (const auto& value : values) {
      const auto kept = value.terms.persistence();
      const bool mortal = kept == wire::PERSIST_PROC || kept == wire::PERSIST_APP;
      const bool read = kept == wire::PERSIST_FIRST_READ && value.given > 0;
      if (value.refused || mortal || read || value.taken_back > 0) continue;
      ++may;
      if (value.there > 0 && lasts(value)) ++must;
    }
  }
  return {must, may};
}

}  // namespace tide::sim
