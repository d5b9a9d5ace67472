// Accepts connections on one socket. When it must not or can't accept it waits, and the kernel
// keeps the callers in its queue; running out of descriptors is such a case, never an end.
#pragma once

#include <asio/basic_socket_acceptor.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace tide::net {

template <class Protocol>
class Listener : public std::enable_shared_from_this<Listener<Protocol>> {
 public:
  using Socket = typename Protocol::socket;
  using Acceptor = asio::basic_socket_acceptor<Protocol>;

  class Handler {
   public:
    virtual ~Handler() = default;
    virtual void on_accepted(Socket socket) = 0;
    virtual void on_accept_trouble(const std::string& text) = 0;
    // Asked before each accept: 0 to go on, else how long to wait before asking again.
    virtual std::uint32_t accept_delay_ms() = 0;
  };

  Listener(asio::io_context& io, Acceptor acceptor, Handler& handler)
      : acceptor_(std::move(acceptor)), pause_(io), handler_(&handler) {}

  void start() { next(); }

  // The reason to wait may be over: ask again now.
  void wake() { pause_.cancel(); }

  // Nothing is called any more.
  void close() {
    handler_ = nullptr;
    pause_.cancel();
    asio::error_code ignored;
    acceptor_.close(ignored);
  }

 private:
  static constexpr std::uint32_t kTroublePauseMs = 100;

  void next() {
    if (handler_ == nullptr) return;
    if (const std::uint32_t delay_ms = handler_->accept_delay_ms(); delay_ms > 0)
      return wait(delay_ms);
    acceptor_.async_accept(
        [self = this->shared_from_this()](asio::error_code error, Socket socket) {
          self->accepted(error, std::move(socket));
        });
  }

  void wait(std::uint32_t delay_ms) {
    pause_.expires_after(std::chrono::milliseconds(delay_ms));
    pause_.async_wait([self = this->shared_from_this()](asio::error_code) { self->next(); });
  }

  void accepted(asio::error_code error, Socket socket) {
    if (handler_ == nullptr) return;
    if (!error) {
      handler_->on_accepted(std::move(socket));
      return next();
    }
    if (error == asio::error::connection_aborted) return next();  // the caller hung up in the queue
    handler_->on_accept_trouble("accepting a connection: " + error.message());
    wait(kTroublePauseMs);
  }

  Acceptor acceptor_;
  asio::steady_timer pause_;
  Handler* handler_;
};

}  // namespace tide::net
