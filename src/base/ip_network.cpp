#include "base/ip_network.hpp"

#include <arpa/inet.h>

#include <string>

#include "base/text.hpp"

namespace tide {
namespace {

std::uint32_t bits_of(int family) {
  return family == AF_INET ? 32 : 128;
}

// The system reads no further than a NUL; what stands behind one is part of the text here.
template <class Bytes>
bool read_address(int family, std::string_view text, Bytes* bytes) {
  if (text.find('\0') != text.npos) return false;
  return ::inet_pton(family, std::string(text).c_str(), bytes->data()) == 1;
}

bool is_address(int family, std::string_view text) {
  std::array<std::uint8_t, sizeof(in6_addr)> unused{};
  return read_address(family, text, &unused);
}

}  // namespace

std::optional<IpNetwork::Address> IpNetwork::read(std::string_view text) {
  for (const int family : {AF_INET, AF_INET6}) {
    Address address{.family = family};
    if (read_address(family, text, &address.bytes)) return address;
  }
  return std::nullopt;
}

bool is_ip_address(std::string_view text) {
  return is_ipv4_address(text) || is_ipv6_address(text);
}

bool is_ipv4_address(std::string_view text) {
  return is_address(AF_INET, text);
}

bool is_ipv6_address(std::string_view text) {
  return is_address(AF_INET6, text);
}

std::string usual_host_spelling(std::string_view host) {
  std::string out(host);
  std::array<char, sizeof(in6_addr)> bytes{};
  std::array<char, INET6_ADDRSTRLEN> text{};
  for (const int family : {AF_INET, AF_INET6}) {
    if (!read_address(family, out, &bytes)) continue;
    if (::inet_ntop(family, bytes.data(), text.data(), text.size()) != nullptr) return text.data();
  }
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::optional<IpNetwork> IpNetwork::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view length = text.substr(slash + 1);
  if (length.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  const auto number = parse_int(length);
  if (!number || *number > 128) return std::nullopt;
  return of(text.substr(0, slash), static_cast<std::uint32_t>(*number));
}

std::optional<IpNetwork> IpNetwork::of(std::string_view address, std::uint32_t length) {
  IpNetwork network;
  const auto parsed = read(address);
  if (!parsed || length > bits_of(parsed->family)) return std::nullopt;
  network.address_ = *parsed;
  network.length_ = length;
  return network;
}

bool IpNetwork::contains(std::string_view address) const {
  const auto other = read(address);
  if (!other || other->family != address_.family) return false;
  for (std::uint32_t bit = 0; bit < length_; ++bit) {
    const auto mask = static_cast<std::uint8_t>(0x80U >> (bit % 8));
    const auto difference =
        static_cast<std::uint8_t>(address_.bytes.at(bit / 8) ^ other->bytes.at(bit / 8));
    if ((difference & mask) != 0) return false;
  }
  return true;
}

}  // namespace tide
