#include "net/endpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <asio/ip/address.hpp>
#include <iterator>

#include "base/ip_network.hpp"

namespace tide::net {
namespace {

wire::Endpoint endpoint(const std::string& address, std::uint16_t port) {
  wire::Endpoint out;
  out.set_address(address);
  out.set_port(port);
  return out;
}

Result<std::vector<wire::Endpoint>> interface_endpoints(bool with_v6, std::uint16_t port) {
  const auto interfaces = interfaces_of_this_machine();
  if (!interfaces) return interfaces.error();
  std::vector<wire::Endpoint> out;
  for (const Interface& interface : *interfaces) {
    if (!interface.up) continue;
    for (const auto& [address, prefix_bits, loopback] : interface.addresses) {
      const bool v6 = address.find(':') != std::string::npos;
      if (!loopback && (with_v6 || !v6)) out.push_back(endpoint(address, port));
    }
  }
  if (out.empty()) out.push_back(endpoint("127.0.0.1", port));
  return out;
}

bool is_loopback(const wire::Endpoint& endpoint) {
  asio::error_code error;
  const auto address = asio::ip::make_address(endpoint.address(), error);
  return !error && address.is_loopback();
}

bool is_ours(const wire::Endpoint& endpoint, const std::vector<Interface>& own) {
  return std::ranges::any_of(own, [&](const Interface& interface) {
    return interface.up &&
           std::ranges::find(interface.addresses, endpoint.address(), &InterfaceAddress::address) !=
               interface.addresses.end();
  });
}

bool is_in_a_network_of_ours(const wire::Endpoint& endpoint, const std::vector<Interface>& own) {
  return std::ranges::any_of(own, [&](const Interface& interface) {
    return interface.up && std::ranges::any_of(interface.addresses, [&](const auto& address) {
             const auto network = IpNetwork::of(address.address, address.prefix_bits);
             return network && network->contains(endpoint.address());
           });
  });
}

template <typename Predicate>
std::vector<wire::Endpoint> first_those(Predicate that_are,
                                        const std::vector<wire::Endpoint>& endpoints) {
  std::vector<wire::Endpoint> ordered;
  std::ranges::copy_if(endpoints, std::back_inserter(ordered), that_are);
  std::ranges::remove_copy_if(endpoints, std::back_inserter(ordered), that_are);
  return ordered;
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
  return std::vector<wire::Endpoint>{endpoint(parsed.to_string(), port)};
}

std::vector<wire::Endpoint> ranked_endpoints(std::vector<wire::Endpoint> endpoints,
                                             const std::vector<Interface>& own) {
  const bool on_this_machine = std::ranges::all_of(endpoints, [&](const wire::Endpoint& each) {
    return is_loopback(each) || is_ours(each, own);
  });
  if (on_this_machine) return first_those(is_loopback, endpoints);
  std::erase_if(endpoints, [&](const wire::Endpoint& each) {
    return is_loopback(each) || is_ours(each, own);
  });
  return first_those([&](const wire::Endpoint& each) { return is_in_a_network_of_ours(each, own); },
                     endpoints);
}

}  // namespace tide::net
