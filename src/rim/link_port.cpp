#include "rim/link_port.hpp"

#include <utility>

#include "base/log.hpp"

namespace tide::rim {

namespace {

core::LinkEnd to_core(net::LinkEnd end) {
  switch (end) {
    case net::LinkEnd::kClosed:
      return core::LinkEnd::kClosed;
    case net::LinkEnd::kSilent:
      return core::LinkEnd::kSilent;
    case net::LinkEnd::kRefused:
      return core::LinkEnd::kRefused;
    case net::LinkEnd::kDeclaredDead:
      return core::LinkEnd::kDeclaredDead;
    case net::LinkEnd::kMoved:
      return core::LinkEnd::kMoved;
    case net::LinkEnd::kProtocol:
      return core::LinkEnd::kProtocol;
  }
  return core::LinkEnd::kClosed;
}

}  // namespace

LinkPort::LinkPort(asio::io_context& io, net::LinkConfig config, Counters& counters,
                   std::function<void(LinkEvent)> post)
    : post_(std::move(post)),
      messages_in_(counters.counter("link.messages_in")),
      messages_out_(counters.counter("link.messages_out")),
      bulk_bytes_in_(counters.counter("link.payload_bytes_in")),
      links_up_(counters.counter("link.established")),
      hub_(io, std::move(config), *this) {}

Result<std::vector<wire::Endpoint>> LinkPort::listen(const std::vector<std::string>& addresses) {
  std::vector<wire::Endpoint> all;
  for (const std::string& address : addresses) {
    auto endpoints = hub_.listen(address);
    if (!endpoints) return endpoints;
    all.insert(all.end(), endpoints->begin(), endpoints->end());
  }
  return all;
}

void LinkPort::perform(core::Connect action) {
  hub_.connect(action.peer, std::move(action.endpoints));
}

void LinkPort::perform(const core::Send& action) {
  messages_out_.add();
  hub_.send(action.link, action.message_class == core::MessageClass::kBulk, action.message,
            action.payload);
}

void LinkPort::perform(const core::CloseLink& action) {
  hub_.close(action.link, action.reason, action.text);
}

void LinkPort::probe(const core::Probe& action, std::function<void(bool refused)> answer) {
  hub_.probe(action.rank, action.endpoints, std::move(answer));
}

void LinkPort::on_link_up(LinkId link, Rank peer, Incarnation incarnation, std::uint32_t campaign,
                          bool outgoing) {
  links_up_.add();
  post_(core::LinkUp{link, peer, incarnation, campaign, outgoing});
}

void LinkPort::on_link_down(LinkId link, net::LinkEnd end, const std::string& text) {
  post_(core::LinkDown{link, to_core(end), text});
}

void LinkPort::on_connect_failed(Rank peer, bool refused, const std::string& text) {
  post_(core::ConnectFailed{peer, refused, text});
}

void LinkPort::on_message(LinkId link, wire::LinkMessage message, Bytes payload) {
  messages_in_.add();
  bulk_bytes_in_.add(payload.size());
  post_(core::MessageIn{link, std::move(message), std::move(payload)});
}

void LinkPort::on_refused(const std::string& text) {
  log_warning("a connection was refused: " + text);
}

}  // namespace tide::rim
