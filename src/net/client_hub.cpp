#include "net/client_hub.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <asio/io_context.hpp>
#include <asio/local/stream_protocol.hpp>
#include <cerrno>
#include <chrono>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "net/client_connection.hpp"
#include "net/listener.hpp"
#include "net/refusal_log.hpp"

namespace tide::net {
namespace {

using asio::local::stream_protocol;

constexpr mode_t kSocketMode = 0600;
// A DVM that is full is still open to this many who come to look or to take it down.
constexpr std::size_t kPutRightClients = 8;
// With as many strangers as there may be the oldest has to go once it is this old. An honest client
// says its hello in one piece and at once.
constexpr std::chrono::milliseconds kCrowdedGrace{250};

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
  [[nodiscard]] std::uint64_t refused() const { return refusals_.total(); }

 private:
  using Clock = std::chrono::steady_clock;

  Result<ClientRights> client_rights(ClientConnection& client) override;
  void client_holds(ClientConnection& client, std::size_t bytes) override;
  void client_welcomed(ClientConnection& client) override;
  void client_request(ClientConnection& client, wire::ClientRequest request,
                      Bytes payload) override;
  void client_ended(ClientConnection& client, const std::string& text) override;

  void on_accepted(LocalSocket socket, Admission admission) override;
  void on_dismissed(LocalSocket socket, Dismissal why) override;
  void on_accept_trouble(const std::string& text) override { note_refusal("accept", text); }
  std::uint32_t admit_delay_ms() override;

  void turn_away(ClientConnection& client, const Error& error, std::string_view cause);
  void forget(ClientId id);
  void shed_largest_request();
  void note_refusal(std::string_view cause, const std::string& text);
  void remove_socket() const;

