// All links of one daemon: it listens, connects, and keeps links alive, on one io_context and its
// one thread. Who may be linked to whom is not decided here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "net/link_config.hpp"
#include "wire/link.pb.h"

namespace asio {
class io_context;
}

namespace tide::net {

// Called from the io_context, never from inside a call on the LinkHub. Every call on the hub is
// allowed inside.
class LinkHandler {
 public:
  virtual ~LinkHandler() = default;

  // Key, protocol and DVM are right; whether the peer is wanted is for the handler to decide.
  virtual void on_link_up(LinkId link, Rank peer, Incarnation incarnation, std::uint32_t campaign,
                          bool outgoing) = 0;
  // The last word on a link that was up, unless we closed it.
  virtual void on_link_down(LinkId link, LinkEnd end, const std::string& text) = 0;
  // A connect() that did not become a link. `refused`: for certain nobody listens at any endpoint.
  virtual void on_connect_failed(Rank peer, bool refused, const std::string& text) = 0;
  virtual void on_message(LinkId link, wire::LinkMessage message, Bytes payload) = 0;
  // Somebody was turned away before it became a link: a line for the log, at most one per second
  // and cause.
  virtual void on_refused(const std::string& text) = 0;
};

class LinkHub {
 public:
  LinkHub(asio::io_context& io, LinkConfig config, LinkHandler& handler);
  ~LinkHub();  // ends everything at once
  LinkHub(const LinkHub&) = delete;
  LinkHub& operator=(const LinkHub&) = delete;

  // Listens on a numeric address (127.0.0.1, ::1, 0.0.0.0, :: …) at a port of the system's choice.
  // Returns what to tell others. May be called for several addresses.
  Result<std::vector<wire::Endpoint>> listen(const std::string& address);

  // Tries the endpoints, the most promising first (ranked_endpoints, ConnectRace); exactly one of
  // on_link_up and on_connect_failed follows.
  void connect(Rank peer, std::vector<wire::Endpoint> endpoints);

  // A link that is not there is going down: the message is dropped. One above the maximum size ends
  // the link (kProtocol), since the sender counts on its delivery.
  void send(LinkId link, bool bulk, const wire::LinkMessage& message, Bytes payload);

  // Messages sent before go out first, within the configured time, then the goodbye. No
  // on_link_down follows.
  void close(LinkId link, wire::GoodbyeReason reason, const std::string& text);

  // A plain TCP connection: `answer(true)` when refused at all endpoints, `answer(false)` when one
  // of them accepted, no call when it can't be told in time.
  void probe(Rank rank, std::vector<wire::Endpoint> endpoints,
             std::function<void(bool refused)> answer);

  // Stops listening and connecting, says goodbye on every link, and why. No callback follows. The
  // io_context runs out of work when all is flushed, or the time for it is up.
  void shutdown(const std::string& why = "shut down");

  // Bytes waiting to be sent on a link; 0 when it is not there. And on all links.
  [[nodiscard]] std::size_t queued_bytes(LinkId link) const;
  [[nodiscard]] std::size_t queued_bytes() const;

  // Where the other end of a link is, without the port; empty when it is not there.
  [[nodiscard]] std::string peer_address(LinkId link) const;

  // Callers turned away so far.
  [[nodiscard]] std::uint64_t refused() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace tide::net
