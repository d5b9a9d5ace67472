// A TCP connection to a peer that has several endpoints, of which some may lead nowhere: the next
// is tried beside those that are slow to answer, and the first that connects is taken.
#pragma once

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "net/tcp_connect.hpp"
#include "wire/link.pb.h"

namespace tide::net {

struct RaceResult {
  struct Failure {
    wire::Endpoint endpoint;
    asio::error_code error;  // timed_out: no answer before the deadline
  };
  std::optional<wire::Endpoint> winner;
  std::optional<asio::ip::tcp::socket> socket;  // of the winner
  std::vector<Failure> failures;                // in the order in which they came
  std::vector<wire::Endpoint> others;           // neither failed nor won, in the order given
};

class ConnectRace : public std::enable_shared_from_this<ConnectRace> {
 public:
  using Done = std::function<void(RaceResult)>;

  // What an endpoint has for itself before the next is tried, too. An answer takes a few
  // milliseconds within a site and some two hundred around the world, so that who is well gets no
  // needless connections; and a dead address in front costs a start no more than a blink.
  static constexpr std::chrono::milliseconds kHeadStart{250};

  explicit ConnectRace(asio::io_context& io) : io_(io), head_start_(io) {}

  // Tries the endpoints, one or more, in this order. `done` is called once, from the io_context,
  // `timeout` after the start at the latest, unless cancel() comes first.
  void start(std::vector<wire::Endpoint> endpoints, std::chrono::milliseconds timeout, Done done);
  void cancel();

 private:
  using Clock = std::chrono::steady_clock;

  void try_next();
  void on_tried(std::size_t index, asio::error_code error, asio::ip::tcp::socket socket);
  void finish(RaceResult result);

  asio::io_context& io_;
  asio::steady_timer head_start_;
  Clock::duration head_start_time_{};
  Clock::time_point deadline_;
  std::vector<wire::Endpoint> endpoints_;
  std::vector<std::shared_ptr<TcpConnect>> attempts_;  // as far as begun; null: failed
  std::vector<RaceResult::Failure> failures_;
  Done done_;
};

}  // namespace tide::net
