#include "exec/descriptor_limit.hpp"

#include <cerrno>

namespace tide::exec {

Result<rlim_t> raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return system_error("cannot read the limit on open files", errno);
  }
  const rlim_t original_soft = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return system_error("cannot raise the limit on open files", errno);
  }
  return original_soft;
}

}  // namespace tide::exec
