#include "base/flight_recorder.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>

namespace tide {
namespace {

constexpr std::array kCrashSignals = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE};
constexpr std::size_t kHandlerStackBytes = 64UL * 1024;

// A signal handler can reach nothing but statics.
struct CrashDump {
  const FlightRecorder* recorder = nullptr;
  std::array<char, PATH_MAX> path{};
  std::array<struct sigaction, kCrashSignals.size()> previous{};
};
CrashDump crash_dump;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

void write_all(int fd, const char* data, std::size_t size) noexcept {
  while (size > 0) {
    const ssize_t written = ::write(fd, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    data += written;
    size -= static_cast<std::size_t>(written);
  }
}

// Decimal digits of `number` at `out`; returns how many. snprintf is not fit for signal handlers.
std::size_t put_number(std::uint64_t number, char* out) noexcept {
  std::size_t digits = 0;
  do {
    out[digits++] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  std::reverse(out, out + digits);
  return digits;
}

void restore_handlers() noexcept {
  for (std::size_t i = 0; i < kCrashSignals.size(); ++i) {
    sigaction(kCrashSignals[i], &crash_dump.previous[i], nullptr);
  }
}

void on_crash(int signal) {
  const int saved_errno = errno;
  // First of all, so that a crash in here, or the one raised below, takes its usual course.
  restore_handlers();
  // A core file would hold the DVM's key, and the DVM may live on without this process. Done here
  // and not at the start, where it would hide a healthy process from its own user's tools.
  ::prctl(PR_SET_DUMPABLE, 0);
  const FlightRecorder* const recorder = crash_dump.recorder;
  crash_dump.recorder = nullptr;
  if (recorder != nullptr) {
    ::unlink(crash_dump.path.data());
    const int fd = ::open(crash_dump.path.data(),
                          O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (fd >= 0) {
      recorder->dump(fd);
      ::close(fd);
    }
  }
  errno = saved_errno;
  // Blocked until this handler returns; then the program ends by it.
  ::raise(signal);
}

}  // namespace

FlightRecorder::FlightRecorder(std::size_t capacity)
    : capacity_(std::max<std::size_t>(capacity, 1)),
      entries_(std::make_unique_for_overwrite<Entry[]>(capacity_)) {}

void FlightRecorder::note(std::uint64_t time_ms, std::string_view text) {
  constexpr std::string_view kCut = "...";
  Entry& entry = entries_[noted_ % capacity_];
  const std::size_t length = std::min(text.size(), kMaxLineBytes);
  entry.time_ms = time_ms;
  std::transform(
      text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length), entry.text.begin(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c; });
  if (text.size() > kMaxLineBytes) std::ranges::copy(kCut, entry.text.end() - kCut.size());
  entry.length = static_cast<std::uint16_t>(length);
  ++noted_;
}

std::vector<FlightRecorder::Line> FlightRecorder::lines() const {
  std::vector<Line> lines;
  lines.reserve(kept());
  for (std::size_t i = 0; i < kept(); ++i) {
    const Entry& entry = oldest(i);
    lines.push_back({entry.time_ms, std::string(entry.text.data(), entry.length)});
  }
  return lines;
}

void FlightRecorder::dump(int fd) const noexcept {
  constexpr std::size_t kMaxDigits = 20;
  for (std::size_t i = 0; i < kept(); ++i) {
    const Entry& entry = oldest(i);
    std::array<char, kMaxDigits + kMaxLineBytes + 2> line{};
    std::size_t size = put_number(entry.time_ms, line.data());
    line[size++] = ' ';
    // A crash in the middle of note() may leave any length behind.
    const std::size_t length = std::min<std::size_t>(entry.length, kMaxLineBytes);
    std::copy_n(entry.text.begin(), length, line.begin() + static_cast<std::ptrdiff_t>(size));
    size += length;
    line[size++] = '\n';
    write_all(fd, line.data(), size);
  }
}

std::size_t FlightRecorder::kept() const {
  return static_cast<std::size_t>(std::min<std::uint64_t>(noted_, capacity_));
}

const FlightRecorder::Entry& FlightRecorder::oldest(std::size_t index) const {
  return entries_[(noted_ - kept() + index) % capacity_];
}

Status install_crash_dump(const FlightRecorder* recorder, const std::string& path) {
  TIDE_CHECK(recorder != nullptr);
  remove_crash_dump();
  if (path.empty() || path.size() >= crash_dump.path.size()) {
    return Error{ErrorCode::kInvalidArgument, "no proper path for the crash dump: '" + path + "'"};
  }
  std::ranges::copy(path, crash_dump.path.begin());
  crash_dump.path[path.size()] = '\0';

  // A stack overflow leaves no room to run a handler on. Kept for the life of the program.
  static std::array<char, kHandlerStackBytes> handler_stack;
  stack_t stack{};
  stack.ss_sp = handler_stack.data();
  stack.ss_size = handler_stack.size();
  if (sigaltstack(&stack, nullptr) != 0) return system_error("sigaltstack", errno);

  struct sigaction action{};
  action.sa_handler = on_crash;
  action.sa_flags = SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kCrashSignals.size(); ++i) {
    if (sigaction(kCrashSignals[i], &action, &crash_dump.previous[i]) != 0) {
      return system_error("sigaction", errno);
    }
  }
  crash_dump.recorder = recorder;
  return ok_status();
}

void remove_crash_dump() {
  if (crash_dump.recorder == nullptr) return;
  crash_dump.recorder = nullptr;
  restore_handlers();
}

}  // namespace tide
