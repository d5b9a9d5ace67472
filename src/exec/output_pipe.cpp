#include "exec/output_pipe.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <asio/post.hpp>
#include <cerrno>
#include <string>
#include <utility>

namespace tide::exec {

OutputPipe::OutputPipe(asio::io_context& io, std::uint32_t window_bytes, Callbacks callbacks)
    : descriptor_(io), callbacks_(std::move(callbacks)), window_bytes_(window_bytes) {}

Result<UniqueFd> OutputPipe::open() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error("no pipe for its output", errno);
  UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  asio::error_code error;
  descriptor_.assign(ours.get(), error);
  if (!error) {
    (void)ours.release();  // the descriptor closes it from here on
    descriptor_.native_non_blocking(true, error);
  }
  if (error) return system_error("cannot watch its output", error.value());
  return theirs;
}

void OutputPipe::start() {
  started_ = true;
  wait();
}

void OutputPipe::grant(std::uint32_t bytes) {
  window_bytes_ += bytes;
  wait();
}

void OutputPipe::wait() {
  if (waiting_ || !started_ || !descriptor_.is_open()) return;
  if (window_bytes_ == 0) return wait_for_hangup();
  waiting_ = true;
  auto ready = [weak = weak_from_this()](const asio::error_code& error) {
    const auto self = weak.lock();
    if (!self) return;
    self->waiting_ = false;
    if (!error) self->take();
  };
  // After finish() there may never be anything to wait for.
  if (last_bytes_) {
    asio::post(descriptor_.get_executor(), [ready] { ready({}); });
  } else {
    descriptor_.async_wait(asio::posix::descriptor_base::wait_read, std::move(ready));
  }
}

// Without credit data stays in the pipe, but that there is none and never will be is still news.
void OutputPipe::wait_for_hangup() {
  if (watching_hangup_ || last_bytes_) return;
  watching_hangup_ = true;
  descriptor_.async_wait(asio::posix::descriptor_base::wait_error,
                         [weak = weak_from_this()](const asio::error_code& error) {
                           const auto self = weak.lock();
                           if (!self) return;
                           self->watching_hangup_ = false;
                           if (error || self->window_bytes_ > 0) return;
                           if (self->descriptor_.is_open() && self->bytes_in_pipe() == 0) {
                             self->end();
                           }
                         });
}

std::uint64_t OutputPipe::bytes_in_pipe() {
  int bytes = 0;
  const bool known = ::ioctl(descriptor_.native_handle(), FIONREAD, &bytes) == 0;
  return known && bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
}

void OutputPipe::take() {
  if (!descriptor_.is_open()) return;
  if (last_bytes_ == 0U) return end();
  std::array<char, kMaxChunkBytes> chunk;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  const std::uint64_t limit =
      std::min({std::uint64_t{chunk.size()}, window_bytes_, last_bytes_.value_or(chunk.size())});
  const ssize_t got = ::read(descriptor_.native_handle(), chunk.data(), limit);
  const bool nothing_yet = got < 0 && (errno == EAGAIN || errno == EINTR);
  if (got == 0 || (got < 0 && !nothing_yet)) return end();
  if (nothing_yet && last_bytes_) return end();
  if (got > 0) {
    const auto size = static_cast<std::size_t>(got);
    window_bytes_ -= size;
    if (last_bytes_) *last_bytes_ -= size;
    callbacks_.on_data(Bytes(std::string(chunk.data(), size)));
    // A wait that began before finish() may never come back.
    if (last_bytes_ == 0U && descriptor_.is_open()) return end();
  }
  wait();
}

void OutputPipe::finish() {
  if (!descriptor_.is_open() || last_bytes_) return;
  last_bytes_ = bytes_in_pipe();
  // Not through wait(): with nothing left the end is reported even where nothing was granted.
  asio::post(descriptor_.get_executor(), [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self && (self->window_bytes_ > 0 || self->last_bytes_ == 0U)) self->take();
  });
}

void OutputPipe::end() {
  close();
  callbacks_.on_closed();
}

void OutputPipe::close() {
  asio::error_code ignored;
  descriptor_.close(ignored);
}

}  // namespace tide::exec
