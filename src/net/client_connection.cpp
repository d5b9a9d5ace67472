#include "net/client_connection.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <asio/post.hpp>
#include <chrono>
#include <utility>

#include "net/protocol.hpp"

namespace tide::net {

ClientConnection::ClientConnection(asio::io_context& io, ClientId id, LocalSocket socket,
                                   const ClientHubConfig& config, Owner& owner)
    : io_(io), config_(config), owner_(owner), id_(id), hello_deadline_(io) {
  stream_ = std::make_shared<MessageStream<LocalSocket>>(io, config.max_message_bytes, *this,
                                                         std::move(socket));
  stream_->decoder().set_max_message_bytes(kMaxHelloBytes);
}

ClientConnection::~ClientConnection() {
  if (!done_) stream_->abort();
}

Status ClientConnection::identify() {
  auto credentials = peer_credentials(stream_->socket().native_handle());
  if (!credentials) return credentials.error();
  credentials_ = *credentials;
  return may_use_dvm(credentials_.uid, ::geteuid());
}

void ClientConnection::start() {
  stream_->start();
  hello_deadline_.expires_after(std::chrono::milliseconds(config_.hello_timeout_ms));
  hello_deadline_.async_wait([weak = weak_from_this()](asio::error_code error) {
    const auto self = weak.lock();
    if (!self || error || self->welcomed_ || self->done_) return;
    const std::string text = fmt::format("no hello within {} ms", self->config_.hello_timeout_ms);
    self->refuse({ErrorCode::kTimedOut, text}, 0);
    self->owner_.client_ended(*self, text);
  });
}

void ClientConnection::on_stream_message(RawMessage message) {
  const auto self = shared_from_this();
  wire::ClientRequest request;
  if (!request.ParseFromString(message.header)) return end("it sent a request that can't be read");
  if (!welcomed_) return take_hello(request);
  if (request.has_hello() || request.body_case() == wire::ClientRequest::BODY_NOT_SET)
    return end("it sent a request that has no place here");
  owner_.client_request(*this, std::move(request), std::move(message.payload));
}

void ClientConnection::take_hello(const wire::ClientRequest& request) {
  Status status = Error{ErrorCode::kProtocol, "the first request must be a hello"};
  if (request.has_hello())
    status = check_protocol(request.hello().protocol(), request.hello().protocol_minimum());
  if (!status) {
    refuse(status.error(), request.request());
    return owner_.client_ended(*this, status.error().message);
  }
  welcomed_ = true;
  hello_deadline_.cancel();
  stream_->decoder().set_max_message_bytes(config_.max_message_bytes);
  wire::ClientReply reply;
  reply.set_request(request.request());
  wire::ClientWelcome& welcome = *reply.mutable_welcome();
  welcome.set_protocol(kProtocol);
  welcome.set_dvm_id(config_.dvm_id);
  welcome.set_dvm_name(config_.dvm_name);
  send(reply, {});
  owner_.client_welcomed(*this);
}

void ClientConnection::send(const wire::ClientReply& reply, Bytes payload) {
  // One class only: the end of a job must not overtake its output.
  const Status status =
      stream_->send({MessageClass::kControl, reply.SerializeAsString(), std::move(payload)});
  if (status) return;
  asio::post(io_, [self = shared_from_this(), text = status.error().message] { self->end(text); });
}

void ClientConnection::refuse(const Error& error, std::uint32_t request) {
  wire::ClientReply reply;
  reply.set_request(request);
  reply.mutable_error()->set_code(static_cast<std::uint32_t>(error.code));
  reply.mutable_error()->set_message(error.message);
  send(reply, {});
  drop();
}

void ClientConnection::drop() {
  if (std::exchange(done_, true)) return;
  hello_deadline_.cancel();
  stream_->finish(config_.flush_timeout_ms);
}

void ClientConnection::abort() {
  done_ = true;
  hello_deadline_.cancel();
  stream_->abort();
}

void ClientConnection::end(const std::string& text) {
  if (done_) return;
  const auto self = shared_from_this();
  abort();
  owner_.client_ended(*this, text);
}

void ClientConnection::on_stream_end(const Error& error) {
  end(error.code == ErrorCode::kProtocol ? "it sent " + error.message : "");
}

}  // namespace tide::net
