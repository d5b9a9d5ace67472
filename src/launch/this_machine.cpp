#include "launch/this_machine.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <pwd.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <memory>

#include "base/ip_network.hpp"

namespace tide::launch {
namespace {

std::string address_text(const sockaddr* raw) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* address = nullptr;
  if (raw != nullptr && raw->sa_family == AF_INET) {
    address = &reinterpret_cast<const sockaddr_in*>(raw)->sin_addr;
  } else if (raw != nullptr && raw->sa_family == AF_INET6) {
    address = &reinterpret_cast<const sockaddr_in6*>(raw)->sin6_addr;
  }
  if (address == nullptr) return {};
  return ::inet_ntop(raw->sa_family, address, text.data(), text.size()) == nullptr ? ""
                                                                                   : text.data();
}

}  // namespace

ThisMachine ThisMachine::look() {
  std::set<std::string> names = {"localhost", "::1"};
  std::array<char, HOST_NAME_MAX + 1> buffer{};
  if (::gethostname(buffer.data(), buffer.size() - 1) == 0 && buffer[0] != '\0') {
    const std::string name = usual_host_spelling(buffer.data());
    names.insert(name);
    names.insert(name.substr(0, name.find('.')));
  }
  ifaddrs* raw = nullptr;
  if (::getifaddrs(&raw) != 0) return ThisMachine(std::move(names));
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> list(raw, &::freeifaddrs);
  for (const ifaddrs* entry = raw; entry != nullptr; entry = entry->ifa_next) {
    names.insert(address_text(entry->ifa_addr));
  }
  names.erase("");
  return ThisMachine(std::move(names));
}

bool ThisMachine::is(const std::string& host) const {
  const std::string name = usual_host_spelling(host);
  return names_.contains(name) || name.starts_with("127.");
}

std::string our_user_name() {
  const passwd* const entry = ::getpwuid(::geteuid());  // NOLINT(concurrency-mt-unsafe): one thread
  return entry == nullptr ? std::to_string(::geteuid()) : entry->pw_name;
}

}  // namespace tide::launch
