// What a link needs to know about this side, and how a link ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/ids.hpp"
#include "net/frame.hpp"

namespace tide::net {

struct LinkConfig {
  std::string dvm_id;
  std::string key;   // the DVM's pre-shared key; never logged, never part of an error text
  std::string node;  // this side, as people call it
  Rank rank;
  Incarnation incarnation;
  std::uint32_t campaign = 0;
  std::uint32_t heartbeat_interval_ms = 1000;  // nothing sent for so long: say that we live
  std::uint32_t heartbeat_timeout_ms = 10000;  // nothing heard for so long: the link is down
  std::uint32_t handshake_timeout_ms = 5000;   // from the TCP connection to the peer's hello
  std::uint32_t connect_timeout_ms = 5000;     // for one of the endpoints to answer
  std::uint32_t flush_timeout_ms = 3000;       // for what is queued when a link is closed
  std::size_t max_message_bytes = kDefaultMaxMessageBytes;
  std::size_t max_unauthenticated = 256;  // incoming links whose handshake is not complete
  std::size_t max_silent = 1024;          // callers that have not said a word
};

// Why a link ended, as far as a decision hangs on it.
enum class LinkEnd : std::uint8_t {
  kClosed,        // the peer went away or the network did
  kSilent,        // no heartbeat before the deadline
  kRefused,       // the peer said goodbye: we are not welcome
  kDeclaredDead,  // the peer said that this incarnation was given up
  kMoved,         // the peer said that the tree changed
  kProtocol,      // the peer broke the protocol
};

}  // namespace tide::net
