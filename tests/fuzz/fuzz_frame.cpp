// Frames of links: any bytes in any pieces, and what the encoder makes of any messages.
#include <array>
#include <utility>
#include <vector>

#include "net/frame.hpp"
#include "net/handshake.hpp"
#include "tests/fuzz/fuzz_input.hpp"
#include "wire/link.pb.h"

namespace tide::fuzz {
namespace {

using net::RawMessage;

struct Decoded {
  bool good = true;
  std::vector<RawMessage> messages;

  bool operator==(const Decoded&) const = default;
};

Decoded decode_whole(std::string_view bytes, std::size_t limit) {
  net::FrameDecoder decoder(limit);
  Decoded out;
  out.good = decoder.feed(bytes, out.messages).ok();
  return out;
}

Decoded decode_in_pieces(std::string_view bytes, std::size_t limit, Cuts cuts) {
  net::FrameDecoder decoder(limit);
  Decoded out;
  while (!bytes.empty() && out.good) {
    out.good = decoder.feed(cuts.next(bytes), out.messages).ok();
  }
  return out;
}

net::LinkConfig own_side() {
  net::LinkConfig config;
  config.dvm_id = "dvm";
  config.rank = Rank(0);
  return config;
}

void read_message(const RawMessage& raw) {
  wire::LinkMessage message;
  if (!message.ParseFromString(raw.header)) return;
  wire::LinkMessage again;
  FUZZ_REQUIRE(again.ParseFromString(message.SerializeAsString()));
  if (message.has_goodbye()) net::link_end_of(message.goodbye().reason());
  if (!message.has_hello()) return;
  const net::LinkConfig config = own_side();
  const bool welcome = net::check_hello(config, std::nullopt, message.hello()).ok();
  FUZZ_REQUIRE(!welcome || message.hello().dvm_id() == config.dvm_id);
  FUZZ_REQUIRE(!net::check_hello(config, Rank(message.hello().rank() + 1), message.hello()).ok());
}

void read_any_bytes(Input input) {
  const std::size_t limit = (input.byte() & 1U) != 0 ? 4096 : std::size_t{1} << 20U;
  const Cuts cuts(input.number());
  const std::string_view bytes = input.rest();
  const Decoded whole = decode_whole(bytes, limit);
  FUZZ_REQUIRE(decode_in_pieces(bytes, limit, cuts) == whole);
  for (const RawMessage& message : whole.messages) {
    FUZZ_REQUIRE(message.header.size() + message.payload.size() <= limit);
    read_message(message);
  }
}

// Lengths are what framing is about: the text of an input is repeated up to them.
std::string long_text(Input& input) {
  const std::size_t size = input.number() << (input.byte() & 1U);
  const std::string_view pattern = input.text(input.byte());
  std::string out;
  while (out.size() < size && !pattern.empty()) out += pattern;
  return out.substr(0, size);
}

void encode_and_read_back(Input input) {
  constexpr std::size_t kLimit = std::size_t{1} << 19U;
  constexpr int kMostMessages = 8;
  const Cuts cuts(input.number());
  const std::size_t batch = input.number();
  net::FrameEncoder encoder(kLimit);
  std::array<std::vector<RawMessage>, net::kMessageClasses> sent;
  for (int i = 0; i < kMostMessages && !input.empty(); ++i) {
    const std::size_t message_class = input.byte() & 1U;
    RawMessage message{static_cast<net::MessageClass>(message_class), long_text(input), {}};
    message.payload = Bytes(long_text(input));
    const bool fits = message.header.size() + message.payload.size() <= kLimit;
    FUZZ_REQUIRE(encoder.push(message).ok() == fits);
    if (fits) sent[message_class].push_back(std::move(message));
  }
  std::string stream;
  while (!encoder.empty()) encoder.fill(stream, stream.size() + batch + 1);
  FUZZ_REQUIRE(encoder.queued_bytes() == 0);
  const Decoded got = decode_in_pieces(stream, kLimit, cuts);
  FUZZ_REQUIRE(got.good);
  std::array<std::vector<RawMessage>, net::kMessageClasses> received;
  for (const RawMessage& message : got.messages) {
    received[static_cast<std::size_t>(message.message_class)].push_back(message);
  }
  FUZZ_REQUIRE(received == sent);
}

}  // namespace
}  // namespace tide::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tide::fuzz::Input input(tide::fuzz::as_text(data, size));
  if ((input.byte() & 1U) == 0) {
    tide::fuzz::read_any_bytes(input);
  } else {
    tide::fuzz::encode_and_read_back(input);
  }
  return 0;
}
