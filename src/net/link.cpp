#include "net/link.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <utility>

#include "net/endpoint.hpp"
#include "net/handshake.hpp"
#include "net/protocol.hpp"

namespace tide::net {
namespace {

using std::chrono::milliseconds;

// How much bulk may wait in the kernel, where control can't overtake it any more.
constexpr int kUnsentInKernelBytes = 128 * 1024;

// When the deadline of silence has passed what already lies in the socket still gets its turn: the
// silence may have been ours, of a process that was stopped or starved.
constexpr milliseconds kLastChance{50};

void tune(asio::ip::tcp::socket& socket) {
  asio::error_code ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  const asio::detail::socket_option::integer<IPPROTO_TCP, TCP_NOTSENT_LOWAT> unsent(
      kUnsentInKernelBytes);
  socket.set_option(unsent, ignored);
}

bool is_hang_up(asio::error_code error) {
  return error == asio::error::eof || error == asio::ssl::error::stream_truncated ||
         error == asio::error::connection_reset || error == asio::error::broken_pipe;
}

}  // namespace

std::string address_text(const asio::ip::tcp::socket& socket) {
  asio::error_code error;
  const auto endpoint = socket.remote_endpoint(error);
  if (error) return "a peer that is gone";
  // A socket for both families has IPv4 callers in an IPv6 spelling that nobody knows them by.
  auto address = endpoint.address();
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
  }
  return endpoint_text(address.to_string(), endpoint.port());
}

Link::Link(asio::io_context& io, LinkId id, std::optional<Rank> asked_for,
           asio::ip::tcp::socket socket, std::shared_ptr<TlsContext> tls, const LinkConfig& config,
           Owner& owner)
    : io_(io),
      config_(config),
      owner_(owner),
      id_(id),
      asked_for_(asked_for),
      peer_address_(address_text(socket)),
      timer_(io),
      tls_(std::move(tls)) {
  tune(socket);
  stream_ = std::make_shared<MessageStream<TlsStream>>(io, config.max_message_bytes, *this,
                                                       std::move(socket), tls_->context());
  stream_->decoder().set_max_message_bytes(kMaxHelloBytes);
}

Link::~Link() {
  if (state_ < State::kClosing) stream_->abort();
}

void Link::start() {
  timer_.expires_after(milliseconds(config_.handshake_timeout_ms));
  timer_.async_wait([weak = weak_from_this()](asio::error_code error) {
    const auto self = weak.lock();
    if (!self || error || self->state_ > State::kHello) return;
    self->end(LinkEnd::kSilent,
              fmt::format("no handshake within {} ms", self->config_.handshake_timeout_ms));
  });
  const auto role = outgoing() ? asio::ssl::stream_base::client : asio::ssl::stream_base::server;
  // The operation may outlast the link, and needs the stream and the key until it ends.
  stream_->stream().async_handshake(
      role, [weak = weak_from_this(), stream = stream_, tls = tls_](asio::error_code error) {
        if (const auto self = weak.lock()) self->on_tls(error);
      });
}

void Link::on_tls(asio::error_code error) {
  if (state_ != State::kTls) return;
  if (error) {
    hung_up_early_ = is_hang_up(error);
    tls_failure_ = error.message();
    return end(LinkEnd::kRefused,
               fmt::format("no TLS (another key, another DVM, or no daemon at all?): {}",
                           error.message()));
  }
  if (!TlsContext::key_was_proven(stream_->stream().native_handle())) {
    tls_failure_ = "no key";
    return end(LinkEnd::kRefused, "the peer did not prove that it has the DVM's key");
  }
  state_ = State::kHello;
  stream_->start();
  send(MessageClass::kControl, hello_message(config_), {});
}

void Link::on_stream_message(RawMessage message) {
  const auto self = shared_from_this();
  wire::LinkMessage parsed;
  if (!parsed.ParseFromString(message.header))
    return end(LinkEnd::kProtocol, "the peer sent a message that can't be read");
  take(std::move(parsed), std::move(message.payload));
}

