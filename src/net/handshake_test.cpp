#include "net/handshake.hpp"

#include <gtest/gtest.h>

#include "net/protocol.hpp"

namespace tide::net {
namespace {

LinkConfig config_of(std::uint32_t rank) {
  LinkConfig config;
  config.dvm_id = "tide-a";
  config.key = "a key that must not be seen";
  config.rank = Rank(rank);
  config.incarnation = Incarnation(77);
  config.campaign = 3;
  return config;
}

std::string refusal(std::optional<Rank> asked_for, const wire::Hello& hello) {
  const Status status = check_hello(config_of(0), asked_for, hello);
  return status.ok() ? "" : status.error().message;
}

TEST(Handshake, HelloCarriesTheTicketAndNoKey) {
  const wire::LinkMessage message = hello_message(config_of(5));
  EXPECT_EQ(message.hello().protocol(), kProtocol);
  EXPECT_EQ(message.hello().rank(), 5U);
  EXPECT_EQ(message.hello().incarnation(), 77U);
  EXPECT_EQ(message.hello().campaign(), 3U);
  EXPECT_EQ(message.SerializeAsString().find("must not be seen"), std::string::npos);
}

TEST(Handshake, AcceptsAnyOtherRankOfTheDvm) {
  EXPECT_EQ(refusal(std::nullopt, hello_message(config_of(5)).hello()), "");
  EXPECT_EQ(refusal(Rank(5), hello_message(config_of(5)).hello()), "");
}

TEST(Handshake, RefusalsSayWhy) {
  wire::Hello hello = hello_message(config_of(5)).hello();
  EXPECT_EQ(refusal(Rank(6), hello), "rank 5 answers where rank 6 should be");
  hello.set_rank(0);
  EXPECT_EQ(refusal(std::nullopt, hello), "the peer claims to be rank 0, and so are we");
  hello.set_dvm_id("tide-b");
  EXPECT_EQ(refusal(std::nullopt, hello), "DVM tide-a does not know DVM tide-b");
  hello.set_protocol(0);
  EXPECT_NE(refusal(std::nullopt, hello).find("no common protocol version"), std::string::npos);
}

TEST(Handshake, GoodbyesMapToLinkEnds) {
  EXPECT_EQ(link_end_of(wire::GOODBYE_NORMAL), LinkEnd::kClosed);
  EXPECT_EQ(link_end_of(wire::GOODBYE_REFUSED), LinkEnd::kRefused);
  EXPECT_EQ(link_end_of(wire::GOODBYE_DECLARED_DEAD), LinkEnd::kDeclaredDead);
  EXPECT_EQ(link_end_of(wire::GOODBYE_MOVED), LinkEnd::kMoved);
}

}  // namespace
}  // namespace tide::net
