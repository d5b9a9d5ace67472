// First inputs for the fuzzers: real messages of every kind, real command lines, real files.
#pragma once

#include <string>
#include <utility>

namespace tide::fuzz {

class Seeds {
 public:
  explicit Seeds(std::string root) : root_(std::move(root)) {}
  void add(const std::string& fuzzer, const std::string& input);

 private:
  std::string root_;
  int count_ = 0;
};

void add_text_seeds(Seeds& seeds);  // seeds_text.cpp: command lines, parameters, descriptions
void add_wire_seeds(Seeds& seeds);  // seeds_wire.cpp: frames of links, clients and wardens
void add_core_seeds(Seeds& seeds);  // seeds_core.cpp: what happens to a head and to a daemon

}  // namespace tide::fuzz
