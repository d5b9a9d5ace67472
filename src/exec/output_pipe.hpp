// Our end of a process's standard output or standard error.
#pragma once

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "exec/unique_fd.hpp"

namespace tide::exec {

// Reads what was granted and no more: a process whose reader is slow is held up by its full pipe.
// Callbacks come from the io_context only, and none after close().
class OutputPipe : public std::enable_shared_from_this<OutputPipe> {
 public:
  static constexpr std::size_t kMaxChunkBytes = std::size_t{60} * 1024;  // below a frame's 64 KiB

  struct Callbacks {
    std::function<void(Bytes)> on_data;
    std::function<void()> on_closed;  // once, after the last data
  };

  OutputPipe(asio::io_context& io, std::uint32_t window_bytes, Callbacks callbacks);

  // Makes the pipe and returns the end for the process. Nothing is read before start().
  Result<UniqueFd> open();
  void start();

  void grant(std::uint32_t bytes);

  // What is in the pipe now is the last that is reported (as far as granted), also if somebody
  // still holds the other end.
  void finish();

  // Ends it without a report.
  void close();

 private:
  void wait();
  void wait_for_hangup();
  void take();
  void end();
  std::uint64_t bytes_in_pipe();

  asio::posix::stream_descriptor descriptor_;
  Callbacks callbacks_;
  std::uint64_t window_bytes_;
  std::optional<std::uint64_t> last_bytes_;  // set by finish(): so much is left to report
  bool waiting_ = false;
  bool watching_hangup_ = false;
  bool started_ = false;
};

}  // namespace tide::exec