void Link::take(wire::LinkMessage message, Bytes payload) {
  if (message.has_goodbye())
    return end(link_end_of(message.goodbye().reason()), message.goodbye().text());
  if (state_ == State::kHello) {
    if (message.has_hello()) return take_hello(message.hello());
    return refuse("the first message on a link must be a hello");
  }
  if (message.has_heartbeat()) return;
  if (message.has_hello() || message.body_case() == wire::LinkMessage::BODY_NOT_SET)
    return end(LinkEnd::kProtocol, "the peer sent a message that has no place here");
  owner_.link_message(*this, std::move(message), std::move(payload));
}

void Link::take_hello(const wire::Hello& hello) {
  if (Status status = check_hello(config_, asked_for_, hello); !status)
    return refuse(status.error().message);
  state_ = State::kUp;
  was_up_ = true;
  stream_->decoder().set_max_message_bytes(config_.max_message_bytes);
  schedule_heartbeat();
  owner_.link_up(*this, hello);
}

void Link::send(MessageClass message_class, const wire::LinkMessage& message, Bytes payload) {
  const Status status =
      stream_->send({message_class, message.SerializeAsString(), std::move(payload)});
  if (status) return;
  // The sender counts on delivery, so a message that can't be sent is the end of the link.
  asio::post(io_, [self = shared_from_this(), text = status.error().message] {
    self->end(LinkEnd::kProtocol, text);
  });
}

void Link::close(wire::GoodbyeReason reason, const std::string& text) {
  if (state_ >= State::kClosing) return;
  wire::LinkMessage message;
  message.mutable_goodbye()->set_reason(reason);
  message.mutable_goodbye()->set_text(text);
  // In the bulk class it follows all that is queued in either.
  send(MessageClass::kBulk, message, {});
  state_ = State::kClosing;
  timer_.cancel();
  stream_->finish(config_.flush_timeout_ms);
}

// Tells the peer why, and the owner too: for it the link is a failure, not one that it closed.
void Link::refuse(const std::string& text) {
  close(wire::GOODBYE_REFUSED, text);
  owner_.link_ended(*this, LinkEnd::kRefused, text);
}

void Link::abort() {
  state_ = State::kEnded;
  timer_.cancel();
  stream_->abort();
}

void Link::end(LinkEnd end, const std::string& text) {
  if (state_ >= State::kClosing) return;
  const auto self = shared_from_this();
  timer_.cancel();
  stream_->abort();
  state_ = State::kEnded;
  owner_.link_ended(*this, end, text);
}

void Link::on_stream_end(const Error& error) {
  const bool broke_rules = error.code == ErrorCode::kProtocol;
  end(broke_rules ? LinkEnd::kProtocol : LinkEnd::kClosed,
      broke_rules ? "the peer sent " + error.message : error.message);
}

void Link::schedule_heartbeat() {
  const auto speak = stream_->last_sent() + milliseconds(config_.heartbeat_interval_ms);
  const auto give_up = stream_->last_received() + milliseconds(config_.heartbeat_timeout_ms);
  const auto now = Clock::now();
  auto next = suspected_since_ ? *suspected_since_ + kLastChance : give_up;
  // While a write is under way the peer will hear from us anyway, and there is nothing to add.
  if (!stream_->sending()) next = std::min(next, speak);
  next = std::min(next, now + milliseconds(config_.heartbeat_interval_ms));
  timer_.expires_at(next);
  timer_.async_wait([weak = weak_from_this()](asio::error_code error) {
    const auto self = weak.lock();
    if (self && !error && self->state_ == State::kUp) self->on_heartbeat_timer();
  });
}

void Link::on_heartbeat_timer() {
  const auto now = Clock::now();
  const auto silence = now - stream_->last_received();
  if (silence < milliseconds(config_.heartbeat_timeout_ms)) {
    suspected_since_.reset();
  } else if (!suspected_since_) {
    suspected_since_ = now;
  } else if (now - *suspected_since_ >= kLastChance) {
    return end(LinkEnd::kSilent,
               fmt::format("nothing heard for {} ms",
                           std::chrono::duration_cast<milliseconds>(silence).count()));
  }
  if (!stream_->sending() &&
      now - stream_->last_sent() >= milliseconds(config_.heartbeat_interval_ms)) {
    wire::LinkMessage message;
    message.mutable_heartbeat();
    send(MessageClass::kControl, message, {});
  }
  schedule_heartbeat();
}

}  // namespace tide::net
