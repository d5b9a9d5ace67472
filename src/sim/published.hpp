// What was published, as those who asked for it know it: what a look-up may bring, must bring, and
// must not.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "core/proc_names.hpp"
#include "sim/network.hpp"

namespace tide::sim {

class Published {
 public:
  struct Person {
    Rank daemon;
    wire::ProcName name;
  };
  struct Value {
    std::string value;
    Person publisher;
    wire::Publish terms;
    std::uint64_t asked = 0;  // moments: 0: not yet
    std::uint64_t there = 0;
    std::uint64_t taking_back = 0;
    std::uint64_t taken_back = 0;
    std::uint32_t given = 0;
    bool refused = false;
  };

  // Moments follow each other, also within one of the world's.
  std::uint64_t now() { return ++clock_; }

  std::size_t publish(const std::string& key, Value value);
  void on_published(const std::string& key, std::size_t which, const Status& status);
  void take_back(const std::string& key, const wire::ProcName& who);
  void on_taken_back(const std::string& key, const wire::ProcName& who);
  void on_found(const std::string& key, const Person& reader, std::uint64_t asked,
                const wire::Found& found);
  // The answer was that nothing is there.
  void on_nothing(const std::string& key, const Person& reader, std::uint64_t asked,
                  bool publisher_lives) const;
  // How many the head must and may keep when every job has ended.
  [[nodiscard]] std::pair<std::size_t, std::size_t> left() const;

 private:
  static bool visible(const Value& value, const Person& reader);

  std::map<std::string, std::vector<Value>> values_;
  std::uint64_t clock_ = 0;
};

}  // namespace tide::sim
