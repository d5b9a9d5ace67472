#include "net/client_connection.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <asio/post.hpp>
#include <chrono>
#include <utility>

#include "net/protocol.hpp"

namespace tide::net {
namespace {

bool puts_right(const wire::ClientRequest& request) {
  return request.has_status() || request.has_kill() || request.has_down();
}

}  // namespace

ClientConnection::ClientConnection(asio::io_context& io, ClientId id, LocalSocket socket,
                                   const ClientHubConfig& config, Owner& owner)
    : io_(io), config_(config), owner_(owner), id_(id), deadline_(io) {
  stream_ = std::make_shared<MessageStream<LocalSocket>>(io, config.max_message_bytes, *this,
                                                         std::move(socket));
  stream_->decoder().set_max_message_bytes(kMaxHelloBytes);
  stream_->pause_above(config.max_unread_replies_bytes);
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
  limit_stay("no hello");
}

void ClientConnection::limit_stay(const char* what) {
  deadline_.expires_after(std::chrono::milliseconds(config_.hello_timeout_ms));
  deadline_.async_wait([weak = weak_from_this(), what](asio::error_code error) {
    const auto self = weak.lock();
    if (!self || error || self->done_ || self->asked_for_end_) return;
    const std::string text = fmt::format("{} within {} ms", what, self->config_.hello_timeout_ms);
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
  if (rights_ == ClientRights::kPutRight && !puts_right(request)) {
    const std::string text =
        "this DVM has no room for another client; 'tide jobs' and 'tide down' "
        "still work";
    refuse({ErrorCode::kOutOfResources, text}, request.request());
    return owner_.client_ended(*this, text);
  }
  asked_for_end_ = asked_for_end_ || request.has_down();
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
  const auto rights = owner_.client_rights(*this);
  if (!rights) {
    refuse(rights.error(), request.request());
    return owner_.client_ended(*this, rights.error().message);
  }
  rights_ = *rights;
  welcomed_ = true;
  deadline_.cancel();
  if (rights_ == ClientRights::kPutRight) limit_stay("no room for a longer visit, and no end");
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
  deadline_.cancel();
  stream_->finish(config_.flush_timeout_ms);
}

void ClientConnection::abort() {
  done_ = true;
  deadline_.cancel();
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
