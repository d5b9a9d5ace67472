#include "net/tcp_connect.hpp"

#include <asio/post.hpp>
#include <chrono>
#include <utility>

namespace tide::net {

void TcpConnect::start(const wire::Endpoint& endpoint, std::uint32_t timeout_ms, Done done) {
  done_ = std::move(done);
  asio::error_code error;
  const auto address = asio::ip::make_address(endpoint.address(), error);
  if (!error && (endpoint.port() == 0 || endpoint.port() > 65535))
    error = asio::error::invalid_argument;
  if (error) {
    asio::post(socket_.get_executor(), [self = shared_from_this(), error] { self->finish(error); });
    return;
  }
  deadline_.expires_after(std::chrono::milliseconds(timeout_ms));
  deadline_.async_wait([self = shared_from_this()](asio::error_code wait_error) {
    if (!wait_error) self->finish(asio::error::timed_out);
  });
  socket_.async_connect(
      {address, static_cast<std::uint16_t>(endpoint.port())},
      [self = shared_from_this()](asio::error_code connect_error) { self->finish(connect_error); });
}

void TcpConnect::cancel() {
  done_ = nullptr;
  deadline_.cancel();
  asio::error_code ignored;
  socket_.close(ignored);
}

void TcpConnect::finish(asio::error_code error) {
  if (!done_) return;  // the other of deadline and connection came first
  deadline_.cancel();
  if (!error && connected_to_itself()) error = asio::error::connection_refused;
  asio::error_code ignored;
  if (error) socket_.close(ignored);
  std::exchange(done_, nullptr)(error, std::move(socket_));
}

// To a local port without a listener the kernel may choose that very port as our own, and connects
// the socket to itself.
bool TcpConnect::connected_to_itself() const {
  asio::error_code error;
  const auto local = socket_.local_endpoint(error);
  return !error && local == socket_.remote_endpoint(error) && !error;
}

}  // namespace tide::net
