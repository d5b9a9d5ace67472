// One TCP connection attempt to one endpoint, with a deadline.
#pragma once

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>

#include "wire/link.pb.h"

namespace tide::net {

class TcpConnect : public std::enable_shared_from_this<TcpConnect> {
 public:
  // On error the socket is closed. asio::error::connection_refused means that nobody listens there.
  using Done = std::function<void(asio::error_code, asio::ip::tcp::socket)>;

  explicit TcpConnect(asio::io_context& io) : socket_(io), deadline_(io) {}

  // `done` is called once, from the io_context, unless cancel() comes first.
  void start(const wire::Endpoint& endpoint, std::uint32_t timeout_ms, Done done);
  void cancel();

 private:
  void finish(asio::error_code error);
  [[nodiscard]] bool connected_to_itself() const;

  asio::ip::tcp::socket socket_;
  asio::steady_timer deadline_;
  Done done_;
};

}  // namespace tide::net
