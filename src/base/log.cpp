#include "base/log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spdlog/async_logger.h>
#include <spdlog/details/thread_pool.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/text.hpp"

namespace tide {
namespace {

using spdlog::details::thread_pool;

// With its prefix a line then fits a page, and a pipe that polls writable takes it at once.
constexpr std::size_t kMaxTextBytes = 3800;
// A reader of standard error that stalls longer than this loses lines until it reads again.
constexpr int kStallTimeoutMs = 1000;
constexpr auto kDropReportInterval = std::chrono::seconds(1);

// Writes lines to a descriptor, in the writing thread only; never waits long for it.
class LineSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  LineSink(int fd, bool owned) : fd_(fd), owned_(owned) {}
  LineSink(const LineSink&) = delete;
  LineSink& operator=(const LineSink&) = delete;
  ~LineSink() override {
    if (owned_) ::close(fd_);
  }

  // The queue whose losses are reported; must be set before the first line.
  void watch(thread_pool* queue) { queue_ = queue; }

  std::uint64_t unwritten() const { return unwritten_.load(std::memory_order_relaxed); }

  // True as soon as `lines` lines were taken or overrun, false after the timeout.
  bool wait_for(std::uint64_t lines, std::uint32_t timeout_ms) {
    std::unique_lock lock(progress_mutex_);
    return progress_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                              [&] { return taken_ + queue_->overrun_counter() >= lines; });
  }

  // After the last line: what was lost since the last report.
  void report_rest() {
    const std::lock_guard lock(mutex_);
    report_dropped(spdlog::log_clock::now());
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (message.time - last_report_ >= kDropReportInterval) report_dropped(message.time);
    write_line(message);
    const std::lock_guard lock(progress_mutex_);
    ++taken_;
    progress_.notify_all();
  }
  void flush_() override {}  // nothing is buffered here

 private:
  void report_dropped(spdlog::log_clock::time_point now) {
    const std::uint64_t dropped = queue_->overrun_counter() + unwritten();
    if (dropped == reported_) return;
    const std::string text = fmt::format("[log] {} lines were dropped", dropped - reported_);
    reported_ = dropped;
    last_report_ = now;
    write_line(spdlog::details::log_msg(now, spdlog::source_loc{}, "", spdlog::level::warn, text));
  }

  void write_line(const spdlog::details::log_msg& message) {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    if (!write_all(line.data(), line.size())) unwritten_.fetch_add(1, std::memory_order_relaxed);
  }

  bool write_all(const char* data, std::size_t size) {
    while (size > 0) {
      pollfd descriptor{fd_, POLLOUT, 0};
      stalled_ = ::poll(&descriptor, 1, stalled_ ? 0 : kStallTimeoutMs) == 0;
      if (stalled_) return false;
      const ssize_t written = ::write(fd_, data, size);
      if (written < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (written <= 0) return false;
      data += written;
      size -= static_cast<std::size_t>(written);
    }
    return true;
  }

  const int fd_;
  const bool owned_;
  bool stalled_ = false;
  thread_pool* queue_ = nullptr;
  std::uint64_t reported_ = 0;
  spdlog::log_clock::time_point last_report_{};
  std::atomic<std::uint64_t> unwritten_{0};
  std::mutex progress_mutex_;
  std::condition_variable progress_;
  std::uint64_t taken_ = 0;
};

// The writing thread must not take the signals that the event loop waits for.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;
  ~AllSignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

std::string pattern_text(std::string_view text) {
  std::string escaped;
  for (const char c : one_line(text)) {
    escaped += c;
    if (c == '%') escaped += c;
  }
  return escaped;
}

class Log {
 public:
  Log(LogConfig config, std::shared_ptr<LineSink> sink)
      : verbosity_(std::move(config.verbosity)), sink_(std::move(sink)) {
    std::string pattern = "%Y-%m-%d %H:%M:%S.%e " + pattern_text(config.program);
    if (!config.node.empty()) pattern += " " + pattern_text(config.node);
    sink_->set_formatter(std::make_unique<spdlog::pattern_formatter>(pattern + " %v"));
    const AllSignalsBlocked blocked;
    pool_ = std::make_shared<thread_pool>(std::max<std::size_t>(config.queue_lines, 1), 1);
    sink_->watch(pool_.get());
    logger_ = std::make_shared<spdlog::async_logger>("tide", sink_, pool_,
                                                     spdlog::async_overflow_policy::overrun_oldest);
    logger_->set_level(spdlog::level::trace);
    logger_->set_error_handler([](const std::string&) {});
  }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  ~Log() {
    // Twice the time that a stalled reader is given, so in effect always until all is written.
    if (!flush(2 * kStallTimeoutMs)) {
      abandon();
      return;
    }
    sink_->report_rest();
    logger_.reset();
    pool_.reset();  // joins the thread, which uses the sink until then
  }

