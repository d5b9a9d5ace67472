// Named counters (only grow) and gauges (go up and down) of one program.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tide {

// Handles are cheap to copy and to use from any thread, and valid as long as their registry.
// A default-made handle counts nothing.
class Counter {
 public:
  Counter() = default;
  void add(std::uint64_t amount = 1) {
    if (cell_ != nullptr) {
      cell_->fetch_add(static_cast<std::int64_t>(amount), std::memory_order_relaxed);
    }
  }

 private:
  friend class Counters;
  explicit Counter(std::atomic<std::int64_t>* cell) : cell_(cell) {}
  std::atomic<std::int64_t>* cell_ = nullptr;
};

class Gauge {
 public:
  Gauge() = default;
  void set(std::int64_t value) {
    if (cell_ != nullptr) cell_->store(value, std::memory_order_relaxed);
  }
  void add(std::int64_t amount) {
    if (cell_ != nullptr) cell_->fetch_add(amount, std::memory_order_relaxed);
  }

 private:
  friend class Counters;
  explicit Gauge(std::atomic<std::int64_t>* cell) : cell_(cell) {}
  std::atomic<std::int64_t>* cell_ = nullptr;
};

struct CounterValue {
  std::string name;
  bool is_gauge = false;
  std::int64_t value = 0;

  bool operator==(const CounterValue&) const = default;
};

class Counters {
 public:
  Counters() = default;
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  // Made at the first call with this name. One name is either a counter or a gauge, never both.
  Counter counter(std::string_view name);
  Gauge gauge(std::string_view name);

  // Sorted by name.
  [[nodiscard]] std::vector<CounterValue> snapshot() const;

 private:
  struct Cell {
    std::atomic<std::int64_t> value{0};
    bool is_gauge = false;
  };
  Cell& cell(std::string_view name, bool is_gauge);

  std::map<std::string, Cell, std::less<>> cells_;  // a map's nodes stay where they are
};

}  // namespace tide
