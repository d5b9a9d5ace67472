// Files that the client has and the job is to have on its nodes: which ones, and on their way.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/command_line.hpp"
#include "cli/environment.hpp"
#include "wire/job.pb.h"

namespace tide::cli {

// The name of a file below the job's directory: a relative path as it is, the last part of an
// absolute one. kInvalidArgument if it would lead out.
Result<std::string> staged_name(const std::string& path);

// What is unpacked on the nodes, by its name.
bool is_archive(const std::string& name);

// Adds what -s, --preload-files and --set-cwd-to-session-dir say to a job that was made from the
// same line. The paths of the files, in their order in the job.
Result<std::vector<std::string>> take_preloads(const CommandLine& line,
                                               const Environment& environment, wire::JobSpec& job);

using FileVersion = std::array<std::int64_t, 3>;  // size, and when it was written

// Reads the files piece by piece, as far as there is credit.
class FileSender {
 public:
  explicit FileSender(std::vector<std::string> paths) : paths_(std::move(paths)) {}
  FileSender(const FileSender&) = delete;
  FileSender& operator=(const FileSender&) = delete;
  ~FileSender() { close_file(); }

  void grant(std::uint32_t pieces, std::uint32_t piece_bytes) {
    credit_ += pieces;
    piece_bytes_ = piece_bytes;
  }
  [[nodiscard]] bool wants_to_send() const { return credit_ > 0 && file_ < paths_.size(); }

  struct Piece {
    std::uint32_t file = 0;
    std::string bytes;
    bool last = false;
    std::string failure;
  };
  Piece next();

 private:
  void close_file();

  std::vector<std::string> paths_;
  std::size_t file_ = 0;
  std::uint64_t credit_ = 0;
  std::uint32_t piece_bytes_ = 0;
  std::optional<FileVersion> begun_;  // what it was when its first piece was read
  int fd_ = -1;
};

}  // namespace tide::cli
