#include "exec/warden_protocol.hpp"

#include <sys/wait.h>

#include <cstring>
#include <type_traits>
#include <utility>

namespace tide::exec {
namespace {

constexpr std::size_t kHeaderBytes = sizeof(std::uint32_t);

enum class Kind : std::uint8_t {
  kStartDaemon = 1,
  kStopDaemon = 2,
  kLetGo = 3,
  kStarted = 4,
  kStartFailed = 5,
  kDaemonEnded = 6,
};

class Writer {
 public:
  // The whole size is known beforehand: growing would leave copies of secrets behind.
  Writer(Kind kind, std::size_t field_bytes) {
    frame_.reserve(kHeaderBytes + 1 + field_bytes);
    number(static_cast<std::uint32_t>(1 + field_bytes));
    frame_.push_back(static_cast<char>(kind));
  }
  Writer& number(std::uint32_t value) {
    char bytes[sizeof(value)];
    std::memcpy(bytes, &value, sizeof(value));
    frame_.append(bytes, sizeof(value));
    return *this;
  }
  Writer& text(std::string_view value) {
    number(static_cast<std::uint32_t>(value.size()));
    frame_.append(value);
    return *this;
  }
  std::string take() { return std::move(frame_); }

 private:
  std::string frame_;
};

std::size_t text_bytes(std::string_view text) {
  return sizeof(std::uint32_t) + text.size();
}

class Reader {
 public:
  explicit Reader(std::string_view frame) : rest_(frame) {}
  Kind kind() {
    if (rest_.empty()) return fail(), Kind{};
    const auto kind = static_cast<Kind>(rest_.front());
    rest_.remove_prefix(1);
    return kind;
  }
  std::uint32_t number() {
    std::uint32_t value = 0;
    if (rest_.size() < sizeof(value)) return fail(), 0;
    std::memcpy(&value, rest_.data(), sizeof(value));
    rest_.remove_prefix(sizeof(value));
    return value;
  }
  std::string text() {
    const std::size_t size = number();
    if (rest_.size() < size) return fail(), std::string();
    std::string value(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return value;
  }
  // Everything was there and nothing is left over.
  [[nodiscard]] bool good() const { return good_ && rest_.empty(); }
  [[nodiscard]] bool more() const { return good_ && !rest_.empty(); }

 private:
  void fail() {
    good_ = false;
    rest_ = {};
  }
  std::string_view rest_;
  bool good_ = true;
};

Error malformed() {
  return Error{ErrorCode::kProtocol, "malformed message on the warden's socket"};
}

std::string write(const StartDaemon& start) {
  std::size_t bytes = 2 * sizeof(std::uint32_t) + text_bytes(start.working_directory) +
                      text_bytes(start.log_path) + text_bytes(start.blob.text());
  for (const auto& argument : start.argv) bytes += text_bytes(argument);
  Writer writer(Kind::kStartDaemon, bytes);
  writer.number(start.id).number(static_cast<std::uint32_t>(start.argv.size()));
  for (const auto& argument : start.argv) writer.text(argument);
  return writer.text(start.working_directory).text(start.log_path).text(start.blob.text()).take();
}

std::string write(const StopDaemon& stop) {
  return Writer(Kind::kStopDaemon, 8).number(stop.id).number(stop.grace_ms).take();
}

std::string write(const LetGo&) {
  return Writer(Kind::kLetGo, 0).take();
}

std::string write(const Started& started) {
  return Writer(Kind::kStarted, 8).number(started.id).number(started.pid).take();
}

std::string write(const StartFailed& failed) {
  return Writer(Kind::kStartFailed, 4 + text_bytes(failed.text))
      .number(failed.id)
      .text(failed.text)
      .take();
}

std::string write(const DaemonEnded& ended) {
  return Writer(Kind::kDaemonEnded, 8 + text_bytes(ended.text))
      .number(ended.id)
      .number(ended.wait_status)
      .text(ended.text)
      .take();
}

StartDaemon read_start(Reader& reader) {
  StartDaemon start;
  start.id = reader.number();
  const std::uint32_t arguments = reader.number();
  for (std::uint32_t i = 0; i < arguments && reader.more(); ++i) {
    start.argv.push_back(reader.text());
  }
  start.working_directory = reader.text();
  start.log_path = reader.text();
  start.blob = Secret(reader.text());
  return start;
}

}  // namespace

Secret encode(const WardenCommand& command) {
  return Secret(std::visit([](const auto& message) { return write(message); }, command));
}

std::string encode(const WardenReport& report) {
  return std::visit([](const auto& message) { return write(message); }, report);
}

Result<WardenCommand> decode_command(std::string_view frame) {
  Reader reader(frame);
  const Kind kind = reader.kind();
  WardenCommand command;
  if (kind == Kind::kStartDaemon) {
    command = read_start(reader);
  } else if (kind == Kind::kStopDaemon) {
    StopDaemon stop;
    stop.id = reader.number();
    stop.grace_ms = reader.number();
    command = stop;
  } else if (kind == Kind::kLetGo) {
    command = LetGo{};
  } else {
    return malformed();
  }
  if (!reader.good()) return malformed();
  return command;
}

Result<WardenReport> decode_report(std::string_view frame) {
  Reader reader(frame);
  const Kind kind = reader.kind();
  WardenReport report;
  if (kind == Kind::kStarted) {
    Started started;
    started.id = reader.number();
    started.pid = reader.number();
    report = started;
  } else if (kind == Kind::kStartFailed) {
    StartFailed failed;
    failed.id = reader.number();
    failed.text = reader.text();
    report = std::move(failed);
  } else if (kind == Kind::kDaemonEnded) {
    DaemonEnded ended;
    ended.id = reader.number();
    ended.wait_status = reader.number();
    ended.text = reader.text();
    report = std::move(ended);
  } else {
    return malformed();
  }
  if (!reader.good()) return malformed();
  return report;
}

void WardenFrameReader::begin_header() {
  buffer_ = Secret(std::string(kHeaderBytes, '\0'));
  used_ = 0;
  in_header_ = true;
}

std::span<char> WardenFrameReader::free_space() {
  return std::span(buffer_.text()).subspan(used_);
}

Status WardenFrameReader::filled(std::size_t bytes) {
  used_ += bytes;
  TIDE_CHECK(used_ <= buffer_.text().size());
  if (!in_header_ || !complete()) return ok_status();
  std::uint32_t length = 0;
  std::memcpy(&length, buffer_.text().data(), sizeof(length));
  if (length == 0 || length > kMaxWardenFrameBytes) {
    return Error{ErrorCode::kProtocol, "frame of a forbidden length on the warden's socket"};
  }
  buffer_ = Secret(std::string(length, '\0'));
  used_ = 0;
  in_header_ = false;
  return ok_status();
}

std::optional<Secret> WardenFrameReader::take_frame() {
  if (in_header_ || !complete()) return std::nullopt;
  Secret frame = std::move(buffer_);
  begin_header();
  return frame;
}

std::string describe_wait_status(int wait_status) {
  if (WIFEXITED(wait_status)) return "exit status " + std::to_string(WEXITSTATUS(wait_status));
  const int number = WTERMSIG(wait_status);
  const char* name = ::sigabbrev_np(number);
  std::string text = "signal " + std::to_string(number);
  if (name != nullptr) text += std::string(" (SIG") + name + ")";
  if (WCOREDUMP(wait_status)) text += ", core dumped";
  return text;
}

}  // namespace tide::exec
