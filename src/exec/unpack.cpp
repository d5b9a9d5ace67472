#include "exec/unpack.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <memory>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/relative_name.hpp"
#include "base/text.hpp"
#include "exec/below.hpp"
#include "say/staging.hpp"

namespace tide::exec {

namespace {

constexpr std::size_t kBlockBytes = 64 * 1024;

using Failure = std::optional<std::string>;

struct FreeArchive {
  void operator()(archive* reader) const { archive_read_free(reader); }
};

void add_filters(archive* reader) {
  archive_read_support_filter_gzip(reader);
  archive_read_support_filter_bzip2(reader);
  archive_read_support_filter_xz(reader);
}

// "./a/b/" is "a/b".
std::string_view plain(std::string_view name) {
  while (name.size() > 1 && name.ends_with('/')) name.remove_suffix(1);
  while (name.starts_with("./")) name.remove_prefix(2);
  return name;
}

// Upwards only at its beginning, and no further than `name` lies deep. What follows goes downwards,
// through links that were checked like this one.
bool link_stays_below(std::string_view name, std::string_view target) {
  if (target.empty() || target.front() == '/') return false;
  std::size_t depth = 0;
  for (const char c : name) depth += c == '/' ? 1 : 0;
  bool down = false;
  for (const std::string& element : split(target, '/')) {
    if (element == "..") {
      if (down || depth == 0) return false;
      --depth;
    } else if (!element.empty() && element != ".") {
      down = true;
    }
  }
  return true;
}

struct CloseGzip {
  void operator()(gzFile file) const { ::gzclose_r(file); }
};

// Nothing: it is no gzip stream. libarchive does not look at the checksum of one.
std::optional<bool> is_whole_gzip(int file) {
  const std::unique_ptr<std::remove_pointer_t<gzFile>, CloseGzip> stream(
      ::gzdopen(::fcntl(file, F_DUPFD_CLOEXEC, 3), "rb"));
  if (!stream) return false;
  std::vector<char> block(kBlockBytes);
  int got = 0;
  do {
    got = ::gzread(stream.get(), block.data(), static_cast<unsigned>(block.size()));
    if (::gzdirect(stream.get()) != 0) return std::nullopt;
  } while (got > 0);
  int error = Z_OK;
  ::gzerror(stream.get(), &error);
  return got == 0 && error == Z_OK;
}

// To the end of what the filters give.
bool is_whole_stream(int file) {
  const std::unique_ptr<archive, FreeArchive> reader(archive_read_new());
  add_filters(reader.get());
  archive_read_support_format_raw(reader.get());
  archive_read_support_format_empty(reader.get());
  archive_entry* entry = nullptr;
  if (archive_read_open_fd(reader.get(), file, kBlockBytes) != ARCHIVE_OK) return false;
  const int first = archive_read_next_header(reader.get(), &entry);
  if (first == ARCHIVE_EOF) return true;
  return first == ARCHIVE_OK && archive_read_data_skip(reader.get()) == ARCHIVE_OK;
}

bool is_whole(int file) {
  if (::lseek(file, 0, SEEK_SET) != 0) return false;
  if (const auto whole = is_whole_gzip(file)) return *whole;
  return ::lseek(file, 0, SEEK_SET) == 0 && is_whole_stream(file);
}

class Unpacking {
 public:
  Unpacking(int directory, const UnpackLimits& limits) : directory_(directory), limits_(limits) {}

