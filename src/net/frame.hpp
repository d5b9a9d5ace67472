// The codec of all transports: messages cut into frames, and put together again.
//
// A message is a serialized protobuf header and raw payload bytes, in one of two classes. It
// travels in frames: u32 length of the body, u8 class, u8 flags, body; all numbers little-endian.
// The body of a message's first frame starts with u32 header length and u32 payload length. Frames
// of the two classes may alternate, so that control never waits for the end of a bulk message.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace tide::net {

enum class MessageClass : std::uint8_t { kControl = 0, kBulk = 1 };

inline constexpr std::size_t kMessageClasses = 2;
inline constexpr std::size_t kFramePrefixBytes = 6;
inline constexpr std::size_t kMessageLengthsBytes = 8;  // at the start of a message's first frame
inline constexpr std::size_t kMaxFrameBytes = 65536;    // prefix included
inline constexpr std::size_t kMaxFrameBodyBytes = kMaxFrameBytes - kFramePrefixBytes;
inline constexpr std::size_t kDefaultMaxMessageBytes = 64UL << 20U;  // parameter prte_max_msg_size

// A message as the transports see it; `header` is a serialized protobuf.
struct RawMessage {
  MessageClass message_class = MessageClass::kControl;
  std::string header;
  Bytes payload;

  bool operator==(const RawMessage&) const = default;
};

// Queues messages and turns them into frames, control before bulk.
class FrameEncoder {
 public:
  explicit FrameEncoder(std::size_t max_message_bytes) : max_message_bytes_(max_message_bytes) {}

  // Queues a message. One above the maximum is an Error that names both numbers, and is not queued.
  Status push(RawMessage message);

  // Appends whole frames to `out` while it is shorter than `limit_bytes`: every queued control
  // frame before any bulk frame. `out` ends up at most one frame above the limit.
  void fill(std::string& out, std::size_t limit_bytes);

  [[nodiscard]] bool empty() const;
  [[nodiscard]] std::size_t queued_bytes() const { return queued_bytes_; }
  // Of messages whose last frame is still to come: all but their payloads.
  [[nodiscard]] std::size_t queued_header_bytes() const { return queued_header_bytes_; }

 private:
  void append_frame(std::string& out, std::deque<RawMessage>& queue, std::size_t& sent);

  std::size_t max_message_bytes_;
  std::size_t queued_bytes_ = 0;
  std::size_t queued_header_bytes_ = 0;
  std::array<std::deque<RawMessage>, kMessageClasses> queues_;
  std::array<std::size_t, kMessageClasses> sent_{};  // of the first message, its lengths included
};

// Takes bytes in pieces of any size and gives back whole messages.
class FrameDecoder {
 public:
  explicit FrameDecoder(std::size_t max_message_bytes) : max_message_bytes_(max_message_bytes) {}

  // Appends the messages that `bytes` complete to `out`. Every limit is checked before memory is
  // taken, and memory is taken for what arrived, not for what was announced; a violation is an
  // Error that names the numbers, and the decoder must not be fed again.
  Status feed(std::string_view bytes, std::vector<RawMessage>& out);

  // Holds for messages that start after this call.
  void set_max_message_bytes(std::size_t bytes) { max_message_bytes_ = bytes; }

  // Kept for messages that are not complete yet.
  [[nodiscard]] std::size_t held_bytes() const;

 private:
  struct Assembly {
    bool started = false;
    std::string lengths;
    std::size_t header_bytes = 0;
    std::size_t payload_bytes = 0;
    std::string header;
    std::string payload;
  };

  Status begin_frame();
  Status begin_message(Assembly& assembly) const;
  Status take_body(std::string_view& bytes);
  Status end_frame(std::vector<RawMessage>& out);

  std::size_t max_message_bytes_;
  std::string prefix_;
  bool in_body_ = false;
  MessageClass class_ = MessageClass::kControl;
  bool more_ = false;
  std::size_t body_left_ = 0;
  std::array<Assembly, kMessageClasses> assemblies_;
};

}  // namespace tide::net
