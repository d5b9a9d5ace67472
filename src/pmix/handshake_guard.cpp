#include "pmix/handshake_guard.hpp"

#include <linux/filter.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <charconv>

#include "pmix/connections.hpp"
#include "pmix/other_end.hpp"

namespace tide::pmix {
namespace {

// What a client is sent in answer; a tool is sent more.
constexpr std::uint64_t kAnswerBytes = 8;

bool was_answered(int descriptor) {
  tcp_info info{};
  socklen_t size = sizeof info;
  return ::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
         info.tcpi_bytes_sent >= kAnswerBytes;
}

// Drops what says that a connection does not exist. Accepted connections inherit it.
void guard(int listener) {
  constexpr std::uint32_t kFlagsOffset = 13;  // in the header of TCP
  constexpr std::uint32_t kReset = 0x04;
  std::array<sock_filter, 4> program = {{BPF_STMT(BPF_LD | BPF_B | BPF_ABS, kFlagsOffset),
                                         BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kReset, 0, 1),
                                         BPF_STMT(BPF_RET | BPF_K, 0),
                                         BPF_STMT(BPF_RET | BPF_K, UINT32_MAX)}};
  const sock_fprog filter{program.size(), program.data()};
  ::setsockopt(listener, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
}

// libpmix reads what a caller says first on its only thread and waits for it. So nobody is let in
// before something was said, and who says half of it has a short time for the rest. Accepted
// connections inherit the latter; libpmix waits at no other time.
void refuse_the_silent(int listener) {
  const int patience_s = 30;
  const timeval rest{.tv_sec = 1, .tv_usec = 0};
  ::setsockopt(listener, IPPROTO_TCP, TCP_DEFER_ACCEPT, &patience_s, sizeof patience_s);
  ::setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &rest, sizeof rest);
}

// Where the kernel does not tell us now, it finds out by itself, some time.
void find_out_later(int descriptor) {
  const int on = 1;
  const int seconds = 5;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
  ::setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

// What was dropped is not said again, so we have to look.
void release(int descriptor) {
  const int unused = 0;
  ::setsockopt(descriptor, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof unused);
  const auto other_end = has_other_end(descriptor);
  if (!other_end) {
    find_out_later(descriptor);
  } else if (!*other_end) {
    ::shutdown(descriptor, SHUT_RDWR);
  }
}

}  // namespace

std::uint16_t port_in(const std::string& uri) {
  const std::size_t colon = uri.rfind(':');
  std::uint16_t port = 0;
  if (colon == std::string::npos) return 0;
  std::from_chars(uri.data() + colon + 1, uri.data() + uri.size(), port);
  return port;
}

void HandshakeGuard::watch(std::uint16_t port) {
  port_ = port;
  if (port == 0) return;
  for_all_at_port(port, [](int descriptor) {
    if (!is_listener(descriptor)) return;
    guard(descriptor);
    refuse_the_silent(descriptor);
  });
}

void HandshakeGuard::release_answered() const {
  if (port_ == 0) return;
  for_all_at_port(port_, [](int descriptor) {
    if (!is_listener(descriptor) && has_filter(descriptor) && was_answered(descriptor)) {
      release(descriptor);
    }
  });
}

}  // namespace tide::pmix
