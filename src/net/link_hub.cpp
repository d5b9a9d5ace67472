#include "net/link_hub.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/ip/v6_only.hpp>
#include <asio/post.hpp>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "net/endpoint.hpp"
#include "net/link.hpp"
#include "net/listener.hpp"
#include "net/refusal_log.hpp"
#include "net/tcp_connect.hpp"
#include "net/tls_context.hpp"

namespace tide::net {

using asio::ip::tcp;
using Clock = std::chrono::steady_clock;

namespace {

// With the cap on unauthenticated links reached the oldest has to go once it is this old; until
// then callers wait in the kernel's queue. An honest handshake takes a few milliseconds, so that a
// crowd of daemons that start together is served, and a crowd of idlers can't lock them out.
constexpr std::chrono::milliseconds kCrowdedGrace{250};

Result<tcp::acceptor> open_acceptor(asio::io_context& io, const std::string& address) {
  asio::error_code error;
  const auto parsed = asio::ip::make_address(address, error);
  if (error)
    return Error{ErrorCode::kInvalidArgument, "'" + address + "' is no numeric network address"};
  const tcp::endpoint endpoint(parsed, 0);
  tcp::acceptor acceptor(io);
  acceptor.open(endpoint.protocol(), error);
  if (!error && parsed.is_v6() && parsed.is_unspecified())
    acceptor.set_option(asio::ip::v6_only(false), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error)
    return Error{ErrorCode::kSystem, fmt::format("listening on {}: {}", address, error.message())};
  return acceptor;
}

const char* end_name(LinkEnd end) {
  switch (end) {
    case LinkEnd::kSilent:
      return "silent";
    case LinkEnd::kRefused:
      return "hello";
    case LinkEnd::kProtocol:
      return "protocol";
    default:
      return "closed";
  }
}

}  // namespace

class LinkHub::Impl final : public std::enable_shared_from_this<Impl>,
                            public Link::Owner,
                            public Listener<tcp>::Handler {
 public:
  Impl(asio::io_context& io, LinkConfig config, LinkHandler& handler)
      : io_(io), config_(std::move(config)), handler_(handler) {
    tls_ = TlsContext::create(config_.dvm_id, config_.key);
    OPENSSL_cleanse(config_.key.data(), config_.key.size());
    config_.key.clear();
  }

  Result<std::vector<wire::Endpoint>> listen(const std::string& address);
  void connect(Rank peer, std::vector<wire::Endpoint> endpoints);
  void send(LinkId id, bool bulk, const wire::LinkMessage& message, Bytes payload);
  void close(LinkId id, wire::GoodbyeReason reason, const std::string& text);
  void probe(std::vector<wire::Endpoint> endpoints, std::function<void(bool)> answer);
  void shutdown(bool with_goodbye);
  [[nodiscard]] std::size_t queued_bytes(LinkId id) const;
  [[nodiscard]] std::uint64_t refused() const { return refusals_.total(); }

 private:
  struct Dial {
    Rank peer;
    std::vector<wire::Endpoint> endpoints;
    std::size_t next = 0;  // endpoint to try
    bool all_refused = true;
    std::string failures;
    std::shared_ptr<TcpConnect> tcp;
    std::shared_ptr<Link> link;
  };
  struct ProbeRun {
    std::vector<wire::Endpoint> endpoints;
    std::size_t next = 0;
    bool all_refused = true;
    std::function<void(bool)> answer;
    std::shared_ptr<TcpConnect> tcp;
  };
  struct Incoming {
    std::shared_ptr<Link> link;
    Clock::time_point since;
  };

  void link_up(Link& link, const wire::Hello& hello) override;
  void link_message(Link& link, wire::LinkMessage message, Bytes payload) override;
  void link_ended(Link& link, LinkEnd end, const std::string& text) override;

  void on_accepted(tcp::socket socket, Admission admission) override;
  void on_dismissed(tcp::socket socket, Dismissal why) override;
  void on_accept_trouble(const std::string& text) override { note_refusal("accept", text); }
  std::uint32_t admit_delay_ms() override;

  void dial_next(LinkId id);
  void on_dialled(LinkId id, asio::error_code error, tcp::socket socket);
  void dial_failed(LinkId id, bool refused, const std::string& text);
  void give_up_dial(LinkId id);
  void probe_next(std::uint64_t id);
  void on_probed(std::uint64_t id, asio::error_code error);
  void forget_incoming(LinkId id);
  void note_refusal(std::string_view cause, const std::string& text);
  LinkId new_id() { return LinkId(++last_id_); }

  asio::io_context& io_;
  LinkConfig config_;
  LinkHandler& handler_;
  Result<std::shared_ptr<TlsContext>> tls_ = Error{};
  bool down_ = false;
  std::uint64_t last_id_ = 0;
  std::vector<std::shared_ptr<Listener<tcp>>> listeners_;
  std::map<LinkId, std::shared_ptr<Link>> links_;  // up
  std::map<LinkId, Incoming> incoming_;            // accepted, not up; oldest first
  std::map<LinkId, Dial> dials_;
  std::map<std::uint64_t, ProbeRun> probes_;
  RefusalLog refusals_;
};

// ---- listening ----

Result<std::vector<wire::Endpoint>> LinkHub::Impl::listen(const std::string& address) {
  if (!tls_) return tls_.error();
  if (down_) return Error{ErrorCode::kUnavailable, "the links are shut down"};
  auto acceptor = open_acceptor(io_, address);
  if (!acceptor) return acceptor.error();
  asio::error_code error;
  const std::uint16_t port = acceptor->local_endpoint(error).port();
  auto endpoints = endpoints_to_tell(address, port);
  if (!endpoints) return endpoints;
  const DoorstepLimits limits{config_.max_silent, config_.handshake_timeout_ms, false};
  listeners_.push_back(std::make_shared<Listener<tcp>>(io_, std::move(*acceptor), limits, *this));
  listeners_.back()->start();
  return endpoints;
}

std::uint32_t LinkHub::Impl::admit_delay_ms() {
  if (incoming_.size() < config_.max_unauthenticated || incoming_.empty()) return 0;
  const auto oldest = incoming_.begin();
  const auto age = Clock::now() - oldest->second.since;
  if (age < kCrowdedGrace)
    return static_cast<std::uint32_t>(
        std::chrono::ceil<std::chrono::milliseconds>(kCrowdedGrace - age).count());
  const auto link = std::move(oldest->second.link);
  incoming_.erase(oldest);
  link->abort();
  note_refusal("crowded", fmt::format("{}: dropped, {} connections wait for their handshake",
                                      link->peer_address(), config_.max_unauthenticated));
  return 0;
}

void LinkHub::Impl::on_accepted(tcp::socket socket, Admission /*admission*/) {
  const LinkId id = new_id();
  auto link =
      std::make_shared<Link>(io_, id, std::nullopt, std::move(socket), *tls_, config_, *this);
  incoming_.emplace(id, Incoming{link, Clock::now()});
  link->start();
}

void LinkHub::Impl::on_dismissed(tcp::socket socket, Dismissal why) {
  const std::string who = address_text(socket);
  if (why == Dismissal::kSilent)
    return note_refusal(
        "silent", fmt::format("{}: no handshake within {} ms", who, config_.handshake_timeout_ms));
  note_refusal("crowded", who + ": dropped, it said nothing and others wait to be heard");
}

void LinkHub::Impl::forget_incoming(LinkId id) {
  if (incoming_.erase(id) == 0) return;
  for (const auto& listener : listeners_) listener->wake();
}

void LinkHub::Impl::note_refusal(std::string_view cause, const std::string& text) {
  if (auto line = refusals_.note(cause, text, Clock::now())) handler_.on_refused(*line);
}

// ---- connecting ----

void LinkHub::Impl::connect(Rank peer, std::vector<wire::Endpoint> endpoints) {
  if (down_) return;
  const LinkId id = new_id();
  Dial& dial = dials_[id];
  dial.peer = peer;
  dial.endpoints = std::move(endpoints);
  if (dial.endpoints.empty() || !tls_) {
    dial.all_refused = false;
    dial.failures = tls_ ? "no address is known" : tls_.error().message;
    dial.endpoints.clear();
  }
  asio::post(io_, [weak = weak_from_this(), id] {
    if (const auto self = weak.lock()) self->dial_next(id);
  });
}

void LinkHub::Impl::dial_next(LinkId id) {
  const auto found = dials_.find(id);
  if (found == dials_.end()) return;
  Dial& dial = found->second;
  if (dial.next >= dial.endpoints.size()) return give_up_dial(id);
  dial.tcp = std::make_shared<TcpConnect>(io_);
  dial.tcp->start(dial.endpoints[dial.next], config_.connect_timeout_ms,
                  [weak = weak_from_this(), id](asio::error_code error, tcp::socket socket) {
                    if (const auto self = weak.lock())
                      self->on_dialled(id, error, std::move(socket));
                  });
}

void LinkHub::Impl::on_dialled(LinkId id, asio::error_code error, tcp::socket socket) {
  const auto found = dials_.find(id);
  if (found == dials_.end()) return;
  Dial& dial = found->second;
  dial.tcp.reset();
  if (error) return dial_failed(id, error == asio::error::connection_refused, error.message());
  dial.link = std::make_shared<Link>(io_, id, dial.peer, std::move(socket), *tls_, config_, *this);
  dial.link->start();
}

void LinkHub::Impl::dial_failed(LinkId id, bool refused, const std::string& text) {
  Dial& dial = dials_.at(id);
  dial.link.reset();
  if (!dial.failures.empty()) dial.failures += "; ";
  const wire::Endpoint& endpoint = dial.endpoints[dial.next];
  dial.failures += endpoint_text(endpoint.address(), endpoint.port()) + ": " + text;
  dial.all_refused = dial.all_refused && refused;
  ++dial.next;
  dial_next(id);
}

void LinkHub::Impl::give_up_dial(LinkId id) {
  const Dial dial = std::move(dials_.at(id));
  dials_.erase(id);
  handler_.on_connect_failed(dial.peer, dial.all_refused, dial.failures);
}

void LinkHub::Impl::probe(std::vector<wire::Endpoint> endpoints, std::function<void(bool)> answer) {
  if (down_ || endpoints.empty()) return;
  const std::uint64_t id = ++last_id_;
  probes_[id] = ProbeRun{std::move(endpoints), 0, true, std::move(answer), nullptr};
  probe_next(id);
}

void LinkHub::Impl::probe_next(std::uint64_t id) {
  ProbeRun& run = probes_.at(id);
  run.tcp = std::make_shared<TcpConnect>(io_);
  run.tcp->start(run.endpoints[run.next], config_.connect_timeout_ms,
                 [weak = weak_from_this(), id](asio::error_code error, const tcp::socket&) {
                   if (const auto self = weak.lock()) self->on_probed(id, error);
                 });
}

void LinkHub::Impl::on_probed(std::uint64_t id, asio::error_code error) {
  const auto found = probes_.find(id);
  if (found == probes_.end()) return;
  ProbeRun& run = found->second;
  run.all_refused = run.all_refused && error == asio::error::connection_refused;
  if (error && ++run.next < run.endpoints.size()) return probe_next(id);
  const ProbeRun done = std::move(run);
  probes_.erase(found);
  if (!error || done.all_refused) done.answer(done.all_refused);
}

// ---- links ----

void LinkHub::Impl::link_up(Link& link, const wire::Hello& hello) {
  const LinkId id = link.id();
  links_.emplace(id, link.shared_from_this());
  dials_.erase(id);
  forget_incoming(id);
  handler_.on_link_up(id, Rank(hello.rank()), Incarnation(hello.incarnation()), hello.campaign(),
                      link.outgoing());
}

void LinkHub::Impl::link_message(Link& link, wire::LinkMessage message, Bytes payload) {
  handler_.on_message(link.id(), std::move(message), std::move(payload));
}

void LinkHub::Impl::link_ended(Link& link, LinkEnd end, const std::string& text) {
  const LinkId id = link.id();
  if (link.was_up()) {
    links_.erase(id);
    handler_.on_link_down(id, end, text);
    return;
  }
  if (link.outgoing()) return dial_failed(id, false, text);
  const std::string line = link.peer_address() + ": " + text;
  const std::string cause =
      link.tls_failure().empty() ? end_name(end) : "TLS: " + link.tls_failure();
  const bool worth_a_line = !link.hung_up_early();
  forget_incoming(id);
  if (worth_a_line) note_refusal(cause, line);
}

void LinkHub::Impl::send(LinkId id, bool bulk, const wire::LinkMessage& message, Bytes payload) {
  const auto found = links_.find(id);
  if (found == links_.end()) return;
  found->second->send(bulk ? MessageClass::kBulk : MessageClass::kControl, message,
                      std::move(payload));
}

void LinkHub::Impl::close(LinkId id, wire::GoodbyeReason reason, const std::string& text) {
  const auto found = links_.find(id);
  if (found == links_.end()) return;
  found->second->close(reason, text);
  links_.erase(found);
}

std::size_t LinkHub::Impl::queued_bytes(LinkId id) const {
  const auto found = links_.find(id);
  return found == links_.end() ? 0 : found->second->queued_bytes();
}

void LinkHub::Impl::shutdown(bool with_goodbye) {
  down_ = true;
  for (const auto& listener : listeners_) listener->close();
  for (auto& [id, incoming] : incoming_) incoming.link->abort();
  for (auto& [id, dial] : dials_) {
    if (dial.tcp) dial.tcp->cancel();
    if (dial.link) dial.link->abort();
  }
  for (auto& [id, run] : probes_) run.tcp->cancel();
  for (auto& [id, link] : links_) {
    if (with_goodbye)
      link->close(wire::GOODBYE_NORMAL, "shut down");
    else
      link->abort();
  }
  listeners_.clear();
  incoming_.clear();
  dials_.clear();
  probes_.clear();
  links_.clear();
}

// ---- the public face ----

LinkHub::LinkHub(asio::io_context& io, LinkConfig config, LinkHandler& handler)
    : impl_(std::make_shared<Impl>(io, std::move(config), handler)) {}

LinkHub::~LinkHub() {
  impl_->shutdown(false);
}

Result<std::vector<wire::Endpoint>> LinkHub::listen(const std::string& address) {
  return impl_->listen(address);
}

void LinkHub::connect(Rank peer, std::vector<wire::Endpoint> endpoints) {
  impl_->connect(peer, std::move(endpoints));
}

void LinkHub::send(LinkId link, bool bulk, const wire::LinkMessage& message, Bytes payload) {
  impl_->send(link, bulk, message, std::move(payload));
}

void LinkHub::close(LinkId link, wire::GoodbyeReason reason, const std::string& text) {
  impl_->close(link, reason, text);
}

void LinkHub::probe(Rank /*rank*/, std::vector<wire::Endpoint> endpoints,
                    std::function<void(bool refused)> answer) {
  impl_->probe(std::move(endpoints), std::move(answer));
}

void LinkHub::shutdown() {
  impl_->shutdown(true);
}

std::size_t LinkHub::queued_bytes(LinkId link) const {
  return impl_->queued_bytes(link);
}

std::uint64_t LinkHub::refused() const {
  return impl_->refused();
}

}  // namespace tide::net
