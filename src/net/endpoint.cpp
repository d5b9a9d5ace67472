#include "net/endpoint.hpp"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <asio/ip/address.hpp>
#include <cerrno>
#include <memory>
#include <optional>

namespace tide::net {
namespace {

wire::Endpoint endpoint(const asio::ip::address& address, std::uint16_t port) {
  wire::Endpoint out;
  out.set_address(address.to_string());
  out.set_port(port);
  return out;
}

std::optional<asio::ip::address> address_of(const sockaddr* raw) {
  if (raw == nullptr) return std::nullopt;
  if (raw->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(raw);
    return asio::ip::address_v4(ntohl(v4->sin_addr.s_addr));
  }
  if (raw->sa_family != AF_INET6) return std::nullopt;
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(raw);
  asio::ip::address_v6::bytes_type bytes{};
  std::copy_n(std::begin(v6->sin6_addr.s6_addr), bytes.size(), bytes.begin());
  if (asio::ip::address_v6(bytes).is_link_local()) return std::nullopt;
  return asio::ip::address_v6(bytes);
}

Result<std::vector<wire::Endpoint>> interface_endpoints(bool with_v6, std::uint16_t port) {
  ifaddrs* raw = nullptr;
  if (::getifaddrs(&raw) != 0) return system_error("listing the network interfaces", errno);
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> list(raw, &::freeifaddrs);
  std::vector<wire::Endpoint> out;
  for (const ifaddrs* entry = raw; entry != nullptr; entry = entry->ifa_next) {
    const auto address = address_of(entry->ifa_addr);
    if (!address || (entry->ifa_flags & IFF_UP) == 0 || address->is_loopback()) continue;
    if (address->is_v6() && !with_v6) continue;
    out.push_back(endpoint(*address, port));
  }
  if (out.empty()) out.push_back(endpoint(asio::ip::address_v4::loopback(), port));
  return out;
}

}  // namespace

std::string endpoint_text(const std::string& address, std::uint32_t port) {
  const bool v6 = address.find(':') != std::string::npos;
  return v6 ? fmt::format("[{}]:{}", address, port) : fmt::format("{}:{}", address, port);
}

Result<std::vector<wire::Endpoint>> endpoints_to_tell(const std::string& address,
                                                      std::uint16_t port) {
  asio::error_code error;
  const auto parsed = asio::ip::make_address(address, error);
  if (error)
    return Error{ErrorCode::kInvalidArgument, "'" + address + "' is no numeric network address"};
  if (parsed.is_unspecified()) return interface_endpoints(parsed.is_v6(), port);
  return std::vector<wire::Endpoint>{endpoint(parsed, port)};
}

}  // namespace tide::net
