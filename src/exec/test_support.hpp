// Helpers for tests with real processes.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "base/test_files.hpp"
#include "exec/process_scan.hpp"

namespace tide::exec::testing {

using tide::testing::open_descriptors;
using tide::testing::read_text;
using tide::testing::TemporaryDirectory;
using tide::testing::write_text;

// A process that can still do something: a zombie can't.
inline bool is_alive(pid_t pid) {
  if (::kill(pid, 0) != 0) return false;
  const auto stat = parse_process_stat(read_text("/proc/" + std::to_string(pid) + "/stat"));
  return stat && !stat->zombie;
}

// Looks at something outside this program until it is so; false when it takes too long.
template <class Condition>
bool eventually(Condition condition, std::chrono::milliseconds limit = std::chrono::seconds(10)) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// The number that a script wrote to a file, once the line is complete; 0 when it takes too long.
inline pid_t pid_in(const std::string& path) {
  std::string text;
  eventually([&] { return (text = read_text(path)).ends_with('\n'); });
  return text.empty() ? 0 : static_cast<pid_t>(std::stol(text));
}

}  // namespace tide::exec::testing
