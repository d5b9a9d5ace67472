// Waits until libpmix has seen the end of connections that have ended.
//
// libpmix does not tell when it does, and to ask it for something and wait for the answer proves
// nothing: as long as its event loop has something to do for others it does also what it is asked
// meanwhile, and does not look at sockets. So we look at them.
#pragma once

#include <asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <utility>

namespace tide::pmix {

class Settling {
 public:
  using Look = std::function<std::set<std::uint64_t>()>;

  Settling(asio::io_context& io, Look unsettled) : io_(io), unsettled_(std::move(unsettled)) {}

  // Calls when none of the connections that are unsettled now is, at once if there are none. Those
  // that come later are not waited for. After some seconds it calls all the same.
  void wait(std::function<void()> then);

 private:
  struct Waiting;
  void look(const std::shared_ptr<Waiting>& waiting);

  asio::io_context& io_;
  Look unsettled_;
  std::shared_ptr<const bool> lifetime_ = std::make_shared<const bool>(true);
};

}  // namespace tide::pmix
