#include "net/peer_credentials.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

namespace tide::net {
namespace {

TEST(PeerCredentials, OwnerAndRootMayUseTheDvm) {
  EXPECT_TRUE(may_use_dvm(1000, 1000).ok());
  EXPECT_TRUE(may_use_dvm(0, 1000).ok());
  EXPECT_TRUE(may_use_dvm(0, 0).ok());
}

TEST(PeerCredentials, OthersMayNot) {
  for (const auto& [client, owner] : {std::pair<uid_t, uid_t>{1001, 1000}, {1000, 0}}) {
    const Status status = may_use_dvm(client, owner);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kPermissionDenied);
    EXPECT_NE(status.error().message.find(std::to_string(client)), std::string::npos);
  }
}

TEST(PeerCredentials, OfASocketPairAreOurs) {
  std::array<int, 2> fds{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, fds.data()), 0);
  const auto credentials = peer_credentials(fds[0]);
  ASSERT_TRUE(credentials.ok());
  EXPECT_EQ(credentials->pid, ::getpid());
  EXPECT_EQ(credentials->uid, ::getuid());
  ::close(fds[0]);
  ::close(fds[1]);
}

TEST(PeerCredentials, OfNoSocketAreAnError) {
  EXPECT_FALSE(peer_credentials(-1).ok());
}

}  // namespace
}  // namespace tide::net
