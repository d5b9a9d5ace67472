#include "net/interfaces.hpp"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <asio/ip/address.hpp>
#include <bit>
#include <cerrno>
#include <memory>
#include <optional>

#include "base/ip_network.hpp"
#include "base/text.hpp"
#include "say/network.hpp"

namespace tide::net {
namespace {

asio::ip::address_v6 v6_address(const sockaddr* raw) {
  asio::ip::address_v6::bytes_type bytes{};
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(raw);
  std::copy_n(std::begin(v6->sin6_addr.s6_addr), bytes.size(), bytes.begin());
  return asio::ip::address_v6(bytes);
}

asio::ip::address_v4 v4_address(const sockaddr* raw) {
  return asio::ip::address_v4(ntohl(reinterpret_cast<const sockaddr_in*>(raw)->sin_addr.s_addr));
}

template <typename Bytes>
std::uint32_t ones_in(const Bytes& bytes) {
  int ones = 0;
  for (const auto byte : bytes) ones += std::popcount(byte);
  return static_cast<std::uint32_t>(ones);
}

std::optional<InterfaceAddress> address_of(const ifaddrs& entry) {
  if (entry.ifa_addr == nullptr) return std::nullopt;
  // Without a mask it is in no network but its own.
  const sockaddr* const mask = entry.ifa_netmask;
  if (entry.ifa_addr->sa_family == AF_INET) {
    const auto v4 = v4_address(entry.ifa_addr);
    const auto bits = mask == nullptr ? 32 : ones_in(v4_address(mask).to_bytes());
    return InterfaceAddress{v4.to_string(), bits, v4.is_loopback()};
  }
  if (entry.ifa_addr->sa_family != AF_INET6) return std::nullopt;
  const auto v6 = v6_address(entry.ifa_addr);
  if (v6.is_link_local()) return std::nullopt;
  const auto bits = mask == nullptr ? 128 : ones_in(v6_address(mask).to_bytes());
  return InterfaceAddress{v6.to_string(), bits, v6.is_loopback()};
}

std::vector<std::string> descriptions_of(const std::vector<Interface>& all) {
  std::vector<std::string> out;
  for (const Interface& each : all) {
    std::string text = each.name;
    for (const auto& address : each.addresses) {
      text += fmt::format(" {}/{}", address.address, address.prefix_bits);
    }
    if (each.addresses.empty()) text += " without address";
    if (!each.up) text += " (down)";
    out.push_back(std::move(text));
  }
  return out;
}

say::InterfaceChoiceFailure failure_of(const std::vector<Interface>& all,
                                       const InterfaceChoice& choice) {
  return {choice.parameter, choice.value, choice.machine, descriptions_of(all)};
}

std::vector<std::string> words_of(const InterfaceChoice& choice) {
  std::vector<std::string> words;
  for (const std::string& piece : split(choice.value, ',')) words.emplace_back(trim(piece));
  return words;
}

bool is_named(const std::vector<std::string>& words, const Interface& interface,
              const InterfaceAddress& address) {
  return std::ranges::any_of(words, [&](const std::string& word) {
    if (const auto network = IpNetwork::parse(word)) return network->contains(address.address);
    return word == interface.name;
  });
}

}  // namespace

Result<std::vector<Interface>> interfaces_of_this_machine() {
  ifaddrs* raw = nullptr;
  if (::getifaddrs(&raw) != 0) return system_error("listing the network interfaces", errno);
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> list(raw, &::freeifaddrs);
  std::vector<Interface> all;
  for (const ifaddrs* entry = raw; entry != nullptr; entry = entry->ifa_next) {
    // A second IPv4 address may have a label of its own, "eth0:1".
    const std::string label = entry->ifa_name;
    const std::string name = label.substr(0, label.find(':'));
    auto found = std::ranges::find(all, name, &Interface::name);
    if (found == all.end()) {
      all.push_back({name, (entry->ifa_flags & IFF_UP) != 0, {}});
      found = std::prev(all.end());
    }
    if (auto address = address_of(*entry)) found->addresses.push_back(std::move(*address));
  }
  return all;
}

Status check_interface_names(const std::vector<Interface>& all, const InterfaceChoice& choice) {
  for (const std::string& word : words_of(choice)) {
    const bool there = std::ranges::find(all, word, &Interface::name) != all.end();
    if (!there && !IpNetwork::parse(word)) {
      return say::unknown_interface(failure_of(all, choice), word);
    }
  }
  return ok_status();
}

Result<std::vector<std::string>> chosen_addresses(const std::vector<Interface>& all,
                                                  const InterfaceChoice& choice) {
  if (auto known = check_interface_names(all, choice); !known) return known.error();
  const auto words = words_of(choice);
  std::vector<std::string> chosen;
  for (const Interface& interface : all) {
    if (!interface.up) continue;
    for (const auto& address : interface.addresses) {
      const bool named = is_named(words, interface, address);
      const bool wanted = choice.excludes ? !named && !address.loopback : named;
      if (wanted) chosen.push_back(address.address);
    }
  }
  if (chosen.empty()) return say::no_interface_left(failure_of(all, choice));
  return chosen;
}

}  // namespace tide::net
