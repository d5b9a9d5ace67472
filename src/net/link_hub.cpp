#include "net/link_hub.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/ip/v6_only.hpp>
#include <asio/post.hpp>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "net/connect_race.hpp"
#include "net/endpoint.hpp"
#include "net/link.hpp"
#include "net/listener.hpp"
#include "net/refusal_log.hpp"
#include "net/tls_context.hpp"
#include "say/network.hpp"

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

// As seen from here at this moment: interfaces come and go.
std::vector<wire::Endpoint> ranked_now(std::vector<wire::Endpoint> endpoints) {
  if (endpoints.size() < 2) return endpoints;
  const auto own = interfaces_of_this_machine();
  return own ? ranked_endpoints(std::move(endpoints), *own) : endpoints;
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
  // Without a reason without a goodbye.
  void shutdown(const std::optional<std::string>& why);
  [[nodiscard]] std::size_t queued_bytes(LinkId id) const;
  [[nodiscard]] std::size_t queued_bytes() const;
  [[nodiscard]] std::string peer_address(LinkId id) const;
  [[nodiscard]] std::uint64_t refused() const { return refusals_.total(); }

 private:
  struct Dial {
    Rank peer;
    std::vector<wire::Endpoint> endpoints;  // left to try
    bool all_refused = true;
    std::vector<say::FailedAttempt> failures;
    std::shared_ptr<ConnectRace> race;
    std::shared_ptr<Link> link;
    wire::Endpoint link_endpoint;
  };
  struct ProbeRun {
    std::function<void(bool)> answer;
    std::shared_ptr<ConnectRace> race;
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
  void on_dialled(LinkId id, RaceResult result);
  void dialled_link_ended(LinkId id, const std::string& text);
  void give_up_dial(LinkId id);
  void on_probed(std::uint64_t id, const RaceResult& result);
  std::shared_ptr<ConnectRace> begin_race(std::vector<wire::Endpoint> endpoints,
                                          std::function<void(Impl&, RaceResult)> done);
  [[nodiscard]] std::string attempt_text(const asio::error_code& error) const;
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
  std::vector<std::string> own_addresses_;         // that others are told
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
  for (const auto& endpoint : *endpoints) own_addresses_.push_back(endpoint.address());
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
  if (tls_) dial.endpoints = ranked_now(std::move(endpoints));
  dial.all_refused = !dial.endpoints.empty();
  asio::post(io_, [weak = weak_from_this(), id] {
    if (const auto self = weak.lock()) self->dial_next(id);
  });
}

std::shared_ptr<ConnectRace> LinkHub::Impl::begin_race(
    std::vector<wire::Endpoint> endpoints, std::function<void(Impl&, RaceResult)> done) {
  auto race = std::make_shared<ConnectRace>(io_);
  race->start(std::move(endpoints), std::chrono::milliseconds(config_.connect_timeout_ms),
              [weak = weak_from_this(), done = std::move(done)](RaceResult result) {
                if (const auto self = weak.lock()) done(*self, std::move(result));
              });
  return race;
}

void LinkHub::Impl::dial_next(LinkId id) {
  const auto found = dials_.find(id);
  if (found == dials_.end()) return;
  Dial& dial = found->second;
  if (dial.endpoints.empty()) return give_up_dial(id);
  dial.race = begin_race(dial.endpoints, [id](Impl& self, RaceResult result) {
    self.on_dialled(id, std::move(result));
  });
}

void LinkHub::Impl::on_dialled(LinkId id, RaceResult result) {
  const auto found = dials_.find(id);
  if (found == dials_.end()) return;
  Dial& dial = found->second;
  dial.race.reset();
  for (const auto& [endpoint, error] : result.failures) {
    dial.failures.push_back(
        {endpoint_text(endpoint.address(), endpoint.port()), attempt_text(error)});
    dial.all_refused = dial.all_refused && error == asio::error::connection_refused;
  }
  dial.endpoints = std::move(result.others);
  if (!result.winner) return give_up_dial(id);
  dial.link_endpoint = *result.winner;
  dial.link =
      std::make_shared<Link>(io_, id, dial.peer, std::move(*result.socket), *tls_, config_, *this);
  dial.link->start();
}

// Somebody answered there and it was not the peer, or not in time: the others that the race left.
void LinkHub::Impl::dialled_link_ended(LinkId id, const std::string& text) {
  Dial& dial = dials_.at(id);
  dial.link.reset();
  dial.failures.push_back(
      {endpoint_text(dial.link_endpoint.address(), dial.link_endpoint.port()), text});
  dial.all_refused = false;
  dial_next(id);
}

void LinkHub::Impl::give_up_dial(LinkId id) {
  const Dial dial = std::move(dials_.at(id));
  dials_.erase(id);
  std::string text = tls_ ? "no address is known" : tls_.error().message;
  if (!dial.failures.empty()) {
    text = say::no_connection(config_.node, own_addresses_, dial.failures);
  }
  handler_.on_connect_failed(dial.peer, dial.all_refused, text);
}

std::string LinkHub::Impl::attempt_text(const asio::error_code& error) const {
  return error == asio::error::timed_out ? say::no_answer_within(config_.connect_timeout_ms)
                                         : error.message();
}

void LinkHub::Impl::probe(std::vector<wire::Endpoint> endpoints, std::function<void(bool)> answer) {
  if (down_ || endpoints.empty()) return;
  const std::uint64_t id = ++last_id_;
  probes_[id] = {std::move(answer), begin_race(ranked_now(std::move(endpoints)),
                                               [id](Impl& self, const RaceResult& result) {
                                                 self.on_probed(id, result);
                                               })};
}

void LinkHub::Impl::on_probed(std::uint64_t id, const RaceResult& result) {
  const auto found = probes_.find(id);
  if (found == probes_.end()) return;
  const auto answer = std::move(found->second.answer);
  probes_.erase(found);
  const bool refused = !result.winner && std::ranges::all_of(result.failures, [](const auto& each) {
    return each.error == asio::error::connection_refused;
  });
  if (result.winner || refused) answer(refused);
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
  if (link.outgoing()) return dialled_link_ended(id, text);
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

std::size_t LinkHub::Impl::queued_bytes() const {
  std::size_t sum = 0;
  for (const auto& [id, link] : links_) sum += link->queued_bytes();
  return sum;
}

std::string LinkHub::Impl::peer_address(LinkId id) const {
  const auto found = links_.find(id);
  if (found == links_.end()) return {};
  const std::string& whole = found->second->peer_address();
  std::string address = whole.substr(0, whole.rfind(':'));
  const bool in_brackets = address.starts_with('[') && address.ends_with(']');
  return in_brackets ? address.substr(1, address.size() - 2) : address;
}

void LinkHub::Impl::shutdown(const std::optional<std::string>& why) {
  down_ = true;
  for (const auto& listener : listeners_) listener->close();
  for (auto& [id, incoming] : incoming_) incoming.link->abort();
  for (auto& [id, dial] : dials_) {
    if (dial.race) dial.race->cancel();
    if (dial.link) dial.link->abort();
  }
  for (auto& [id, run] : probes_) run.race->cancel();
  for (auto& [id, link] : links_) {
    if (why) {
      link->close(wire::GOODBYE_NORMAL, *why);
    } else {
      link->abort();
    }
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
  impl_->shutdown(std::nullopt);
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

void LinkHub::shutdown(const std::string& why) {
  impl_->shutdown(why);
}

std::size_t LinkHub::queued_bytes(LinkId link) const {
  return impl_->queued_bytes(link);
}

std::size_t LinkHub::queued_bytes() const {
  return impl_->queued_bytes();
}

std::string LinkHub::peer_address(LinkId link) const {
  return impl_->peer_address(link);
}

std::uint64_t LinkHub::refused() const {
  return impl_->refused();
}

}  // namespace tide::net
