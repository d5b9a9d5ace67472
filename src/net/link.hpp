// One link between two daemons, from the TCP connection to its end: TLS, the exchange of hellos,
// messages, heartbeats, goodbye.
#pragma once

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/ssl/stream.hpp>
#include <asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "net/link_config.hpp"
#include "net/message_stream.hpp"
#include "net/tls_context.hpp"
#include "wire/link.pb.h"

namespace tide::net {

using TlsStream = asio::ssl::stream<asio::ip::tcp::socket>;

// Where a connected socket leads, for people.
std::string address_text(const asio::ip::tcp::socket& socket);

class Link final : public std::enable_shared_from_this<Link>,
                   public MessageStream<TlsStream>::Handler {
 public:
  // Called from the io_context, never from inside a call on the link.
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void link_up(Link& link, const wire::Hello& hello) = 0;
    virtual void link_message(Link& link, wire::LinkMessage message, Bytes payload) = 0;
    // The last call, for a link that was not closed by the owner; it need not have been up.
    virtual void link_ended(Link& link, LinkEnd end, const std::string& text) = 0;
  };

  // `asked_for`: the peer we connected to; nothing for an incoming link.
  Link(asio::io_context& io, LinkId id, std::optional<Rank> asked_for, asio::ip::tcp::socket socket,
       std::shared_ptr<TlsContext> tls, const LinkConfig& config, Owner& owner);
  ~Link() override;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  void start();
  void send(MessageClass message_class, const wire::LinkMessage& message, Bytes payload);
  // What was sent before goes out first, also when the link object is gone already. The owner is
  // not called any more.
  void close(wire::GoodbyeReason reason, const std::string& text);
  // At once and without a word; the owner is not called any more.
  void abort();

  [[nodiscard]] LinkId id() const { return id_; }
  [[nodiscard]] bool outgoing() const { return asked_for_.has_value(); }
  // Was the handshake completed at any time?
  [[nodiscard]] bool was_up() const { return was_up_; }
  [[nodiscard]] std::size_t queued_bytes() const { return stream_->queued_bytes(); }
  [[nodiscard]] const std::string& peer_address() const { return peer_address_; }
  // Why there was no TLS; empty when it was not that.
  [[nodiscard]] const std::string& tls_failure() const { return tls_failure_; }
  // Did the peer end it before it showed any knowledge of the key? Port scans and probes do.
  [[nodiscard]] bool hung_up_early() const { return hung_up_early_; }

 private:
  enum class State : std::uint8_t { kTls, kHello, kUp, kClosing, kEnded };
  using Clock = std::chrono::steady_clock;

  void on_stream_message(RawMessage message) override;
  void on_stream_end(const Error& error) override;

  void on_tls(asio::error_code error);
  void take_hello(const wire::Hello& hello);
  void take(wire::LinkMessage message, Bytes payload);
  void refuse(const std::string& text);
  void end(LinkEnd end, const std::string& text);
  void schedule_heartbeat();
  void on_heartbeat_timer();

  asio::io_context& io_;
  const LinkConfig& config_;
  Owner& owner_;
  LinkId id_;
  std::optional<Rank> asked_for_;
  std::string peer_address_;
  State state_ = State::kTls;
  std::string tls_failure_;
  bool hung_up_early_ = false;
  bool was_up_ = false;
  std::optional<Clock::time_point> suspected_since_;  // that the peer is silent
  asio::steady_timer timer_;  // first the handshake's deadline, then heartbeats
  std::shared_ptr<TlsContext> tls_;
  std::shared_ptr<MessageStream<TlsStream>> stream_;
};

}  // namespace tide::net
