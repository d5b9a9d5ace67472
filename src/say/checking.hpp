// Messages about hosts that a DVM could, or could not, be started on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/messages.hpp"

namespace tide::say {

std::string host_cannot_be_used(std::string_view host, std::string_view why);
// A host is done, and with it so many of all. `failure` is empty where it can be used.
std::string check_progress(std::string_view host, std::string_view failure, std::size_t done,
                           std::size_t all);
// The last line of all.
std::string hosts_checked(std::size_t all, std::size_t usable);
// More hosts than the head starts by itself.
std::string logins_between_machines_untried(std::uint32_t radix);

// ---- why a host can't be used, beside what say/launching has ----
std::string checked_daemon_ended(std::string_view how);
std::string checked_link_lost(std::string_view how);

Error check_needs_hosts();
std::string check_interrupted(int signal, std::size_t done, std::size_t all);

}  // namespace tide::say