  asio::io_context& io_;
  ClientHubConfig config_;
  ClientHandler& handler_;
  std::uint64_t last_id_ = 0;
  std::shared_ptr<Listener<stream_protocol>> listener_;
  dev_t socket_device_ = 0;  // of the file we made
  ino_t socket_inode_ = 0;
  std::map<ClientId, std::shared_ptr<ClientConnection>> clients_;  // welcomed or not
  std::map<ClientId, Clock::time_point> strangers_;  // those not welcomed, oldest first
  std::set<ClientId> on_reserve_;                    // came in with the last descriptor
  std::map<ClientId, std::size_t> held_;
  std::size_t held_bytes_ = 0;
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
  const DoorstepLimits limits{config_.max_silent, config_.hello_timeout_ms, true};
  listener_ = std::make_shared<Listener<stream_protocol>>(io_, std::move(*acceptor), limits, *this);
  listener_->start();
  return ok_status();
}

std::uint32_t ClientHub::Impl::admit_delay_ms() {
  if (strangers_.size() < config_.max_strangers || strangers_.empty()) return 0;
  const auto age = Clock::now() - strangers_.begin()->second;
  if (age < kCrowdedGrace)
    return static_cast<std::uint32_t>(
        std::chrono::ceil<std::chrono::milliseconds>(kCrowdedGrace - age).count());
  const auto client = clients_.at(strangers_.begin()->first);
  forget(client->id());
  turn_away(*client,
            {ErrorCode::kOutOfResources,
             fmt::format("dropped, {} clients wait to be welcomed", config_.max_strangers)},
            "crowded");
  return 0;
}

void ClientHub::Impl::on_accepted(LocalSocket socket, Admission admission) {
  const ClientId id(++last_id_);
  auto client = std::make_shared<ClientConnection>(io_, id, std::move(socket), config_, *this);
  const Status status = client->identify();
  client->start();
  if (!status) return turn_away(*client, status.error(), "user");
  strangers_.emplace(id, Clock::now());
  if (admission == Admission::kReserve) on_reserve_.insert(id);
  clients_.emplace(id, std::move(client));
}

void ClientHub::Impl::on_dismissed(LocalSocket socket, Dismissal why) {
  const ClientId id(++last_id_);
  const auto client =
      std::make_shared<ClientConnection>(io_, id, std::move(socket), config_, *this);
  static_cast<void>(client->identify());
  client->start();
  if (why == Dismissal::kSilent)
    return turn_away(
        *client,
        {ErrorCode::kTimedOut, fmt::format("no hello within {} ms", config_.hello_timeout_ms)},
        "silent");
  turn_away(*client, {ErrorCode::kOutOfResources, "dropped, others wait to be heard"}, "crowded");
}

void ClientHub::Impl::turn_away(ClientConnection& client, const Error& error,
                                std::string_view cause) {
  client.refuse(error, 0);
  note_refusal(cause, fmt::format("process {}: {}", client.credentials().pid, error.message));
}

Result<ClientRights> ClientHub::Impl::client_rights(ClientConnection& client) {
  const std::size_t welcomed = clients_.size() - strangers_.size();
  const bool on_reserve = on_reserve_.contains(client.id());
  if (welcomed < config_.max_clients && !on_reserve) return ClientRights::kAll;
  if (welcomed < config_.max_clients + kPutRightClients) return ClientRights::kPutRight;
  return Error{ErrorCode::kOutOfResources,
               fmt::format("this DVM serves {} clients already, its maximum", config_.max_clients)};
}

// Requests are complete when they are served; only who stops in the middle of a large one makes
// the sum grow.
void ClientHub::Impl::client_holds(ClientConnection& client, std::size_t bytes) {
  const auto known = held_.find(client.id());
  held_bytes_ += bytes - (known == held_.end() ? 0 : known->second);
  if (bytes > 0)
    held_[client.id()] = bytes;
  else if (known != held_.end())
    held_.erase(known);
  while (held_bytes_ > config_.max_held_bytes) shed_largest_request();
}

void ClientHub::Impl::shed_largest_request() {
  const auto largest = std::max_element(
      held_.begin(), held_.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto client = clients_.at(largest->first);
  client->refuse({ErrorCode::kOutOfResources,
                  fmt::format("the DVM waits for the rest of too many large requests; {} bytes of "
                              "this one are dropped",
                              largest->second)},
                 0);
  client_ended(*client, "it sent part of a large request, and so did too many others");
}

void ClientHub::Impl::forget(ClientId id) {
  clients_.erase(id);
  on_reserve_.erase(id);
  if (strangers_.erase(id) > 0 && listener_) listener_->wake();
  const auto held = held_.find(id);
  if (held == held_.end()) return;
  held_bytes_ -= held->second;
  held_.erase(held);
}

void ClientHub::Impl::client_welcomed(ClientConnection& client) {
  if (strangers_.erase(client.id()) > 0) listener_->wake();
  handler_.on_client_connected(client.id(), static_cast<std::uint32_t>(client.credentials().pid));
}

void ClientHub::Impl::client_request(ClientConnection& client, wire::ClientRequest request,
                                     Bytes payload) {
  handler_.on_client_message(client.id(), std::move(request), std::move(payload));
}

void ClientHub::Impl::client_ended(ClientConnection& client, const std::string& text) {
  const auto self = shared_from_this();
  forget(client.id());
  // What a client sent may be in the text, so the text is no cause of its own.
  if (!text.empty())
    note_refusal(client.welcomed() ? "client" : "hello",
                 fmt::format("process {}: {}", client.credentials().pid, text));
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
  forget(id);
}

std::size_t ClientHub::Impl::queued_bytes(ClientId id) const {
  const auto found = clients_.find(id);
  return found == clients_.end() ? 0 : found->second->queued_bytes();
}

void ClientHub::Impl::note_refusal(std::string_view cause, const std::string& text) {
  if (auto line = refusals_.note(cause, text, Clock::now())) handler_.on_client_refused(*line);
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
  strangers_.clear();
  on_reserve_.clear();
  held_.clear();
  held_bytes_ = 0;
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

std::uint64_t ClientHub::refused() const {
  return impl_->refused();
}

}  // namespace tide::net
