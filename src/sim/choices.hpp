// What may happen next in a small world, and what does if nobody says otherwise.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "sim/schedule.hpp"
#include "sim/world.hpp"

namespace tide::sim {

class Choices {
 public:
  using Entry = Schedule::Entry;

  Choices(World& world, const FaultClasses& classes) : world_(world), classes_(classes) {}

  // Choice 0 is the default; then follow other orders, then faults.
  [[nodiscard]] std::uint32_t orders(const std::vector<Entry>& pending) const;
  [[nodiscard]] std::uint32_t faults() const;
  // Which of the orders let somebody come now, when the DVM is ready: a bit for each choice.
  [[nodiscard]] std::uint64_t arrivals(const std::vector<Entry>& pending) const;
  // Null: what was chosen has been done.
  const Entry* choose(const std::vector<Entry>& pending, std::uint32_t choice);
  // Of the world, and of who is to wait.
  [[nodiscard]] std::uint64_t state_hash() const;

 private:
  enum class Wait : std::uint8_t { kForAllElse, kForTimer };
  using Lane = std::tuple<What::Kind, HostId, std::uint64_t>;

  static Lane lane_of(const Entry& entry);
  [[nodiscard]] const Entry* default_of(const std::vector<Entry>& pending) const;
  [[nodiscard]] std::vector<const Entry*> overtakers(const std::vector<Entry>& pending) const;
  void let_wait(const Entry& entry, Wait wait);
  const Entry* take(const Entry& entry);
  void say(const std::string& text) const;

  World& world_;
  const FaultClasses& classes_;
  std::map<Lane, Wait> waiting_;
  bool struck_ = false;
};

}  // namespace tide::sim
