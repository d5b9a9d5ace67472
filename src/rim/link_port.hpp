// Links as the cores see them: net's callbacks become events, link actions become calls.
#pragma once

#include <asio/io_context.hpp>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "base/counters.hpp"
#include "core/actions.hpp"
#include "net/link_hub.hpp"

namespace tide::rim {

using LinkEvent = std::variant<core::LinkUp, core::LinkDown, core::ConnectFailed, core::MessageIn>;

class LinkPort : private net::LinkHandler {
 public:
  LinkPort(asio::io_context& io, net::LinkConfig config, Counters& counters,
           std::function<void(LinkEvent)> post);

  // All endpoints, of each of the addresses.
  Result<std::vector<wire::Endpoint>> listen(const std::vector<std::string>& addresses);
  void perform(core::Connect action);
  void perform(const core::Send& action);
  void perform(const core::CloseLink& action);
  void probe(const core::Probe& action, std::function<void(bool refused)> answer);
  void shutdown() { hub_.shutdown(); }
  void shutdown(const std::string& why) { hub_.shutdown(why); }
  // What has not been sent yet.
  [[nodiscard]] std::size_t queued_bytes() const { return hub_.queued_bytes(); }
  // Where the other end of a link is; empty: it is gone.
  [[nodiscard]] std::string peer_address(LinkId link) const { return hub_.peer_address(link); }
  // Callers turned away so far, those that got no line in the log included.
  [[nodiscard]] std::uint64_t refused() const { return hub_.refused(); }

 private:
  void on_link_up(LinkId link, Rank peer, Incarnation incarnation, std::uint32_t campaign,
                  bool outgoing) override;
  void on_link_down(LinkId link, net::LinkEnd end, const std::string& text) override;
  void on_connect_failed(Rank peer, bool refused, const std::string& text) override;
  void on_message(LinkId link, wire::LinkMessage message, Bytes payload) override;
  void on_refused(const std::string& text) override;

  std::function<void(LinkEvent)> post_;
  Counter messages_in_;
  Counter messages_out_;
  Counter bulk_bytes_in_;
  Counter links_up_;
  net::LinkHub hub_;
};

}  // namespace tide::rim
