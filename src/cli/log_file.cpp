#include "cli/log_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace tide::cli {
namespace {

constexpr std::size_t kPieceBytes = 65536;

class ReadOnlyFile {
 public:
  explicit ReadOnlyFile(const std::string& path)
      : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {}
  ReadOnlyFile(const ReadOnlyFile&) = delete;
  ReadOnlyFile& operator=(const ReadOnlyFile&) = delete;
  ~ReadOnlyFile() {
    if (fd_ >= 0) close(fd_);
  }

  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  [[nodiscard]] std::size_t size() const {
    struct stat info{};
    return fstat(fd_, &info) == 0 ? static_cast<std::size_t>(info.st_size) : 0;
  }
  // The bytes in [begin, end), or fewer where the file has become shorter.
  [[nodiscard]] std::string read(std::size_t begin, std::size_t end) const {
    std::string bytes(end - begin, '\0');
    const ssize_t got = pread(fd_, bytes.data(), bytes.size(), static_cast<off_t>(begin));
    bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return bytes;
  }

 private:
  int fd_;
};

// Where the last `lines` lines of the first `size` bytes begin.
std::size_t start_of_last(const ReadOnlyFile& file, std::size_t size, std::uint32_t lines) {
  std::uint32_t seen = 0;
  for (std::size_t end = size; end > 0;) {
    const std::size_t begin = end - std::min(end, kPieceBytes);
    const std::string piece = file.read(begin, end);
    for (std::size_t i = piece.size(); i > 0; --i) {
      const std::size_t position = begin + i;
      // The newline at the very end closes the last line and begins none.
      if (piece[i - 1] != '\n' || position == size) continue;
      if (++seen == lines) return position;
    }
    end = begin;
  }
  return 0;
}

}  // namespace

Status read_last_lines(const std::string& path, std::optional<std::uint32_t> lines,
                       const std::function<void(std::string_view)>& sink) {
  const ReadOnlyFile file(path);
  if (!file.is_open()) {
    Error error = system_error("cannot read " + path, errno);
    if (errno == ENOENT) error.code = ErrorCode::kNotFound;
    return error;
  }
  const std::size_t size = file.size();
  std::size_t position = lines ? start_of_last(file, size, *lines) : 0;
  while (position < size) {
    const std::string piece = file.read(position, std::min(size, position + kPieceBytes));
    if (piece.empty()) break;
    sink(piece);
    position += piece.size();
  }
  return ok_status();
}

}  // namespace tide::cli
