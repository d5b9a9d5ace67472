#include "exec/input_pipe.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <asio/post.hpp>
#include <cerrno>
#include <string_view>
#include <utility>

namespace tide::exec {

InputPipe::InputPipe(asio::io_context& io, OnTaken on_taken)
    : descriptor_(io), on_taken_(std::move(on_taken)) {}

Result<UniqueFd> InputPipe::open() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error("no pipe for its input", errno);
  UniqueFd theirs(ends[0]);
  UniqueFd ours(ends[1]);
  asio::error_code error;
  descriptor_.assign(ours.get(), error);
  if (!error) {
    (void)ours.release();  // the descriptor closes it from here on
    descriptor_.native_non_blocking(true, error);
  }
  if (error) return system_error("cannot watch its input", error.value());
  return theirs;
}

void InputPipe::start() {
  started_ = true;
  wait();
}

void InputPipe::write(Bytes data) {
  if (closing_ || data.empty()) return;
  queue_.push_back(std::move(data));
  wait();
}

void InputPipe::close_after_writing() {
  closing_ = true;
  wait();
}

void InputPipe::finish() {
  asio::error_code ignored;
  descriptor_.close(ignored);
  wait();
}

void InputPipe::close() {
  queue_.clear();
  finish();
}

void InputPipe::wait() {
  if (waiting_ || !started_) return;
  if (queue_.empty() && !(closing_ && descriptor_.is_open())) return;
  waiting_ = true;
  auto ready = [weak = weak_from_this()](const asio::error_code&) {
    const auto self = weak.lock();
    if (!self) return;
    self->waiting_ = false;
    self->give();
  };
  if (descriptor_.is_open() && !queue_.empty()) {
    descriptor_.async_wait(asio::posix::descriptor_base::wait_write, std::move(ready));
  } else {
    asio::post(descriptor_.get_executor(), [ready] { ready({}); });
  }
}

void InputPipe::give() {
  if (!descriptor_.is_open()) return drop();
  if (!queue_.empty()) {
    const std::string_view rest = queue_.front().view().substr(front_offset_);
    const ssize_t given = ::write(descriptor_.native_handle(), rest.data(), rest.size());
    if (given < 0 && errno != EAGAIN && errno != EINTR) {  // EPIPE: it closed its end
      asio::error_code ignored;
      descriptor_.close(ignored);
      return drop();
    }
    if (given > 0) take_front(static_cast<std::size_t>(given));
  }
  if (queue_.empty() && closing_) {
    asio::error_code ignored;
    descriptor_.close(ignored);
  }
  wait();
}

void InputPipe::drop() {
  while (!queue_.empty()) take_front(queue_.front().size() - front_offset_);
}

void InputPipe::take_front(std::size_t bytes) {
  front_offset_ += bytes;
  if (front_offset_ == queue_.front().size()) {
    queue_.pop_front();
    front_offset_ = 0;
  }
  on_taken_(static_cast<std::uint32_t>(bytes));
}

}  // namespace tide::exec
