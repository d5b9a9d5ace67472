#include "head/surroundings.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "exec/command_output.hpp"
#include "exec/unique_fd.hpp"
#include "say/granting.hpp"

namespace tide::head {

namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{16} << 20U;

std::optional<std::string> read_variable(std::string_view name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment
  const char* const value = std::getenv(std::string(name).c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

// Only a file: a pipe might never end.
Result<std::string> read_file(const std::string& path) {
  const exec::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.is_open()) return say::grant_file_not_readable(path, errno);
  struct stat about{};
  if (::fstat(fd.get(), &about) != 0) return say::grant_file_not_readable(path, errno);
  if (!S_ISREG(about.st_mode)) return say::grant_file_not_readable(path, EINVAL);
  std::string text;
  std::array<char, 65536> piece{};
  while (text.size() <= kMaxFileBytes) {
    const ssize_t got = ::read(fd.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return say::grant_file_not_readable(path, errno);
    if (got == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return say::grant_file_too_large(path, kMaxFileBytes);
}

}  // namespace

rm::Surroundings surroundings() {
  return {.variable = read_variable,
          .file = read_file,
          .command = [](std::span<const std::string> argv) { return exec::command_output(argv); }};
}

}  // namespace tide::head
