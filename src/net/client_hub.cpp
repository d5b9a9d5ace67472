#include "net/client_hub.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <asio/io_context.hpp>
#include <asio/local/stream_protocol.hpp>
#include <cerrno>
#include <chrono>
#include <map>
#include <utility>

#include "net/client_connection.hpp"
#include "net/listener.hpp"
#include "net/refusal_log.hpp"

namespace tide::net {
namespace {

using asio::local::stream_protocol;

constexpr mode_t kSocketMode = 0600;

// Removes a socket that was left behind by a head that is gone.
Status clear_path(asio::io_context& io, const std::string& path) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0)
    return errno == ENOENT ? ok_status() : system_error("looking at " + path, errno);
  if (!S_ISSOCK(info.st_mode))
    return Error{ErrorCode::kAlreadyExists, path + " is there already and is no socket"};
  stream_protocol::socket probe(io);
  asio::error_code error;
  probe.connect(stream_protocol::endpoint(path), error);
  if (error != asio::error::connection_refused)
    return Error{ErrorCode::kAlreadyExists, path + " is in use by another process"};
  if (::unlink(path.c_str()) != 0) return system_error("removing the old " + path, errno);
  return ok_status();
}

Result<stream_protocol::acceptor> open_acceptor(asio::io_context& io, const std::string& path) {
  if (path.empty() || path.size() >= sizeof(sockaddr_un::sun_path))
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("a socket path must have 1 to {} bytes; {} has {}",
                             sizeof(sockaddr_un::sun_path) - 1, path, path.size())};
  if (Status status = clear_path(io, path); !status) return status.error();
  stream_protocol::acceptor acceptor(io);
  asio::error_code error;
  acceptor.open(stream_protocol(), error);
  // On the unbound socket: the file then appears with these permissions, without a moment of
  // others.
  if (!error && ::fchmod(acceptor.native_handle(), kSocketMode) != 0)
    return system_error("restricting " + path, errno);
  if (!error) acceptor.bind(stream_protocol::endpoint(path), error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error)
    return Error{ErrorCode::kSystem, fmt::format("listening on {}: {}", path, error.message())};
  return acceptor;
}

}  // namespace

class ClientHub::Impl final : public std::enable_shared_from_this<Impl>,
                              public ClientConnection::Owner,
                              public Listener<stream_protocol>::Handler {
 public:
  Impl(asio::io_context& io, ClientHubConfig config, ClientHandler& handler)
      : io_(io), config_(std::move(config)), handler_(handler) {}

  Status listen();
  void send(ClientId id, const wire::ClientReply& reply, Bytes payload);
  void drop(ClientId id);
  void shutdown(bool flush);
  [[nodiscard]] std::size_t queued_bytes(ClientId id) const;

 private:
  void client_welcomed(ClientConnection& client) override;
  void client_request(ClientConnection& client, wire::ClientRequest request,
                      Bytes payload) override;
  void client_ended(ClientConnection& client, const std::string& text) override;

  void on_accepted(LocalSocket socket) override;
  void on_accept_trouble(const std::string& text) override { note_refusal(text); }
  std::uint32_t accept_delay_ms() override { return 0; }

  void note_refusal(const std::string& text);
  void remove_socket() const;

  asio::io_context& io_;
  ClientHubConfig config_;
  ClientHandler& handler_;
  std::uint64_t last_id_ = 0;
  std::shared_ptr<Listener<stream_protocol>> listener_;
  dev_t socket_device_ = 0;  // of the file we made
  ino_t socket_inode_ = 0;
  std::map<ClientId, std::shared_ptr<ClientConnection>> clients_;  // welcomed or not
  RefusalLog refusals_;
};

Status ClientHub::Impl::listen() {
  auto acceptor = open_acceptor(io_, config_.path);
  if (!acceptor) return acceptor.error();
  struct stat info{};
  if (::lstat(config_.path.c_str(), &info) != 0)
    return system_error("looking at " + config_.path, errno);
  socket_device_ = info.st_dev;
  socket_inode_ = info.st_ino;
  listener_ = std::make_shared<Listener<stream_protocol>>(io_, std::move(*acceptor), *this);
  listener_->start();
  return ok_status();
}

void ClientHub::Impl::on_accepted(LocalSocket socket) {
  const ClientId id(++last_id_);
  auto client = std::make_shared<ClientConnection>(io_, id, std::move(socket), config_, *this);
  Status status = client->identify();
  if (status && clients_.size() >= config_.max_clients)
    status =
        Error{ErrorCode::kOutOfResources,
              fmt::format("this DVM serves {} clients already, its maximum", config_.max_clients)};
  client->start();
  if (status) {
    clients_.emplace(id, std::move(client));
    return;
  }
  client->refuse(status.error(), 0);
  note_refusal(fmt::format("process {}: {}", client->credentials().pid, status.error().message));
}

void ClientHub::Impl::client_welcomed(ClientConnection& client) {
  handler_.on_client_connected(client.id(), static_cast<std::uint32_t>(client.credentials().pid));
}

void ClientHub::Impl::client_request(ClientConnection& client, wire::ClientRequest request,
                                     Bytes payload) {
  handler_.on_client_message(client.id(), std::move(request), std::move(payload));
}

void ClientHub::Impl::client_ended(ClientConnection& client, const std::string& text) {
  const auto self = shared_from_this();
  clients_.erase(client.id());
  if (!text.empty()) note_refusal(fmt::format("process {}: {}", client.credentials().pid, text));
  if (client.welcomed()) handler_.on_client_gone(client.id());
}

void ClientHub::Impl::send(ClientId id, const wire::ClientReply& reply, Bytes payload) {
  const auto found = clients_.find(id);
  if (found != clients_.end()) found->second->send(reply, std::move(payload));
}

void ClientHub::Impl::drop(ClientId id) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  found->second->drop();
  clients_.erase(found);
}

std::size_t ClientHub::Impl::queued_bytes(ClientId id) const {
  const auto found = clients_.find(id);
  return found == clients_.end() ? 0 : found->second->queued_bytes();
}

void ClientHub::Impl::note_refusal(const std::string& text) {
  if (auto line = refusals_.note(text, std::chrono::steady_clock::now()))
    handler_.on_client_refused(*line);
}

void ClientHub::Impl::shutdown(bool flush) {
  if (listener_) {
    listener_->close();
    listener_.reset();
    remove_socket();
  }
  for (auto& [id, client] : clients_) {
    if (flush)
      client->drop();
    else
      client->abort();
  }
  clients_.clear();
}

// Only our own: in the meantime the path may have become somebody else's.
void ClientHub::Impl::remove_socket() const {
  struct stat info{};
  if (::lstat(config_.path.c_str(), &info) != 0) return;
  if (info.st_dev == socket_device_ && info.st_ino == socket_inode_) ::unlink(config_.path.c_str());
}

// ---- the public face ----

ClientHub::ClientHub(asio::io_context& io, ClientHubConfig config, ClientHandler& handler)
    : impl_(std::make_shared<Impl>(io, std::move(config), handler)) {}

ClientHub::~ClientHub() {
  impl_->shutdown(false);
}

Status ClientHub::listen() {
  return impl_->listen();
}

void ClientHub::send(ClientId client, const wire::ClientReply& reply, Bytes payload) {
  impl_->send(client, reply, std::move(payload));
}

void ClientHub::drop(ClientId client) {
  impl_->drop(client);
}

void ClientHub::shutdown() {
  impl_->shutdown(true);
}

std::size_t ClientHub::queued_bytes(ClientId client) const {
  return impl_->queued_bytes(client);
}

}  // namespace tide::net
