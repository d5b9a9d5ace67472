// One thin client at the server's end of the local socket: credentials, hello and welcome,
// requests.
#pragma once

#include <asio/io_context.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "net/client_hub.hpp"
#include "net/message_stream.hpp"
#include "net/peer_credentials.hpp"
#include "wire/client.pb.h"

namespace tide::net {

using LocalSocket = asio::local::stream_protocol::socket;

enum class ClientRights : std::uint8_t {
  kAll,
  kPutRight,  // the DVM is full: look, end jobs, take it down, and that within a bounded time
};

class ClientConnection final : public std::enable_shared_from_this<ClientConnection>,
                               public MessageStream<LocalSocket>::Handler {
 public:
  // Called from the io_context, never from inside a call on the connection.
  class Owner {
   public:
    virtual ~Owner() = default;
    // The hello is fine: may the client stay, and with which rights? An Error is its answer.
    virtual Result<ClientRights> client_rights(ClientConnection& client) = 0;
    virtual void client_welcomed(ClientConnection& client) = 0;
    virtual void client_request(ClientConnection& client, wire::ClientRequest request,
                                Bytes payload) = 0;
    // The last call, for a connection that was not dropped by the owner. `text` is empty when the
    // client just left.
    virtual void client_ended(ClientConnection& client, const std::string& text) = 0;
    // How much is kept of a request that is not complete.
    virtual void client_holds(ClientConnection& client, std::size_t bytes) = 0;
  };

  ClientConnection(asio::io_context& io, ClientId id, LocalSocket socket,
                   const ClientHubConfig& config, Owner& owner);
  ~ClientConnection() override;
  ClientConnection(const ClientConnection&) = delete;
  ClientConnection& operator=(const ClientConnection&) = delete;

  // Waits for the client's hello, for a bounded time.
  void start();
  void send(const wire::ClientReply& reply, Bytes payload);
  // Answers with an error and drops the client.
  void refuse(const Error& error, std::uint32_t request);
  // What was sent goes out first, also when this object is gone already. The owner is not called
  // any more.
  void drop();
  // At once; the owner is not called any more.
  void abort();

  [[nodiscard]] ClientId id() const { return id_; }
  [[nodiscard]] bool welcomed() const { return welcomed_; }
  [[nodiscard]] const PeerCredentials& credentials() const { return credentials_; }
  [[nodiscard]] std::size_t queued_bytes() const { return stream_->queued_bytes(); }
  [[nodiscard]] ClientRights rights() const { return rights_; }

  // What the kernel says about the peer; asked by the owner before start().
  Status identify();

 private:
  void on_stream_message(RawMessage message) override;
  void on_stream_held(std::size_t bytes) override { owner_.client_holds(*this, bytes); }
  void on_stream_end(const Error& error) override;

  void limit_stay(const char* what);
  void take_hello(const wire::ClientRequest& request);
  void end(const std::string& text);

  asio::io_context& io_;
  const ClientHubConfig& config_;
  Owner& owner_;
  ClientId id_;
  PeerCredentials credentials_;
  bool welcomed_ = false;
  bool asked_for_end_ = false;  // of the DVM
  bool done_ = false;           // dropped or ended
  ClientRights rights_ = ClientRights::kAll;
  asio::steady_timer deadline_;  // for the hello, or for all of a visit
  std::shared_ptr<MessageStream<LocalSocket>> stream_;
};

}  // namespace tide::net
