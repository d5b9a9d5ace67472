// The server's side of the local socket that thin clients use. Runs on one io_context and its one
// thread; a client that misbehaves loses its own connection and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "net/frame.hpp"
#include "wire/client.pb.h"

namespace asio {
class io_context;
}

namespace tide::net {

struct ClientHubConfig {
  std::string path;
  std::string dvm_id;  // told to every client in the welcome
  std::string dvm_name;
  std::size_t max_clients = 1024;   // that have introduced themselves
  std::size_t max_strangers = 256;  // that have begun to
  std::size_t max_silent = 1024;    // that have not said a word
  std::size_t max_message_bytes = kDefaultMaxMessageBytes;
  // Of requests that are not complete, of all clients together; who has most of it has to go.
  std::size_t max_held_bytes = 256UL << 20U;
  // Answers that a client has not read, job output not counted; then its requests wait.
  std::size_t max_unread_replies_bytes = 8UL << 20U;
  std::uint32_t hello_timeout_ms = 5000;  // for a client to introduce itself
  std::uint32_t flush_timeout_ms = 3000;  // for what is queued when a client is dropped
};

// Called from the io_context, never from inside a call on the ClientHub. Every call on the hub is
// allowed inside.
class ClientHandler {
 public:
  virtual ~ClientHandler() = default;
  // The client has introduced itself and was welcomed.
  virtual void on_client_connected(ClientId client, std::uint32_t pid) = 0;
  virtual void on_client_message(ClientId client, wire::ClientRequest request, Bytes payload) = 0;
  // The last word on a client that was connected, unless we dropped it.
  virtual void on_client_gone(ClientId client) = 0;
  // Somebody was turned away or broke the rules: a line for the log, at most one per second and
  // cause.
  virtual void on_client_refused(const std::string& text) = 0;
};

class ClientHub {
 public:
  ClientHub(asio::io_context& io, ClientHubConfig config, ClientHandler& handler);
  ~ClientHub();  // ends everything at once
  ClientHub(const ClientHub&) = delete;
  ClientHub& operator=(const ClientHub&) = delete;

  // Makes the socket (mode 0600). One that nobody listens on any more is replaced; one that is in
  // use, or another kind of file, is kAlreadyExists.
  Status listen();

  // Replies arrive in the order they are sent. A client that is not there is ignored; a reply above
  // the maximum size ends the connection.
  void send(ClientId client, const wire::ClientReply& reply, Bytes payload);

  // What was sent before goes out first, within the configured time. No on_client_gone follows.
  void drop(ClientId client);

  // Stops listening, removes the socket, drops every client. No callback follows.
  void shutdown();

  // Bytes waiting to be sent to a client; 0 when it is not there.
  [[nodiscard]] std::size_t queued_bytes(ClientId client) const;

  // Clients and strangers turned away so far.
  [[nodiscard]] std::uint64_t refused() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace tide::net
