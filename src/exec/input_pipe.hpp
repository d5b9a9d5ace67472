// Our end of a process's standard input.
#pragma once

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "exec/unique_fd.hpp"

namespace tide::exec {

// Keeps what the process has not taken yet; how much that may be is bounded by the credit that the
// writer was given. Bytes for a process that reads no more count as taken. Callbacks come from
// the io_context only, and none after close(). The program must ignore SIGPIPE.
class InputPipe : public std::enable_shared_from_this<InputPipe> {
 public:
  using OnTaken = std::function<void(std::uint32_t bytes)>;

  InputPipe(asio::io_context& io, OnTaken on_taken);

  // Makes the pipe and returns the end for the process. Without it (the process gets no input)
  // everything counts as taken. Nothing is written before start().
  Result<UniqueFd> open();
  void start();

  void write(Bytes data);
  void close_after_writing();

  // Nobody reads any more: what is left counts as taken.
  void finish();

  // Ends it without a report.
  void close();

 private:
  void wait();
  void give();
  void drop();
  void take_front(std::size_t bytes);

  asio::posix::stream_descriptor descriptor_;
  OnTaken on_taken_;
  std::deque<Bytes> queue_;
  std::size_t front_offset_ = 0;  // of the first in the queue so much is written
  bool started_ = false;
  bool waiting_ = false;
  bool closing_ = false;
};

}  // namespace tide::exec
