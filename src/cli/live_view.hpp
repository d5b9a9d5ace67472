// A DVM as tide watch shows it: on one screen, or in one line.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "wire/client.pb.h"

namespace tide::cli {

struct ScreenSize {
  std::size_t rows = 24;
  std::size_t columns = 80;
};

// Nodes, changes, jobs (those that are parked first) and the last of `events`, which are lines.
// Fits: one row less than there are, each line ends with a newline and is no wider than the screen.
std::string live_screen(const wire::StatusReply& status, std::span<const std::string> events,
                        ScreenSize size);

std::string live_line(const wire::StatusReply& status);

// What makes another line worth showing: nodes, changes, and whether jobs are parked. Jobs that
// come and go do not.
std::string live_gist(const wire::StatusReply& status);

}  // namespace tide::cli
