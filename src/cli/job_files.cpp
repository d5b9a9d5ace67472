#include "cli/job_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/relative_name.hpp"
#include "base/text.hpp"
#include "say/staging.hpp"
#include "wire/limits.hpp"

namespace tide::cli {
namespace {

constexpr std::array<std::string_view, 8> kArchives = {".tar",  ".tar.gz", ".tgz", ".tar.bz2",
                                                       ".tbz2", ".tar.xz", ".txz", ".zip"};
constexpr std::uint32_t kPermissions = 0777;

std::string last_part(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// Readable files only; whatever becomes of it until it is sent is told then.
Result<std::uint32_t> mode_of(const std::string& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) return say::staged_file_unreadable(path, errno);
  if (S_ISDIR(found.st_mode)) return say::staged_file_is_directory(path);
  if (!S_ISREG(found.st_mode)) return say::staged_file_is_no_file(path);
  if (::access(path.c_str(), R_OK) != 0) return say::staged_file_unreadable(path, errno);
  return found.st_mode & kPermissions;
}

Result<std::string> find_program(const std::string& name, const Environment& environment) {
  if (name.find('/') != std::string::npos) return name;
  for (const std::string& folder : split(environment.get("PATH").value_or(""), ':')) {
    std::string path = (folder.empty() ? "." : folder) + "/" + name;
    struct stat found{};
    const bool is_file = ::stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode);
    if (is_file && ::access(path.c_str(), X_OK) == 0) return path;
  }
  return say::preloaded_program_not_found(name);
}

// Another one: what was read before and what is read now do not belong together.
FileVersion version_of(int fd) {
  struct stat found{};
  if (::fstat(fd, &found) != 0) return {};
  return {found.st_size, found.st_mtim.tv_sec, found.st_mtim.tv_nsec};
}

class Preloads {
 public:
  Preloads(const Environment& environment, wire::JobSpec& job)
      : environment_(environment), job_(job) {}

  Status take(const AppWords& words, wire::AppSpec& app) {
    bool binary = false;
    bool stays = false;
    bool elsewhere = false;
    for (const GivenOption& given : words.options) {
      binary = binary || given.option == Option::kPreloadBinary;
      stays = stays || given.option == Option::kSessionDirectory;
      elsewhere = elsewhere || given.option == Option::kWorkingDirectory;
      if (given.option != Option::kPreloadFiles) continue;
      for (const std::string& path : split(given.value, ',')) {
        if (path.empty()) return say::staged_name_empty(given.spelling);
        auto name = staged_name(path);
        if (!name) return name.error();
        if (auto added = add(path, *name, is_archive(*name)); !added) return added;
      }
    }
    app.set_in_job_directory(stays || (binary && !elsewhere));
    return binary ? take_program(app) : ok_status();
  }
  std::vector<std::string> paths() { return std::move(paths_); }

 private:
  Status take_program(wire::AppSpec& app) {
    auto path = find_program(app.argv(0), environment_);
    if (!path) return path.error();
    auto added = add(*path, last_part(*path), false);
    if (!added) return added;
    if (::access(path->c_str(), X_OK) != 0) return say::preloaded_program_not_executable(*path);
    app.set_preloaded(last_part(*path));
    return ok_status();
  }

  // Named twice it goes once.
  Status add(const std::string& path, const std::string& name, bool archive) {
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      if (paths_[i] == path && job_.files(static_cast<int>(i)).name() == name) return ok_status();
    }
    auto mode = mode_of(path);
    if (!mode) return mode.error();
    auto* file = job_.add_files();
    file->set_name(name);
    file->set_mode(*mode);
    file->set_archive(archive);
    paths_.push_back(path);
    if (paths_.size() <= kMaxFilesPerJob) return ok_status();
    return say::too_many_staged_files(paths_.size(), kMaxFilesPerJob);
  }

  const Environment& environment_;
  wire::JobSpec& job_;
  std::vector<std::string> paths_;
};

}  // namespace

Result<std::string> staged_name(const std::string& path) {
  std::string name;
  for (const std::string& element : split(path, '/')) {
    if (element.empty() || element == ".") continue;
    const bool whole = name.empty() || path.starts_with('/');
    if (whole) name.clear();
    name.append(whole ? "" : "/").append(element);
  }
  if (name.empty()) return say::staged_file_is_directory(path);
  if (!stays_below(name)) return say::staged_name_leaves(path);
  return name;
}

bool is_archive(const std::string& name) {
  for (const std::string_view suffix : kArchives) {
    if (name.ends_with(suffix)) return true;
  }
  return false;
}

Result<std::vector<std::string>> take_preloads(const CommandLine& line,
                                               const Environment& environment, wire::JobSpec& job) {
  Preloads preloads(environment, job);
  for (std::size_t i = 0; i < line.apps.size(); ++i) {
    auto taken = preloads.take(line.apps[i], *job.mutable_apps(static_cast<int>(i)));
    if (!taken) return taken.error();
  }
  return preloads.paths();
}

void FileSender::close_file() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

FileSender::Piece FileSender::next() {
  Piece piece{.file = static_cast<std::uint32_t>(file_), .bytes = {}, .last = false, .failure = {}};
  --credit_;
  // What has become a pipe since it was looked at is an empty file, and waits for nobody.
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  if (fd_ < 0) fd_ = ::open(paths_[file_].c_str(), kFlags);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the client has one thread
  if (fd_ < 0) piece.failure = std::strerror(errno);
  if (!begun_) begun_ = version_of(fd_);
  piece.bytes.resize(piece_bytes_);
  std::size_t filled = 0;
  while (filled < piece.bytes.size() && !piece.last && piece.failure.empty()) {
    const ssize_t got = ::read(fd_, piece.bytes.data() + filled, piece.bytes.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the client has one thread
    if (got < 0) piece.failure = std::strerror(errno);
    piece.last = got == 0;
    if (got > 0) filled += static_cast<std::size_t>(got);
  }
  piece.bytes.resize(filled);
  if (piece.last && version_of(fd_) != begun_) piece.failure = say::file_has_changed();
  if (piece.last || !piece.failure.empty()) {
    close_file();
    file_ = piece.failure.empty() ? file_ + 1 : paths_.size();
    begun_.reset();
  }
  return piece;
}

}  // namespace tide::cli
