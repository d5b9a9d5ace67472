// Which names and addresses mean the machine that this program runs on.
#pragma once

#include <set>
#include <string>

namespace tide::launch {

class ThisMachine {
 public:
  // Asks the system: host name, interfaces. No name service is asked, which could take long.
  static ThisMachine look();
  explicit ThisMachine(std::set<std::string> names) : names_(std::move(names)) {}

  // A name, short or as the system has it, or an address in numbers.
  [[nodiscard]] bool is(const std::string& host) const;
  [[nodiscard]] const std::set<std::string>& names() const { return names_; }

 private:
  std::set<std::string> names_;  // in small letters
};

// Of whoever runs this program; where it has no name, its number.
std::string our_user_name();

}  // namespace tide::launch
