#include "pmix/other_end.hpp"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/private_directory.hpp"

namespace tide::pmix {
namespace {

struct Question {
  nlmsghdr header{};
  inet_diag_req_v2 socket{};
};

void set_address(const sockaddr_storage& address, __be32 (&words)[4], __be16& port) {
  if (address.ss_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(&address);
    std::memcpy(words, &v4->sin_addr, sizeof v4->sin_addr);
    port = v4->sin_port;
  } else {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&address);
    std::memcpy(words, &v6->sin6_addr, sizeof v6->sin6_addr);
    port = v6->sin6_port;
  }
}

// About the socket that has the two addresses of this one the other way round.
std::optional<Question> question_about(int descriptor) {
  sockaddr_storage own{};
  sockaddr_storage other{};
  socklen_t size = sizeof own;
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &size) != 0) return std::nullopt;
  size = sizeof other;
  if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&other), &size) != 0) {
    return std::nullopt;
  }
  Question question;
  question.header.nlmsg_len = sizeof question;
  question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.header.nlmsg_flags = NLM_F_REQUEST;
  question.socket.sdiag_family = static_cast<std::uint8_t>(own.ss_family);
  question.socket.sdiag_protocol = IPPROTO_TCP;
  question.socket.idiag_states = UINT32_MAX;
  set_address(other, question.socket.id.idiag_src, question.socket.id.idiag_sport);
  set_address(own, question.socket.id.idiag_dst, question.socket.id.idiag_dport);
  question.socket.id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
  question.socket.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return question;
}

}  // namespace

std::optional<bool> has_other_end(int descriptor) {
  const auto question = question_about(descriptor);
  const OwnedFd kernel(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!question || kernel.get() < 0) return std::nullopt;
  if (::send(kernel.get(), &*question, sizeof *question, 0) < 0) return std::nullopt;
  // The kernel has answered when send() returns.
  alignas(nlmsghdr) std::array<char, 1024> bytes{};
  const ssize_t size = ::recv(kernel.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (size < static_cast<ssize_t>(sizeof(nlmsghdr))) return std::nullopt;
  const auto* header = reinterpret_cast<const nlmsghdr*>(bytes.data());
  if (header->nlmsg_type == SOCK_DIAG_BY_FAMILY) return true;
  if (header->nlmsg_type != NLMSG_ERROR) return std::nullopt;
  const auto* error = reinterpret_cast<const nlmsgerr*>(bytes.data() + sizeof(nlmsghdr));
  return error->error == -ENOENT ? std::optional(false) : std::nullopt;
}

}  // namespace tide::pmix
