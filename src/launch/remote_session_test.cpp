#include "launch/remote_session.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tide::launch {
namespace {

TEST(RemoteSession, TheGreetingIsFoundInNoiseOfAnyGrain) {
  // A login shell may write lines, a prompt without an end of line, and a terminal's line ends.
  const std::string stream = "Last login: never\r\ntide-daemon-at-your-servi\n\xff" +
                             std::string(1, '\0') + "prompt> " + greeting_text({7, "1.2 beta"}) +
                             "more\n" + joined_text(4711);
  for (const std::size_t grain : {1U, 3U, 17U, 4096U}) {
    SessionReader reader;
    std::optional<Greeting> greeting;
    std::optional<pid_t> pid;
    for (std::size_t at = 0; at < stream.size(); at += grain) {
      reader.feed(std::string_view(stream).substr(at, grain));
      if (!greeting) greeting = reader.take_greeting();
      if (greeting && !pid) pid = reader.take_joined();
    }
    EXPECT_EQ(greeting, (Greeting{7, "1.2 beta"})) << grain;
    EXPECT_EQ(pid, 4711) << grain;
  }
}

TEST(RemoteSession, AGreetingOfAnotherShapeIsNoneOfOurs) {
  SessionReader reader;
  reader.feed("tide-daemon-at-your-service whatever\n");
  const auto greeting = reader.take_greeting();
  ASSERT_TRUE(greeting.has_value());
  EXPECT_NE(greeting->protocol, kRemoteProtocol);
}

TEST(RemoteSession, TheLengthStandsBeforeTheBlob) {
  const exec::Secret frame = framed_blob(std::string(0x010203, 'x'));
  EXPECT_EQ(frame.text().size(), kBlobHeaderBytes + 0x010203);
  EXPECT_EQ(frame.text().substr(0, kBlobHeaderBytes), std::string("\0\1\2\3", 4));
  EXPECT_EQ(blob_bytes(frame.text()), 0x010203U);
}

}  // namespace
}  // namespace tide::launch
