#include "base/uri.hpp"

#include <fmt/format.h>

#include <limits>

#include "base/ip_network.hpp"
#include "base/text.hpp"

namespace tide {
namespace {

Error bad_uri(std::string_view text, std::string_view why) {
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("'{}' is not the URI of a DVM: {}", one_line(text), why)};
}

template <class T>
bool parse_number(std::string_view text, T* number) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) return false;
  const Result<std::int64_t> parsed = parse_int(text);
  if (!parsed || *parsed > std::numeric_limits<T>::max()) return false;
  *number = static_cast<T>(*parsed);
  return true;
}

// `tcp4://A:P` or `tcp6://[A]:P`
Status parse_endpoint(std::string_view whole, std::string_view endpoint, DvmUri* uri) {
  const bool is_ipv6 = endpoint.starts_with("tcp6://");
  if (!is_ipv6 && !endpoint.starts_with("tcp4://")) {
    return bad_uri(whole, "the address starts with neither tcp4:// nor tcp6://");
  }
  endpoint.remove_prefix(7);
  const std::size_t colon = endpoint.rfind(':');
  if (colon == std::string_view::npos || !parse_number(endpoint.substr(colon + 1), &uri->port) ||
      uri->port == 0) {
    return bad_uri(whole, "it has no proper port");
  }
  std::string_view address = endpoint.substr(0, colon);
  if (is_ipv6) {
    if (!address.starts_with('[') || !address.ends_with(']')) {
      return bad_uri(whole, "an IPv6 address stands in brackets");
    }
    address = address.substr(1, address.size() - 2);
  }
  uri->address = address;
  if (is_ipv6 ? !is_ipv6_address(uri->address) : !is_ipv4_address(uri->address)) {
    return bad_uri(whole, "it has no proper address");
  }
  return ok_status();
}

}  // namespace

std::string compose_dvm_uri(const DvmUri& uri) {
  const bool is_ipv6 = uri.address.find(':') != std::string::npos;
  const std::string host =
      is_ipv6 ? fmt::format("tcp6://[{}]", uri.address) : fmt::format("tcp4://{}", uri.address);
  return fmt::format("{}.{};{}:{}", uri.dvm_id, uri.rank.value(), host, uri.port);
}

Result<DvmUri> parse_dvm_uri(std::string_view text) {
  const std::string_view whole = trim(text);
  const std::size_t semicolon = whole.find(';');
  if (semicolon == std::string_view::npos) return bad_uri(whole, "it has no ';'");
  const std::string_view name = whole.substr(0, semicolon);
  const std::size_t dot = name.rfind('.');
  Rank::rep rank = 0;
  if (dot == std::string_view::npos || dot == 0 || !parse_number(name.substr(dot + 1), &rank)) {
    return bad_uri(whole, "it does not start with NAME.RANK");
  }
  DvmUri uri;
  uri.dvm_id = name.substr(0, dot);
  uri.rank = Rank(rank);
  if (const Status status = parse_endpoint(whole, whole.substr(semicolon + 1), &uri); !status) {
    return status.error();
  }
  return uri;
}

}  // namespace tide
