#include "pmix/connections.hpp"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <charconv>
#include <filesystem>

namespace tide::pmix {
namespace {

constexpr std::uint8_t kEstablished =
    1;  // TCP_ESTABLISHED, whose header conflicts with the kernel's

bool is_at_port(int descriptor, std::uint16_t port) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) return false;
  if (address.ss_family != AF_INET && address.ss_family != AF_INET6) return false;
  // Both families have it at the same place.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port) == port;
}

bool has_lost_its_other_end(int descriptor) {
  tcp_info info{};
  socklen_t size = sizeof info;
  return ::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
         info.tcpi_state != kEstablished;
}

}  // namespace

void for_all_at_port(std::uint16_t port, const std::function<void(int)>& what) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    const std::string name = entry.path().filename();
    int descriptor = -1;
    std::from_chars(name.data(), name.data() + name.size(), descriptor);
    if (is_at_port(descriptor, port)) what(descriptor);
  }
}

bool is_listener(int descriptor) {
  int answer = 0;
  socklen_t size = sizeof answer;
  return ::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &answer, &size) == 0 && answer != 0;
}

bool has_filter(int descriptor) {
  socklen_t instructions = 0;
  return ::getsockopt(descriptor, SOL_SOCKET, SO_GET_FILTER, nullptr, &instructions) == 0 &&
         instructions > 0;
}

std::set<std::uint64_t> unsettled_connections(std::uint16_t port) {
  std::set<std::uint64_t> found;
  if (port == 0) return found;
  for_all_at_port(port, [&](int descriptor) {
    std::uint64_t number = 0;
    socklen_t size = sizeof number;
    if (is_listener(descriptor)) return;
    if (!has_filter(descriptor) && !has_lost_its_other_end(descriptor)) return;
    if (::getsockopt(descriptor, SOL_SOCKET, SO_COOKIE, &number, &size) == 0) found.insert(number);
  });
  return found;
}

}  // namespace tide::pmix
