// libpmix 4.2.2 ends the program, or frees memory that it uses, when somebody who connects is gone
// before it is answered: what it sends next fails, and it takes back more than it has done. So
// until a connection is answered the kernel does not hear that the other end is gone for good. That
// it has no more to say, which is what libpmix waits for before that, gets through.
#pragma once

#include <cstdint>
#include <string>

namespace tide::pmix {

// The port in "nspace.rank;tcp4://address:port"; 0 if there is none.
std::uint16_t port_in(const std::string& uri);

class HandshakeGuard {
 public:
  // Of all connections to this port of ours that come from now on.
  void watch(std::uint16_t port);
  // Those that were answered are as others again.
  void release_answered() const;
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  std::uint16_t port_ = 0;
};

}  // namespace tide::pmix
