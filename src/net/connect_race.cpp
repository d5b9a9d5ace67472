#include "net/connect_race.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace tide::net {

void ConnectRace::start(std::vector<wire::Endpoint> endpoints, std::chrono::milliseconds timeout,
                        Done done) {
  endpoints_ = std::move(endpoints);
  done_ = std::move(done);
  deadline_ = Clock::now() + timeout;
  // However many there are, the last has half of the time.
  head_start_time_ = std::min<Clock::duration>(
      kHeadStart, Clock::duration(timeout) / (2 * static_cast<std::int64_t>(endpoints_.size())));
  try_next();
}

void ConnectRace::try_next() {
  const std::size_t index = attempts_.size();
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
  attempts_.push_back(std::make_shared<TcpConnect>(io_));
  attempts_[index]->start(
      endpoints_[index], static_cast<std::uint32_t>(std::max<std::int64_t>(left.count(), 0)),
      [weak = weak_from_this(), index](asio::error_code error, asio::ip::tcp::socket socket) {
        if (const auto self = weak.lock()) self->on_tried(index, error, std::move(socket));
      });
  if (attempts_.size() == endpoints_.size()) return;
  head_start_.expires_after(head_start_time_);
  head_start_.async_wait([weak = weak_from_this(), index](asio::error_code error) {
    const auto self = weak.lock();
    // Its cancellation may come too late.
    if (!error && self && self->done_ && self->attempts_.size() == index + 1) self->try_next();
  });
}

void ConnectRace::on_tried(std::size_t index, asio::error_code error,
                           asio::ip::tcp::socket socket) {
  attempts_[index].reset();
  if (!error) {
    RaceResult result;
    result.winner = endpoints_[index];
    result.socket = std::move(socket);
    for (std::size_t i = 0; i < endpoints_.size(); ++i) {
      if (i >= attempts_.size() || attempts_[i]) result.others.push_back(endpoints_[i]);
    }
    return finish(std::move(result));
  }
  failures_.push_back({endpoints_[index], error});
  if (attempts_.size() < endpoints_.size()) {
    head_start_.cancel();
    return try_next();
  }
  if (failures_.size() == endpoints_.size()) finish({});
}

void ConnectRace::finish(RaceResult result) {
  result.failures = std::move(failures_);
  auto done = std::move(done_);
  cancel();
  done(std::move(result));
}

void ConnectRace::cancel() {
  done_ = nullptr;
  head_start_.cancel();
  for (const auto& attempt : attempts_) {
    if (attempt) attempt->cancel();
  }
}

}  // namespace tide::net