  bool enabled(std::string_view subsystem, int verbosity) const {
    if (verbosity <= 0) return true;
    const auto found = verbosity_.find(subsystem);
    return found != verbosity_.end() && found->second >= verbosity;
  }

  void line(spdlog::level::level_enum level, std::string_view label, std::string_view text) {
    std::string line = fmt::format("[{}] {}", label, one_line(text.substr(0, kMaxTextBytes)));
    if (text.size() > kMaxTextBytes || line.size() > kMaxTextBytes) {
      line.resize(std::min(line.size(), kMaxTextBytes));
      line += "...";
    }
    submitted_.fetch_add(1, std::memory_order_relaxed);
    logger_->log(level, spdlog::string_view_t(line));
  }

  std::uint64_t dropped() const { return pool_->overrun_counter() + sink_->unwritten(); }

  bool flush(std::uint32_t timeout_ms) {
    return sink_->wait_for(submitted_.load(std::memory_order_relaxed), timeout_ms);
  }

 private:
  // The disk holds the writing thread and may never let it go. The program must end all the same:
  // the thread and what it uses are left to the end of the process.
  void abandon() {
    struct Left {
      std::shared_ptr<LineSink> sink;
      std::shared_ptr<thread_pool> pool;
      std::shared_ptr<spdlog::async_logger> logger;
    };
    static auto* const left = new std::vector<Left>;
    left->push_back({std::move(sink_), std::move(pool_), std::move(logger_)});
  }

  std::map<std::string, int, std::less<>> verbosity_;
  std::shared_ptr<LineSink> sink_;
  std::shared_ptr<thread_pool> pool_;
  std::shared_ptr<spdlog::async_logger> logger_;
  std::atomic<std::uint64_t> submitted_{0};
};

// Never destroyed: at exit() a thread may still be logging.
std::unique_ptr<Log>& current() {
  static auto* const log = new std::unique_ptr<Log>;
  return *log;
}

Result<int> open_log(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
                        S_IRUSR | S_IWUSR);
  if (fd < 0) return system_error(fmt::format("log file {}", path), errno);
  return fd;
}

}  // namespace

std::map<std::string, int, std::less<>> log_verbosity(const Params& params) {
  constexpr std::string_view kSuffix = "_base_verbose";
  std::map<std::string, int, std::less<>> verbosity;
  for (const ParamEntry& entry : params.entries()) {
    const std::string_view name = entry.def->name;
    if (!name.ends_with(kSuffix)) continue;
    verbosity.emplace(name.substr(0, name.size() - kSuffix.size()),
                      static_cast<int>(params.get_int(name)));
  }
  return verbosity;
}

Status log_init(LogConfig config) {
  log_shutdown();
  int fd = STDERR_FILENO;
  const bool to_file = !config.path.empty();
  if (to_file) {
    const Result<int> opened = open_log(config.path);
    if (!opened) return opened.error();
    fd = *opened;
  }
  try {
    auto sink = std::make_shared<LineSink>(fd, to_file);
    current() = std::make_unique<Log>(std::move(config), std::move(sink));
  } catch (const std::exception& failure) {
    return Error{ErrorCode::kOutOfResources,
                 fmt::format("cannot start the log: {}", failure.what())};
  }
  return ok_status();
}

bool log_enabled(std::string_view subsystem, int verbosity) {
  return current() != nullptr && current()->enabled(subsystem, verbosity);
}

void log_note(std::string_view subsystem, int verbosity, std::string_view text) {
  if (!log_enabled(subsystem, verbosity)) return;
  current()->line(spdlog::level::info, subsystem, text);
}

void log_warning(std::string_view text) {
  if (current() != nullptr) current()->line(spdlog::level::warn, "warning", text);
}

void log_error(std::string_view text) {
  if (current() != nullptr) current()->line(spdlog::level::err, "error", text);
}

std::uint64_t log_dropped_lines() {
  return current() != nullptr ? current()->dropped() : 0;
}

bool log_flush(std::uint32_t timeout_ms) {
  return current() == nullptr || current()->flush(timeout_ms);
}

void log_shutdown() {
  current().reset();
}

}  // namespace tide
