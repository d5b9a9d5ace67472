#include "net/frame.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <iterator>

namespace tide::net {
namespace {

constexpr std::size_t kMax = 1U << 20U;

std::string prefix(std::uint32_t length, unsigned message_class, unsigned flags) {
  std::string out;
  for (unsigned shift = 0; shift < 32; shift += 8)
    out.push_back(static_cast<char>((length >> shift) & 0xffU));
  out.push_back(static_cast<char>(message_class));
  out.push_back(static_cast<char>(flags));
  return out;
}

std::string lengths(std::uint32_t header, std::uint32_t payload) {
  return prefix(header, 0, 0).substr(0, 4) + prefix(payload, 0, 0).substr(0, 4);
}

std::string encoded(const std::vector<RawMessage>& messages) {
  FrameEncoder encoder(kMax);
  for (const RawMessage& message : messages) EXPECT_TRUE(encoder.push(message).ok());
  std::string out;
  while (!encoder.empty()) encoder.fill(out, out.size() + 1);
  EXPECT_EQ(encoder.queued_bytes(), 0U);
  return out;
}

// The error that feeding `bytes` to a fresh decoder ends with; empty when there is none.
std::string error_of(std::string_view bytes) {
  FrameDecoder decoder(kMax);
  std::vector<RawMessage> out;
  const Status status = decoder.feed(bytes, out);
  if (status.ok()) return "";
  EXPECT_EQ(status.error().code, ErrorCode::kProtocol);
  EXPECT_TRUE(out.empty());
  return status.error().message;
}

TEST(Frame, MessageLooksAsDocumented) {
  const std::string bytes = encoded({{MessageClass::kBulk, "he", Bytes("pay")}});
  EXPECT_EQ(bytes, prefix(13, 1, 0) + lengths(2, 3) + "hepay");
}

TEST(Frame, LongMessageIsCutIntoFramesOfTheMaximum) {
  const std::string bytes =
      encoded({{MessageClass::kControl, "h", Bytes(std::string(2 * kMaxFrameBytes, 'x'))}});
  EXPECT_EQ(bytes.substr(0, 6), prefix(kMaxFrameBodyBytes, 0, 1));
  EXPECT_EQ(bytes.substr(kMaxFrameBytes, 6), prefix(kMaxFrameBodyBytes, 0, 1));
  const std::size_t rest = (2 * kMaxFrameBytes) + 1 + 8 - (2 * kMaxFrameBodyBytes);
  EXPECT_EQ(bytes.substr(2 * kMaxFrameBytes, 6), prefix(rest, 0, 0));
}

TEST(Frame, ControlGoesBetweenTheFramesOfABulkMessage) {
  const RawMessage bulk{MessageClass::kBulk, "b", Bytes(std::string(3 * kMaxFrameBytes, 'x'))};
  const RawMessage control{MessageClass::kControl, "c", {}};
  FrameEncoder encoder(kMax);
  ASSERT_TRUE(encoder.push(bulk).ok());
  std::string bytes;
  encoder.fill(bytes, 1);
  EXPECT_EQ(bytes.size(), kMaxFrameBytes);
  ASSERT_TRUE(encoder.push(control).ok());
  encoder.fill(bytes, 10 * kMaxFrameBytes);
  EXPECT_TRUE(encoder.empty());

  FrameDecoder decoder(kMax);
  std::vector<RawMessage> out;
  ASSERT_TRUE(decoder.feed(bytes, out).ok());
  ASSERT_EQ(out.size(), 2U);
  EXPECT_EQ(out[0], control);
  EXPECT_EQ(out[1], bulk);
}

TEST(Frame, FillStopsAtTheLimit) {
  FrameEncoder encoder(kMax);
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(encoder.push({MessageClass::kControl, std::string(100, 'h'), {}}).ok());
  std::string out;
  encoder.fill(out, 1000);
  EXPECT_GE(out.size(), 1000U);
  EXPECT_LT(out.size(), 1200U);
  EXPECT_FALSE(encoder.empty());
}

TEST(Frame, EncoderRefusesWhatIsTooLarge) {
  FrameEncoder encoder(10);
  EXPECT_TRUE(encoder.push({MessageClass::kControl, "12345", Bytes("67890")}).ok());
  const Status status = encoder.push({MessageClass::kControl, "12345", Bytes("678901")});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message,
            "a message of 11 bytes, above the maximum of 10 (prte_max_msg_size)");
  EXPECT_EQ(encoder.queued_bytes(), 10U);
}

TEST(Frame, DecoderNamesTheNumbersOfAViolation) {
  EXPECT_EQ(error_of(prefix(65531, 0, 0)), "a frame of 65531 bytes, above the maximum of 65530");
  EXPECT_EQ(error_of(prefix(0xffffffff, 0, 0)),
            "a frame of 4294967295 bytes, above the maximum of 65530");
  EXPECT_EQ(error_of(prefix(20, 2, 0)), "a frame of class 2; there are only 2");
  EXPECT_EQ(error_of(prefix(20, 0, 0x82)), "a frame with flags 0x82");
  EXPECT_EQ(error_of(prefix(7, 0, 0)), "a frame of 7 bytes where at least 8 are due");
  EXPECT_EQ(error_of(prefix(8, 0, 1) + lengths(kMax, 1)),
            "a message of 1048577 bytes, above the maximum of 1048576 (prte_max_msg_size)");
  EXPECT_EQ(error_of(prefix(8, 0, 1) + lengths(0xffffffff, 0xffffffff)),
            "a message of 8589934590 bytes, above the maximum of 1048576 (prte_max_msg_size)");
}

TEST(Frame, DecoderRefusesLengthsThatDoNotAgree) {
  EXPECT_EQ(error_of(prefix(12, 0, 0) + lengths(1, 2) + "abcd"),
            "1 bytes more than the 3 that the message announced");
  EXPECT_EQ(error_of(prefix(10, 0, 0) + lengths(1, 2) + "ab"),
            "a message that ends after 2 of 3 bytes");
  EXPECT_EQ(error_of(prefix(11, 0, 1) + lengths(1, 2) + "abc"),
            "a message of 3 bytes that does not end with them");
  EXPECT_EQ(error_of(prefix(9, 0, 1) + lengths(1, 2) + "a" + prefix(0, 0, 1)),
            "a frame of 0 bytes where at least 1 are due");
}

TEST(Frame, TruncatedMessageIsNotDelivered) {
  const std::string bytes = encoded({{MessageClass::kControl, "header", Bytes("payload")}});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    FrameDecoder decoder(kMax);
    std::vector<RawMessage> out;
    EXPECT_TRUE(decoder.feed(std::string_view(bytes).substr(0, size), out).ok());
    EXPECT_TRUE(out.empty());
  }
}

