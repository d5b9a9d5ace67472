#include "net/frame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace tide::net {
namespace {

constexpr std::uint8_t kFlagMore = 1;
// What a mere announcement is given; the rest comes with the bytes.
constexpr std::size_t kMaxReserveBytes = 65536;

void append_u32(std::string& out, std::size_t value) {
  for (unsigned shift = 0; shift < 32; shift += 8)
    out.push_back(static_cast<char>((value >> shift) & 0xffU));
}

std::uint32_t read_u32(std::string_view bytes) {
  std::uint32_t value = 0;
  for (unsigned i = 0; i < 4; ++i)
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return value;
}

Error broken(std::string text) {
  return Error{ErrorCode::kProtocol, std::move(text)};
}

std::size_t index_of(MessageClass message_class) {
  return static_cast<std::size_t>(message_class);
}

// Moves up to `wanted - out.size()` bytes from the front of `bytes` to `out`.
void take(std::string& out, std::size_t wanted, std::string_view& bytes) {
  const std::size_t count = std::min(wanted - out.size(), bytes.size());
  out.append(bytes.substr(0, count));
  bytes.remove_prefix(count);
}

}  // namespace

Status FrameEncoder::push(RawMessage message) {
  const std::size_t size = message.header.size() + message.payload.size();
  if (size > max_message_bytes_ || size > std::numeric_limits<std::uint32_t>::max())
    return Error{ErrorCode::kOutOfResources,
                 fmt::format("a message of {} bytes, above the maximum of {} (prte_max_msg_size)",
                             size, max_message_bytes_)};
  queued_bytes_ += size;
  queued_header_bytes_ += message.header.size();
  queues_[index_of(message.message_class)].push_back(std::move(message));
  return ok_status();
}

bool FrameEncoder::empty() const {
  return std::all_of(queues_.begin(), queues_.end(), [](const auto& q) { return q.empty(); });
}

void FrameEncoder::fill(std::string& out, std::size_t limit_bytes) {
  for (std::size_t i = 0; i < kMessageClasses; ++i)
    while (!queues_[i].empty() && out.size() < limit_bytes) append_frame(out, queues_[i], sent_[i]);
}

void FrameEncoder::append_frame(std::string& out, std::deque<RawMessage>& queue,
                                std::size_t& sent) {
  const RawMessage& message = queue.front();
  const std::string_view header = message.header;
  const std::string_view payload = message.payload.view();
  const std::size_t total = kMessageLengthsBytes + header.size() + payload.size();
  const std::size_t body = std::min(total - sent, kMaxFrameBodyBytes);
  const bool more = sent + body < total;

  append_u32(out, body);
  out.push_back(static_cast<char>(message.message_class));
  out.push_back(static_cast<char>(more ? kFlagMore : 0));
  std::size_t left = body;
  if (sent == 0) {
    append_u32(out, header.size());
    append_u32(out, payload.size());
    sent += kMessageLengthsBytes;
    left -= kMessageLengthsBytes;
  }
  for (std::size_t before = kMessageLengthsBytes; const std::string_view part : {header, payload}) {
    const std::size_t from = std::min(sent - before, part.size());
    const std::size_t count = std::min(left, part.size() - from);
    out.append(part.substr(from, count));
    sent += count;
    left -= count;
    queued_bytes_ -= count;
    before += part.size();
    if (left == 0) break;
  }
  if (more) return;
  queued_header_bytes_ -= header.size();
  queue.pop_front();
  sent = 0;
}

Status FrameDecoder::feed(std::string_view bytes, std::vector<RawMessage>& out) {
  while (!bytes.empty()) {
    if (!in_body_) {
      take(prefix_, kFramePrefixBytes, bytes);
      if (prefix_.size() < kFramePrefixBytes) break;
      if (Status status = begin_frame(); !status) return status;
    }
    if (Status status = take_body(bytes); !status) return status;
    if (body_left_ > 0) break;
    if (Status status = end_frame(out); !status) return status;
  }
  return ok_status();
}

std::size_t FrameDecoder::held_bytes() const {
  std::size_t sum = 0;
  for (const Assembly& assembly : assemblies_)
    sum += assembly.header.size() + assembly.payload.size();
  return sum;
}

Status FrameDecoder::begin_frame() {
  const std::size_t length = read_u32(prefix_);
  const auto message_class = static_cast<std::uint8_t>(prefix_[4]);
  const auto flags = static_cast<std::uint8_t>(prefix_[5]);
  prefix_.clear();
  if (length > kMaxFrameBodyBytes)
    return broken(
        fmt::format("a frame of {} bytes, above the maximum of {}", length, kMaxFrameBodyBytes));
  if (message_class >= kMessageClasses)
    return broken(
        fmt::format("a frame of class {}; there are only {}", message_class, kMessageClasses));
  if ((flags & ~kFlagMore) != 0) return broken(fmt::format("a frame with flags {:#x}", flags));
  const std::size_t least = assemblies_[message_class].started ? 1 : kMessageLengthsBytes;
  if (length < least)
    return broken(fmt::format("a frame of {} bytes where at least {} are due", length, least));
  class_ = static_cast<MessageClass>(message_class);
  more_ = (flags & kFlagMore) != 0;
  body_left_ = length;
  in_body_ = true;
  return ok_status();
}

Status FrameDecoder::begin_message(Assembly& assembly) const {
  const std::size_t header = read_u32(assembly.lengths);
  const std::size_t payload = read_u32(std::string_view(assembly.lengths).substr(4));
  if (header + payload > max_message_bytes_)
    return broken(fmt::format("a message of {} bytes, above the maximum of {} (prte_max_msg_size)",
                              header + payload, max_message_bytes_));
  assembly.started = true;
  assembly.header_bytes = header;
  assembly.payload_bytes = payload;
  assembly.header.reserve(std::min(header, kMaxReserveBytes));
  assembly.payload.reserve(std::min(payload, kMaxReserveBytes));
  return ok_status();
}

Status FrameDecoder::take_body(std::string_view& bytes) {
  Assembly& assembly = assemblies_[index_of(class_)];
  std::string_view body = bytes.substr(0, std::min(bytes.size(), body_left_));
  bytes.remove_prefix(body.size());
  body_left_ -= body.size();
  if (!assembly.started) {
    take(assembly.lengths, kMessageLengthsBytes, body);
    if (assembly.lengths.size() < kMessageLengthsBytes) return ok_status();
    if (Status status = begin_message(assembly); !status) return status;
  }
  take(assembly.header, assembly.header_bytes, body);
  take(assembly.payload, assembly.payload_bytes, body);
  if (body.empty()) return ok_status();
  return broken(fmt::format("{} bytes more than the {} that the message announced", body.size(),
                            assembly.header_bytes + assembly.payload_bytes));
}

Status FrameDecoder::end_frame(std::vector<RawMessage>& out) {
  in_body_ = false;
  Assembly& assembly = assemblies_[index_of(class_)];
  const std::size_t announced = assembly.header_bytes + assembly.payload_bytes;
  const std::size_t have = assembly.header.size() + assembly.payload.size();
  if (more_ && have == announced)
    return broken(fmt::format("a message of {} bytes that does not end with them", announced));
  if (more_) return ok_status();
  if (have < announced)
    return broken(fmt::format("a message that ends after {} of {} bytes", have, announced));
  out.push_back(RawMessage{class_, std::move(assembly.header), Bytes(std::move(assembly.payload))});
  assembly = Assembly{};
  return ok_status();
}

}  // namespace tide::net
