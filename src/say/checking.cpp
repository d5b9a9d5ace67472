#include "say/checking.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace tide::say {
namespace {

std::string hosts(std::size_t number) {
  return fmt::format("{} host{}", number, number == 1 ? "" : "s");
}

}  // namespace

std::string host_cannot_be_used(std::string_view host, std::string_view why) {
  return fmt::format("{} cannot be used: {}", host, why);
}

std::string check_progress(std::string_view host, std::string_view failure, std::size_t done,
                           std::size_t all) {
  const std::string what = failure.empty() ? fmt::format("{} can be used", host)
                                           : host_cannot_be_used(host, first_line(failure));
  return fmt::format("{} ({} of {})", what, done, all);
}

std::string hosts_checked(std::size_t all, std::size_t usable) {
  return fmt::format("{}: {} can be used, {} cannot", hosts(all), usable, all - usable);
}

std::string logins_between_machines_untried(std::uint32_t radix) {
  return fmt::format(
      "not tried: logins from machine to machine, by which all but the first {} are started{}all "
      "from here: --prtemca plm_ssh_no_tree_spawn 1",
      radix, kTry);
}

std::string checked_daemon_ended(std::string_view how) {
  return fmt::format("the daemon was started and ended: {}", how);
}

std::string checked_link_lost(std::string_view how) {
  return fmt::format("the daemon came and was lost: {}", how);
}

Error check_needs_hosts() {
  return invalid(fmt::format("a check needs hosts{}--hostfile FILE, or --host node1,node2", kTry));
}

std::string check_interrupted(int signal, std::size_t done, std::size_t all) {
  return fmt::format("{}: interrupted when {} of {} were checked", signal_name(signal), done,
                     hosts(all));
}

}  // namespace tide::say
