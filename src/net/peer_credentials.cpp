#include "net/peer_credentials.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>

namespace tide::net {

Result<PeerCredentials> peer_credentials(int fd) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
    return system_error("reading the credentials of a local peer", errno);
  return PeerCredentials{credentials.pid, credentials.uid};
}

Status may_use_dvm(uid_t client, uid_t owner) {
  if (client == owner || client == 0) return ok_status();
  return Error{ErrorCode::kPermissionDenied,
               fmt::format("this DVM belongs to user {}; user {} may not use it", owner, client)};
}

}  // namespace tide::net
