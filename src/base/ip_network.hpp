// Networks in CIDR notation, and which addresses are in them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tide {

bool is_ip_address(std::string_view text);
bool is_ipv4_address(std::string_view text);
bool is_ipv6_address(std::string_view text);

// As the system writes it, so that two spellings of one host are equal: an address in its shortest
// form, a name in small letters.
std::string usual_host_spelling(std::string_view host);

class IpNetwork {
 public:
  // `10.78.0.0/16`, `fd00::/64`. Bits behind the length may be set, as in the address of an
  // interface with its length.
  static std::optional<IpNetwork> parse(std::string_view text);
  static std::optional<IpNetwork> of(std::string_view address, std::uint32_t length);

  // An address in numbers; anything else, and one of the other family, is not in it.
  [[nodiscard]] bool contains(std::string_view address) const;

 private:
  struct Address {
    int family = 0;
    std::array<std::uint8_t, 16> bytes{};
  };
  static std::optional<Address> read(std::string_view text);

  Address address_;
  std::uint32_t length_ = 0;
};

}  // namespace tide
