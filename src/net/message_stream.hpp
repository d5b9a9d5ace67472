// Messages over one connected stream, TLS or local: a loop that reads, and one write at a time of
// as many frames as there are, control before bulk.
#pragma once

#include <array>
#include <asio/buffer.hpp>
#include <asio/io_context.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/post.hpp>
#include <asio/ssl/error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/write.hpp>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "net/frame.hpp"

namespace tide::net {

template <class Stream>
class MessageStream : public std::enable_shared_from_this<MessageStream<Stream>> {
 public:
  using Clock = std::chrono::steady_clock;

  // Called from the io_context, never from inside a call on the stream.
  class Handler {
   public:
    virtual ~Handler() = default;
    virtual void on_stream_message(RawMessage message) = 0;
    // After everything that came with one read was handed over: what is kept of messages that are
    // not complete. May finish or abort the stream.
    virtual void on_stream_held(std::size_t bytes) { static_cast<void>(bytes); }
    // The stream is over and closed: the peer's end, a failure, or a frame that broke the rules
    // (kProtocol).
    virtual void on_stream_end(const Error& error) = 0;
  };

  template <class... StreamArguments>
  MessageStream(asio::io_context& io, std::size_t max_message_bytes, Handler& handler,
                StreamArguments&&... arguments)
      : io_(io),
        stream_(std::forward<StreamArguments>(arguments)...),
        flush_deadline_(io),
        encoder_(max_message_bytes),
        decoder_(max_message_bytes),
        handler_(&handler) {}

  [[nodiscard]] Stream& stream() { return stream_; }
  [[nodiscard]] auto& socket() { return stream_.lowest_layer(); }
  [[nodiscard]] FrameDecoder& decoder() { return decoder_; }
  [[nodiscard]] std::size_t queued_bytes() const { return encoder_.queued_bytes() + batch_.size(); }
  [[nodiscard]] bool sending() const { return write_pending_; }
  [[nodiscard]] Clock::time_point last_sent() const { return last_sent_; }
  [[nodiscard]] Clock::time_point last_received() const { return last_received_; }

  // Once, when the stream is ready for messages.
  void start() {
    last_sent_ = last_received_ = Clock::now();
    started_ = true;
    read();
  }

  // Takes no further message while the headers that wait to be sent are longer than this: a peer
  // that asks and never reads the answers is not asked any more. Payloads have their own limits.
  void pause_above(std::size_t queued_header_bytes) { pause_above_ = queued_header_bytes; }

  // Queues a message; an Error (and nothing queued) when it is too large.
  Status send(RawMessage message) {
    if (closed_ || finishing_ || write_broken_) return ok_status();
    if (Status status = encoder_.push(std::move(message)); !status) return status;
    schedule_write();
    return ok_status();
  }

  // Writes what is queued, says so to the peer by closing our direction, waits for the peer's end
  // (over TCP a close with unread data would destroy what the peer has not read yet; a local socket
  // keeps it, so nobody is waited for), then closes. All of it within `timeout_ms`. The stream does
  // this on its own: the handler is not called any more.
  void finish(std::uint32_t timeout_ms) {
    if (closed_ || finishing_) return;
    handler_ = nullptr;
    finishing_ = true;
    resume();
    flush_deadline_.expires_after(std::chrono::milliseconds(started_ ? timeout_ms : 0));
    flush_deadline_.async_wait([self = this->shared_from_this()](asio::error_code error) {
      if (!error) self->close();
    });
    schedule_write();
  }

  // Closes at once; the handler is not called any more.
  void abort() {
    handler_ = nullptr;
    close();
  }

 private:
  // Large enough to make system calls and TLS records few, small enough not to hold up control.
  static constexpr std::size_t kBatchBytes = 65536;
  static constexpr std::size_t kReadBytes = 16384;  // the size of a TLS record

  void read() {
    stream_.async_read_some(
        asio::buffer(read_buffer_),
        [self = this->shared_from_this()](asio::error_code error, std::size_t count) {
          self->on_read(error, count);
        });
  }

