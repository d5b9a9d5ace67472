// The virtual network: links between hosts with FIFO per class, delays, breaks, partitions, and the
// deadline for silence that the real net has.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/actions.hpp"
#include "sim/chance.hpp"
#include "sim/hash.hpp"
#include "sim/scenario.hpp"
#include "sim/schedule.hpp"

namespace tide::sim {

// What a host says of itself in the handshake.
struct Identity {
  Rank rank;
  Incarnation incarnation;
  std::uint32_t campaign = 0;
};

// How the other end hears of it.
core::LinkEnd end_of(wire::GoodbyeReason reason);

// What the network needs to know about hosts, and whom it tells what.
class Hosts {
 public:
  virtual ~Hosts() = default;
  [[nodiscard]] virtual bool alive(HostId host) const = 0;    // its process exists
  [[nodiscard]] virtual bool powered(HostId host) const = 0;  // its machine answers
  [[nodiscard]] virtual bool frozen(HostId host) const = 0;
  [[nodiscard]] virtual Identity identity(HostId host) const = 0;
  // Runs it as soon as the host can act: at once, or when it thaws. Dropped when it is dead.
  virtual void when_awake(HostId host, std::function<void()> action) = 0;
  virtual void post(HostId host, core::DaemonEvent event) = 0;
};

struct NetworkConfig {
  Latency latency = Latency::kUniform;
  std::uint32_t latency_us = 500;
  std::uint64_t silence_us = 10'000'000;  // nothing heard for so long: the link is down
  std::uint64_t connect_us = 5'000'000;   // to be connected, handshake included
};

class Network {
 public:
  Network(NetworkConfig config, Schedule& schedule, Hosts& hosts, Chance chance)
      : config_(config), schedule_(schedule), hosts_(hosts), chance_(chance) {}

  void connect(HostId from, const core::Connect& request);
  void send(const core::Send& message);
  void close(const core::CloseLink& closing);
  // Can the port be reached? Not called when that can't be told.
  void probe(HostId from, HostId to, std::function<void(bool refused)> answer);

  // A host is gone. `told`: its kernel closes the connections; else they just fall silent.
  void host_gone(HostId host, bool told);
  void host_frozen(HostId host);
  void host_thawed(HostId host);
  // Sends over the link between two hosts what the first one's core never said. False: there is
  // none.
  bool forge(HostId from, HostId to, const wire::LinkMessage& message, const Bytes& payload);
  // The links of the host that are in use at both ends.
  [[nodiscard]] std::vector<std::uint64_t> links_of(HostId host) const;
  [[nodiscard]] HostId made_by(std::uint64_t link) const { return links_.at(link).host[0]; }
  // Breaks the link; both ends notice.
  void cut(std::uint64_t link) { sever(links_.at(link)); }
  // Packets from one host to another are lost until the returned number is given to heal().
  std::uint64_t block(std::set<std::pair<HostId, HostId>> directions);
  void heal(std::uint64_t partition);

  [[nodiscard]] std::uint64_t messages() const { return messages_; }
  [[nodiscard]] std::size_t open_links() const;
  // What tells apart two states of the network in which the same messages are under way.
  void add_to(Hash& hash) const;

 private:
  struct Direction {                         // from ends[i] to ends[1 - i]
    std::array<std::uint64_t, 2> last_us{};  // arrival of the last message of each class
    std::uint64_t sent = 0;
    unsigned hushed = 0;          // reasons for which nothing new is sent or arrives
    std::uint64_t hush_id = 0;    // tells one silence from the next
    std::uint64_t hushed_us = 0;  // since when
    unsigned blocked = 0;
    std::deque<std::function<void()>> stalled;  // waits for the end of the partition
  };
  enum class End : std::uint8_t { kPending, kOpen, kClosed };  // as the core of that end knows it
  struct Link {
    std::uint64_t id = 0;
    std::array<HostId, 2> host{};  // 0 is the one that connected
    std::array<End, 2> end{};
    std::array<Direction, 2> way;
    bool severed = false;
    Chance chance{0};
  };

  static LinkId end_id(const Link& link, std::size_t end) { return LinkId(link.id * 2 + end); }
  Link* find(LinkId end);
  [[nodiscard]] std::uint64_t delay(Chance& chance) const;
  [[nodiscard]] bool is_blocked(HostId from, HostId to) const;
  void knock(HostId from, HostId to, std::uint64_t attempt, std::uint64_t retry_us);
  void established(HostId from, HostId to, std::uint64_t attempt);
  void link_up(Link& link, std::size_t end, bool outgoing);
  void arrive(Link& link, std::size_t from_end, core::MessageClass message_class,
              std::function<void()> what);
  void down(std::uint64_t link, std::size_t end, core::LinkEnd how, std::string text);
  void tell_other_end(Link& link, std::size_t from_end, core::LinkEnd how, std::string text);
  void sever(Link& link);
  void hush(Link& link, std::size_t way);
  void unhush(Link& link, std::size_t way);
  static What silence_at(const Link& link, std::size_t way);
  void watch_silence(std::uint64_t link, std::size_t way, std::uint64_t hush_id);
  void fail_connect(HostId from, Rank peer, bool refused, const char* text);
  void flush(std::uint64_t link, std::size_t way);
  void forget_if_over(std::uint64_t link);

  NetworkConfig config_;
  Schedule& schedule_;
  Hosts& hosts_;
  Chance chance_;
  std::map<std::uint64_t, Link> links_;
  std::map<std::uint64_t, std::set<std::pair<HostId, HostId>>> partitions_;
  std::map<std::uint64_t, Rank> attempts_;  // connections under way
  std::map<HostId, std::uint64_t> connects_;
  std::uint64_t next_number_ = 1;
  std::uint64_t messages_ = 0;
};

}  // namespace tide::sim
