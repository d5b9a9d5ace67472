// What processes write, on its way to tools.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "pmix/bridge.hpp"

namespace tide::pmix {

// libpmix takes one turn of its thread more to send output than to send an event, so an event that
// is told right behind output overtakes it. Here it waits until the output is on its way.
class Outputs {
 public:
  explicit Outputs(Bridge& bridge) : bridge_(bridge) {}

  // As Server::deliver_output().
  void deliver(const ProcName& source, wire::Stream stream, std::string data,
               std::function<void()> done);
  // Behind all that was delivered so far: at once, if that is on its way.
  void when_sent(std::function<void()> then);

 private:
  void sent(std::uint64_t number);

  Bridge& bridge_;
  std::uint64_t last_ = 0;
  std::set<std::uint64_t> sending_;
  std::deque<std::pair<std::uint64_t, std::function<void()>>> waiting_;  // behind which of them
};

}  // namespace tide::pmix