  Failure run(const std::string& archive_name) {
    const UniqueFd file(
        ::openat(directory_, archive_name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file.is_open()) return say::archive_entry_not_written(archive_name, errno);
    const std::unique_ptr<archive, FreeArchive> reader(archive_read_new());
    reader_ = reader.get();
    add_filters(reader_);
    archive_read_support_format_tar(reader_);
    archive_read_support_format_zip_seekable(reader_);  // by its list of entries, at the end
    if (archive_read_open_fd(reader_, file.get(), kBlockBytes) != ARCHIVE_OK) return unreadable();
    for (;;) {
      archive_entry* entry = nullptr;
      const int got = archive_read_next_header(reader_, &entry);
      if (got == ARCHIVE_EOF) break;
      if (got < ARCHIVE_WARN) return unreadable();
      if (++entries_ > limits_.entries) return too_much();
      if (auto failure = take(entry)) return failure;
    }
    // Now, because what was unpacked is bounded, and what is behind the last entry is not read.
    if (is_whole(file.get())) return std::nullopt;
    return say::archive_not_readable("damaged, or not complete");
  }

 private:
  Failure take(archive_entry* entry) {
    const char* const pathname = archive_entry_pathname(entry);
    const std::string_view name = plain(pathname == nullptr ? "" : pathname);
    if (name == ".") return std::nullopt;
    if (!stays_below(name)) return say::archive_entry_leaves(name);
    if (archive_entry_hardlink(entry) != nullptr) {
      return link_file(name, plain(archive_entry_hardlink(entry)));
    }
    switch (archive_entry_filetype(entry)) {
      case AE_IFDIR:
        return make_directory(name, archive_entry_perm(entry));
      case AE_IFREG:
        return write_file(name, archive_entry_perm(entry));
      case AE_IFLNK:
        return make_link(name, archive_entry_symlink(entry));
      default:
        return say::archive_entry_of_odd_kind(name);
    }
  }

  Failure make_directory(std::string_view name, mode_t mode) {
    const auto at = make_way(directory_, std::string(name) + "/.");
    if (!at) return say::unpacking_failed(at.error().message).message;
    if (::fchmod(at->parent.get(), (mode & 0777U) | S_IRWXU) != 0) return not_written(name);
    return std::nullopt;
  }

  Failure write_file(std::string_view name, mode_t mode) {
    auto file = WrittenFile::open(directory_, name);
    if (!file) return explain(name, file.error());
    std::vector<char> block(kBlockBytes);
    for (;;) {
      const la_ssize_t got = archive_read_data(reader_, block.data(), block.size());
      if (got < 0) return unreadable();
      if (got == 0) break;
      bytes_ += static_cast<std::uint64_t>(got);
      if (bytes_ > limits_.bytes) return too_much();
      auto written = file->write({block.data(), static_cast<std::size_t>(got)});
      if (!written) return explain(name, written.error());
    }
    auto finished = file->finish(mode);
    return finished ? std::nullopt : explain(name, finished.error());
  }

  Failure make_link(std::string_view name, const char* target) {
    if (target == nullptr || !link_stays_below(name, target)) {
      return say::archive_entry_leaves(name);
    }
    const auto at = make_way(directory_, name);
    if (!at) return explain(name, at.error());
    if (::symlinkat(target, at->parent.get(), at->name.c_str()) == 0) return std::nullopt;
    if (errno == EEXIST) {
      return is_link(*at, target) ? std::nullopt : Failure(say::archive_entry_differs(name));
    }
    return not_written(name);
  }

  static bool is_link(const Below& at, std::string_view target) {
    std::string found(target.size() + 1, '\0');
    const ssize_t size = ::readlinkat(at.parent.get(), at.name.c_str(), found.data(), found.size());
    return size >= 0 && std::string_view(found.data(), static_cast<std::size_t>(size)) == target;
  }

  Failure link_file(std::string_view name, std::string_view target) {
    if (!stays_below(target)) return say::archive_entry_leaves(name);
    const auto at = make_way(directory_, name);
    const auto from = make_way(directory_, target);
    if (!at || !from) return say::archive_entry_leaves(name);
    if (::linkat(from->parent.get(), from->name.c_str(), at->parent.get(), at->name.c_str(), 0) ==
        0) {
      return std::nullopt;
    }
    return not_written(name);
  }

  static Failure explain(std::string_view name, const Error& error) {
    if (error.code == ErrorCode::kAlreadyExists) return say::archive_entry_differs(name);
    return std::string(name) + ": " + error.message;
  }
  static Failure not_written(std::string_view name) {
    return say::archive_entry_not_written(name, errno);
  }
  Failure unreadable() {
    const char* const why = archive_error_string(reader_);
    return say::archive_not_readable(why == nullptr ? "" : one_line(why));
  }
  [[nodiscard]] Failure too_much() const {
    return say::archive_has_too_much(limits_.entries, limits_.bytes);
  }

  int directory_;
  UnpackLimits limits_;
  archive* reader_ = nullptr;
  std::size_t entries_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace

Failure unpack(int directory, const std::string& archive, const UnpackLimits& limits) {
  return Unpacking(directory, limits).run(archive);
}

}  // namespace tide::exec
