#include "head/scheduler_key.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/text.hpp"
#include "say/reservations.hpp"

namespace tide::head {

namespace {

constexpr std::size_t kLeastBytes = 16;
constexpr std::size_t kMostBytes = 4096;

class OpenFile {
 public:
  // Not one that would keep us waiting, as a pipe does.
  explicit OpenFile(const std::string& path)
      : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  OpenFile(OpenFile&&) = delete;
  OpenFile& operator=(OpenFile&&) = delete;
  ~OpenFile() {
    if (fd_ >= 0) close(fd_);
  }
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

Result<std::string> read_scheduler_key(const std::string& path) {
  if (path.empty()) return std::string();
  const OpenFile file(path);
  struct stat about{};
  if (file.fd() < 0 || fstat(file.fd(), &about) != 0) return say::no_scheduler_key(path, errno);
  const bool others = (about.st_mode & (S_IRWXG | S_IRWXO)) != 0;
  const bool of_others = about.st_uid != geteuid() && about.st_uid != 0;
  if (!S_ISREG(about.st_mode) || others || of_others) return say::scheduler_key_is_open(path);
  std::array<char, kMostBytes + 1> bytes{};
  const auto count = read(file.fd(), bytes.data(), bytes.size());
  if (count < 0) return say::no_scheduler_key(path, errno);
  std::string key(bytes.data(), static_cast<std::size_t>(count));
  key.erase(key.find_last_not_of(" \t\r\n") + 1);
  if (key.size() < kLeastBytes || key.size() > kMostBytes) {
    return say::scheduler_key_is_no_key(path, kLeastBytes, kMostBytes);
  }
  return key;
}

}  // namespace tide::head
