// Who is at the other end of a local socket, as the kernel vouches for it.
#pragma once

#include <sys/types.h>

#include "base/result.hpp"

namespace tide::net {

struct PeerCredentials {
  pid_t pid = 0;
  uid_t uid = 0;
};

Result<PeerCredentials> peer_credentials(int fd);

// May a process of user `client` use the socket of a DVM of user `owner`? The owner and root may.
Status may_use_dvm(uid_t client, uid_t owner);

}  // namespace tide::net