  void on_read(asio::error_code error, std::size_t count) {
    if (closed_) return;
    if (error) return end(lost(error));
    last_received_ = Clock::now();
    if (!finishing_) {
      feed_status_ = decoder_.feed(std::string_view(read_buffer_.data(), count), inbox_);
      if (!deliver()) return;
    }
    if (!closed_) read();
  }

  // The handler may finish or abort the stream with any message; the rest is dropped then. False
  // when nothing is to be read now.
  bool deliver() {
    while (next_in_inbox_ < inbox_.size() && handler_ != nullptr) {
      if (!write_broken_ && encoder_.queued_header_bytes() > pause_above_) {
        paused_ = true;
        return false;
      }
      handler_->on_stream_message(std::move(inbox_[next_in_inbox_++]));
    }
    inbox_.clear();
    next_in_inbox_ = 0;
    if (!feed_status_ && !finishing_) {
      end(feed_status_.error());
      return false;
    }
    if (handler_ != nullptr) handler_->on_stream_held(decoder_.held_bytes());
    return true;
  }

  void resume() {
    if (!std::exchange(paused_, false)) return;
    asio::post(io_, [self = this->shared_from_this()] {
      if (!self->closed_ && self->deliver() && !self->closed_) self->read();
    });
  }

  // Posted, so that all that one turn of the loop sends goes out in one write.
  void schedule_write() {
    if (write_pending_) return;
    write_pending_ = true;
    asio::post(io_, [self = this->shared_from_this()] { self->write(); });
  }

  void write() {
    if (closed_) return;
    batch_.clear();
    if (!write_broken_ && started_) encoder_.fill(batch_, kBatchBytes);
    if (batch_.empty()) {
      write_pending_ = false;
      if (!finishing_) return;
      if constexpr (std::is_same_v<Stream, asio::local::stream_protocol::socket>) {
        close();
      } else {
        asio::error_code ignored;
        socket().shutdown(asio::socket_base::shutdown_send, ignored);
      }
      return;
    }
    asio::async_write(stream_, asio::buffer(batch_),
                      [self = this->shared_from_this()](asio::error_code error, std::size_t) {
                        self->on_written(error);
                      });
  }

  // After a failed write the peer's last words may still be there to be read; the end of the read
  // loop is the end of the stream.
  void on_written(asio::error_code error) {
    if (closed_) return;
    if (error) write_broken_ = true;
    last_sent_ = Clock::now();
    if (write_broken_ || encoder_.queued_header_bytes() <= pause_above_ / 2) resume();
    write();
  }

  static Error lost(asio::error_code error) {
    if (error == asio::error::eof || error == asio::ssl::error::stream_truncated)
      return Error{ErrorCode::kConnectionLost, "the peer closed the connection"};
    return Error{ErrorCode::kConnectionLost, error.message()};
  }

  void end(const Error& error) {
    if (closed_) return;
    close();
    if (handler_ != nullptr) std::exchange(handler_, nullptr)->on_stream_end(error);
  }

  void close() {
    closed_ = true;
    flush_deadline_.cancel();
    asio::error_code ignored;
    socket().close(ignored);
  }

  asio::io_context& io_;
  Stream stream_;
  asio::steady_timer flush_deadline_;
  FrameEncoder encoder_;
  FrameDecoder decoder_;
  Handler* handler_;
  bool started_ = false;
  bool write_pending_ = false;
  bool write_broken_ = false;
  bool finishing_ = false;
  bool closed_ = false;
  bool paused_ = false;  // the answers have to be read first
  std::size_t pause_above_ = std::numeric_limits<std::size_t>::max();
  Clock::time_point last_sent_;
  Clock::time_point last_received_;
  std::string batch_;
  std::vector<RawMessage> inbox_;
  std::size_t next_in_inbox_ = 0;
  Status feed_status_ = ok_status();
  std::array<char, kReadBytes> read_buffer_;
};

}  // namespace tide::net