TEST(Frame, MaximumCanBeRaisedBetweenMessages) {
  const std::string bytes = encoded({{MessageClass::kControl, std::string(100, 'h'), {}}});
  std::vector<RawMessage> out;
  FrameDecoder small(99);
  EXPECT_FALSE(small.feed(bytes, out).ok());
  FrameDecoder raised(99);
  raised.set_max_message_bytes(100);
  EXPECT_TRUE(raised.feed(bytes, out).ok());
  EXPECT_EQ(out.size(), 1U);
}

RawMessage any_message() {
  const auto size = *rc::gen::resize(
      rc::kNominalSize, rc::gen::weightedOneOf<std::size_t>(
                            {{3, rc::gen::inRange<std::size_t>(0, 300)},
                             {1, rc::gen::inRange<std::size_t>(0, 3 * kMaxFrameBytes)}}));
  const char fill = *rc::gen::inRange<char>('a', 'z');
  return {*rc::gen::element(MessageClass::kControl, MessageClass::kBulk),
          *rc::gen::container<std::string>(rc::gen::arbitrary<char>()),
          Bytes(std::string(size, fill))};
}

TEST(Frame, AnyMessagesInAnyPiecesArriveWholeAndInOrderPerClass) {
  EXPECT_TRUE(rc::check([] {
    std::vector<RawMessage> sent;
    for (int i = *rc::gen::inRange(0, 8); i > 0; --i) sent.push_back(any_message());
    const std::string bytes = encoded(sent);
    FrameDecoder decoder(kMax);
    std::vector<RawMessage> received;
    for (std::string_view rest = bytes; !rest.empty();) {
      const auto count = std::min(rest.size(), *rc::gen::weightedOneOf<std::size_t>(
                                                   {{1, rc::gen::inRange<std::size_t>(1, 20)},
                                                    {1, rc::gen::inRange<std::size_t>(1, 90000)}}));
      RC_ASSERT(decoder.feed(rest.substr(0, count), received).ok());
      rest.remove_prefix(count);
    }
    std::vector<RawMessage> expected;
    for (const auto wanted : {MessageClass::kControl, MessageClass::kBulk})
      std::copy_if(sent.begin(), sent.end(), std::back_inserter(expected),
                   [&](const RawMessage& message) { return message.message_class == wanted; });
    RC_ASSERT(received == expected);
  }));
}

TEST(Frame, GarbageNeverDeliversMoreThanWasSent) {
  EXPECT_TRUE(rc::check([](const std::string& garbage) {
    FrameDecoder decoder(kMax);
    std::vector<RawMessage> out;
    static_cast<void>(decoder.feed(garbage, out));
    std::size_t delivered = 0;
    for (const RawMessage& message : out)
      delivered += message.header.size() + message.payload.size();
    RC_ASSERT(delivered <= garbage.size());
  }));
}

}  // namespace
}  // namespace tide::net
