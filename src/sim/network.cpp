#include "sim/network.hpp"

#include <algorithm>
#include <utility>

namespace tide::sim {

namespace {

constexpr std::uint64_t kFirstRetryUs = 1'000'000;
constexpr std::uint64_t kConnectsOfAHost = 100'000;  // more than there can be in one world
constexpr std::uint64_t kLastChanceUs = 50'000;  // as the real net: what lies in the socket counts

}  // namespace

core::LinkEnd end_of(wire::GoodbyeReason reason) {
  switch (reason) {
    case wire::GOODBYE_DECLARED_DEAD:
      return core::LinkEnd::kDeclaredDead;
    case wire::GOODBYE_MOVED:
      return core::LinkEnd::kMoved;
    case wire::GOODBYE_REFUSED:
      return core::LinkEnd::kRefused;
    default:
      return core::LinkEnd::kClosed;
  }
}

std::uint64_t Network::delay(Chance& chance) const {
  const std::uint64_t typical = config_.latency_us;
  switch (config_.latency) {
    case Latency::kSteady:
      return typical;
    case Latency::kHeavy:
      return chance.percent(3) ? chance.between(typical, 100 * typical)
                               : chance.between(typical / 2 + 1, typical + 1);
    default:
      return chance.between(1, 2 * typical);
  }
}

Network::Link* Network::find(LinkId end) {
  const auto found = links_.find(end.value() / 2);
  return found == links_.end() ? nullptr : &found->second;
}

bool Network::is_blocked(HostId from, HostId to) const {
  return std::ranges::any_of(partitions_,
                             [&](const auto& entry) { return entry.second.contains({from, to}); });
}

std::size_t Network::open_links() const {
  return static_cast<std::size_t>(std::ranges::count_if(links_, [](const auto& entry) {
    return entry.second.end[0] == End::kOpen && entry.second.end[1] == End::kOpen;
  }));
}

// ---- connecting ----

// Numbered by who connects, so that what others do meanwhile makes no difference.
void Network::connect(HostId from, const core::Connect& request) {
  const auto attempt = from * kConnectsOfAHost + ++connects_[from];
  attempts_[attempt] = request.peer;
  // Whoever does not know the address of the peer does not reach it.
  if (request.endpoints.size() != 1) return fail_connect(from, request.peer, false, "no address");
  const HostId to = request.endpoints[0].port();
  Chance chance = chance_.of(attempt);
  const What timeout{What::Kind::kDeadline, from, attempt};
  schedule_.after(config_.connect_us, timeout, [this, from, attempt] {
    if (const auto late = attempts_.extract(attempt); !late.empty())
      fail_connect(from, late.mapped(), false, "timed out");
  });
  schedule_.after(delay(chance), What{What::Kind::kKnock, to, attempt},
                  [this, from, to, attempt] { knock(from, to, attempt, kFirstRetryUs); });
}

// Packets that get lost are sent again, after twice the time each time.
void Network::knock(HostId from, HostId to, std::uint64_t attempt, std::uint64_t retry_us) {
  if (!attempts_.contains(attempt)) return;
  if (is_blocked(from, to) || is_blocked(to, from) || !hosts_.powered(to)) {
    schedule_.after(retry_us, What{What::Kind::kDeadline, to, attempt, retry_us},
                    [=, this] { knock(from, to, attempt, 2 * retry_us); });
  } else if (hosts_.alive(to)) {
    hosts_.when_awake(to, [this, from, to, attempt] { established(from, to, attempt); });
  } else {
    const auto refused = attempts_.extract(attempt);
    fail_connect(from, refused.mapped(), true, "connection refused");
  }
}

void Network::fail_connect(HostId from, Rank peer, bool refused, const char* text) {
  hosts_.when_awake(from, [this, from, failed = core::ConnectFailed{peer, refused, text}] {
    hosts_.post(from, failed);
  });
}

// The peer has accepted; the caller learns it a little later.
void Network::established(HostId from, HostId to, std::uint64_t attempt) {
  const auto found = attempts_.extract(attempt);
  if (found.empty() || !hosts_.alive(from)) return;
  if (is_blocked(to, from) || is_blocked(from, to))
    return fail_connect(from, found.mapped(), false, "timed out");
  if (hosts_.identity(to).rank != found.mapped())
    return fail_connect(from, found.mapped(), false, "another rank answers");
  const auto id = attempt;
  Link& link = links_[id];
  link.id = id;
  link.host = {from, to};
  link.chance = chance_.of(id).of(from).of(to);
  // First of all that comes from the peer, whatever that does when it hears of the link.
  arrive(link, 1, core::MessageClass::kControl, [this, id] {
    const auto still = links_.find(id);
    if (still != links_.end()) link_up(still->second, 0, true);
  });
  link_up(link, 1, false);
}

void Network::link_up(Link& link, std::size_t end, bool outgoing) {
  if (link.severed || !hosts_.alive(link.host[end])) return;
  link.end[end] = End::kOpen;
  const Identity peer = hosts_.identity(link.host[1 - end]);
  hosts_.post(link.host[end], core::LinkUp{end_id(link, end), peer.rank, peer.incarnation,
                                           outgoing ? 0 : peer.campaign, outgoing});
}

void Network::probe(HostId from, HostId to, std::function<void(bool refused)> answer) {
  Chance chance = chance_.of(next_number_++);
  const What what{What::Kind::kProbe, from, to};
  schedule_.after(2 * delay(chance), what, [this, from, to, answer = std::move(answer)] {
    if (is_blocked(from, to) || is_blocked(to, from) || !hosts_.powered(to)) return;
    hosts_.when_awake(from, [answer, refused = !hosts_.alive(to)] { answer(refused); });
  });
}

// ---- traffic ----

void Network::arrive(Link& link, std::size_t from_end, core::MessageClass message_class,
                     std::function<void()> what) {
  Direction& way = link.way[from_end];
  const bool bulk = message_class == core::MessageClass::kBulk;
  // One wire for both: control may overtake bulk, never the other way round.
  auto& last = way.last_us[bulk ? 1 : 0];
  last = std::max({last, schedule_.now_us() + delay(link.chance), bulk ? way.last_us[0] : 0});
  const What name{bulk ? What::Kind::kBulk : What::Kind::kMessage, link.host[1 - from_end],
                  end_id(link, 1 - from_end).value(), ++way.sent};
  schedule_.after(last - schedule_.now_us(), name,
                  [this, id = link.id, from_end, what = std::move(what)]() mutable {
                    const auto found = links_.find(id);
                    if (found == links_.end() || found->second.severed) return;
                    Direction& arriving = found->second.way[from_end];
                    if (arriving.blocked > 0 || !arriving.stalled.empty()) {
                      arriving.stalled.push_back(std::move(what));
                    } else {
                      hosts_.when_awake(found->second.host[1 - from_end], std::move(what));
                    }
                  });
}

void Network::send(const core::Send& message) {
  Link* link = find(message.link);
  const auto end = message.link.value() % 2;
  if (link == nullptr || link->end[end] != End::kOpen) return;
  ++messages_;
  arrive(*link, end, message.message_class,
         [this, id = link->id, end, text = message.message, payload = message.payload] {
           const auto found = links_.find(id);
           if (found == links_.end() || found->second.end[1 - end] != End::kOpen) return;
           hosts_.post(found->second.host[1 - end],
                       core::MessageIn{end_id(found->second, 1 - end), text, payload});
         });
}

void Network::close(const core::CloseLink& closing) {
  Link* link = find(closing.link);
  const auto end = closing.link.value() % 2;
  if (link == nullptr || link->end[end] != End::kOpen) return;
  link->end[end] = End::kClosed;
  tell_other_end(*link, end, end_of(closing.reason), closing.text);
}

// After all that was sent before.
void Network::tell_other_end(Link& link, std::size_t from_end, core::LinkEnd how,
                             std::string text) {
  arrive(link, from_end, core::MessageClass::kBulk,
         [this, id = link.id, from_end, how, text = std::move(text)] {
           down(id, 1 - from_end, how, text);
           forget_if_over(id);
         });
}

void Network::down(std::uint64_t id, std::size_t end, core::LinkEnd how, std::string text) {
  const auto found = links_.find(id);
  if (found == links_.end() || found->second.end[end] != End::kOpen) return;
  found->second.end[end] = End::kClosed;
  hosts_.post(found->second.host[end],
              core::LinkDown{end_id(found->second, end), how, std::move(text)});
}

void Network::forget_if_over(std::uint64_t id) {
  const auto found = links_.find(id);
  if (found == links_.end()) return;
  const auto& ends = found->second.end;
  if (ends[0] == End::kClosed && ends[1] == End::kClosed) links_.erase(found);
}

// ---- faults ----

void Network::sever(Link& link) {
  link.severed = true;
  for (const std::size_t end : {0U, 1U}) {
    // An end that does not know of the link yet learns that there is none.
    if (link.end[end] == End::kPending) {
      link.end[end] = End::kClosed;
      fail_connect(link.host[end], hosts_.identity(link.host[1 - end]).rank, false,
                   "connection reset");
    }
    const What news{What::Kind::kNotice, link.host[end], end_id(link, end).value()};
    schedule_.after(delay(link.chance), news, [this, id = link.id, end] {
      const auto found = links_.find(id);
      if (found == links_.end()) return;
      hosts_.when_awake(found->second.host[end], [this, id, end] {
        down(id, end, core::LinkEnd::kClosed, "connection reset");
        forget_if_over(id);
      });
    });
  }
}

bool Network::forge(HostId from, HostId to, const wire::LinkMessage& message,
                    const Bytes& payload) {
  for (auto& [id, link] : links_) {
    for (const std::size_t end : {0U, 1U}) {
      if (link.host[end] != from || link.host[1 - end] != to || link.end[end] != End::kOpen)
        continue;
      send(core::Send{end_id(link, end), core::MessageClass::kControl, message, payload});
      return true;
    }
  }
  return false;
}

std::vector<std::uint64_t> Network::links_of(HostId host) const {
  std::vector<std::uint64_t> found;
  for (const auto& [id, link] : links_) {
    const bool of_host = link.host[0] == host || link.host[1] == host;
    const bool in_use = link.end[0] == End::kOpen && link.end[1] == End::kOpen;
    if (of_host && in_use && !link.severed) found.push_back(id);
  }
  return found;
}

void Network::host_gone(HostId host, bool told) {
  for (auto& [id, link] : links_) {
    for (const std::size_t end : {0U, 1U}) {
      if (link.host[end] != host || link.severed) continue;
      const bool knew = link.end[end] == End::kOpen;
      link.end[end] = End::kClosed;
      if (!told) {
        hush(link, end);
      } else if (knew && link.chance.percent(50)) {
        tell_other_end(link, end, core::LinkEnd::kClosed, "the peer closed the connection");
      } else {
        sever(link);
      }
    }
  }
}

void Network::host_frozen(HostId host) {
  for (auto& [id, link] : links_) {
    for (const std::size_t end : {0U, 1U}) {
      if (link.host[end] == host) hush(link, end);
    }
  }
}

void Network::host_thawed(HostId host) {
  for (auto& [id, link] : links_) {
    for (const std::size_t end : {0U, 1U}) {
      if (link.host[end] != host) continue;
      unhush(link, end);
      // It may have missed the deadline for the other side while it stood still.
      if (link.way[1 - end].hushed > 0) watch_silence(id, 1 - end, link.way[1 - end].hush_id);
    }
  }
}

std::uint64_t Network::block(std::set<std::pair<HostId, HostId>> directions) {
  for (auto& [id, link] : links_) {
    for (const std::size_t end : {0U, 1U}) {
      if (!directions.contains({link.host[end], link.host[1 - end]})) continue;
      ++link.way[end].blocked;
      hush(link, end);
    }
  }
  partitions_[next_number_] = std::move(directions);
  return next_number_++;
}

void Network::heal(std::uint64_t partition) {
  const auto healed = partitions_.extract(partition);
  if (healed.empty()) return;
  for (auto& [id, link] : links_) {
    for (const std::size_t end : {0U, 1U}) {
      Direction& way = link.way[end];
      // Links that came up during the partition were not touched by it: there are none, because
      // nobody can connect over a blocked direction.
      if (way.blocked == 0 || !healed.mapped().contains({link.host[end], link.host[1 - end]}))
        continue;
      unhush(link, end);
      if (--way.blocked > 0) continue;
      const What news{What::Kind::kNotice, link.host[1 - end], end_id(link, 1 - end).value()};
      schedule_.after(0, news, [this, id, end] { flush(id, end); });
    }
  }
}

// Until this runs, what arrives waits behind what waits already.
void Network::flush(std::uint64_t id, std::size_t end) {
  const auto found = links_.find(id);
  if (found == links_.end() || found->second.way[end].blocked > 0) return;
  const auto waiting = std::exchange(found->second.way[end].stalled, {});
  const HostId receiver = found->second.host[1 - end];
  for (const auto& what : waiting) hosts_.when_awake(receiver, what);
}

What Network::silence_at(const Link& link, std::size_t way) {
  return What{What::Kind::kDeadline, link.host[1 - way], end_id(link, 1 - way).value()};
}

void Network::hush(Link& link, std::size_t way) {
  if (link.way[way].hushed++ > 0) return;
  link.way[way].hush_id = next_number_++;
  link.way[way].hushed_us = schedule_.now_us();
  schedule_.after(
      config_.silence_us, silence_at(link, way),
      [this, id = link.id, way, hush = link.way[way].hush_id] { watch_silence(id, way, hush); });
}

void Network::unhush(Link& link, std::size_t way) {
  if (link.way[way].hushed > 0) --link.way[way].hushed;
}

// The deadline has passed; whoever stood still meanwhile gets a last chance to read.
void Network::watch_silence(std::uint64_t id, std::size_t way, std::uint64_t hush_id) {
  const auto watched = links_.find(id);
  if (watched == links_.end()) return;
  schedule_.after(kLastChanceUs, silence_at(watched->second, way), [this, id, way, hush_id] {
    const auto found = links_.find(id);
    if (found == links_.end()) return;
    const Link& link = found->second;
    const std::size_t listener = 1 - way;
    if (link.severed || link.way[way].hushed == 0 || link.way[way].hush_id != hush_id) return;
    if (schedule_.now_us() - link.way[way].hushed_us < config_.silence_us) return;
    if (hosts_.frozen(link.host[listener]) || link.end[listener] != End::kOpen) return;
    down(id, listener, core::LinkEnd::kSilent, "nothing heard for too long");
    tell_other_end(found->second, listener, core::LinkEnd::kClosed,
                   "the peer closed the connection");
  });
}

void Network::add_to(Hash& hash) const {
  for (const auto& [id, link] : links_) {
    hash.add(id);
    for (const std::size_t end : {0U, 1U}) {
      const Direction& way = link.way[end];
      hash.add(static_cast<std::uint64_t>(link.end[end]));
      hash.add(way.sent);
      hash.add(way.hushed);
      hash.add(way.blocked);
      hash.add(way.stalled.size());
    }
    hash.add(link.severed ? 1 : 0);
  }
  hash.add(partitions_.size());
  for (const auto& [attempt, rank] : attempts_) hash.add(attempt);
}

}  // namespace tide::sim
