#include "base/counters.hpp"

#include "base/check.hpp"

namespace tide {

Counter Counters::counter(std::string_view name) {
  return Counter(&cell(name, false).value);
}

Gauge Counters::gauge(std::string_view name) {
  return Gauge(&cell(name, true).value);
}

Counters::Cell& Counters::cell(std::string_view name, bool is_gauge) {
  auto found = cells_.find(name);
  if (found == cells_.end()) {
    found = cells_.try_emplace(std::string(name)).first;
    found->second.is_gauge = is_gauge;
  }
  TIDE_CHECK(found->second.is_gauge == is_gauge);
  return found->second;
}

std::vector<CounterValue> Counters::snapshot() const {
  std::vector<CounterValue> values;
  values.reserve(cells_.size());
  for (const auto& [name, cell] : cells_) {
    values.push_back({name, cell.is_gauge, cell.value.load(std::memory_order_relaxed)});
  }
  return values;
}

}  // namespace tide
