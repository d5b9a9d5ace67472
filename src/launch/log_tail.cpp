#include "launch/log_tail.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "exec/unique_fd.hpp"

namespace tide::launch {
namespace {

constexpr std::uint64_t kTailBytes = 4096;

}  // namespace

std::uint64_t log_size(const std::string& path) {
  struct stat info{};
  return ::lstat(path.c_str(), &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

std::string log_tail(const std::string& path, std::uint64_t from_bytes, std::size_t max_lines,
                     const std::string& prefix) {
  const exec::UniqueFd file(
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (!file.is_open()) return {};
  struct stat info{};
  if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  const auto size = static_cast<std::uint64_t>(info.st_size);
  const std::uint64_t begin = std::max(from_bytes, size - std::min(size, kTailBytes));
  std::array<char, kTailBytes> buffer{};
  const ssize_t got = ::pread(file.get(), buffer.data(), buffer.size(), static_cast<off_t>(begin));
  if (got <= 0) return {};
  std::vector<std::string> lines =
      split(trim({buffer.data(), static_cast<std::size_t>(got)}), '\n');
  if (begin > from_bytes && lines.size() > 1) lines.erase(lines.begin());  // cut in the middle
  std::string tail;
  for (std::size_t i = lines.size() - std::min(lines.size(), max_lines); i < lines.size(); ++i) {
    if (!trim(lines[i]).empty()) tail += prefix + one_line(lines[i]);
  }
  return tail;
}

}  // namespace tide::launch
