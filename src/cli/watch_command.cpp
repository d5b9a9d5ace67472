// tide watch: a DVM as it is now, again and again.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/live_view.hpp"
#include "cli/process_handle.hpp"
#include "cli/watch_text.hpp"
#include "wire/exit_status.hpp"

namespace tide::cli {
namespace {

// Often enough to see what happens, and no load for the head however much that is.
constexpr std::chrono::milliseconds kInterval{250};
constexpr std::uint32_t kEndWaitMs = 5'000;
constexpr std::size_t kKeptEvents = 200;  // more lines than a screen has

constexpr std::string_view kClear = "\x1b[2J";
constexpr std::string_view kHome = "\x1b[H";
constexpr std::string_view kEraseLine = "\x1b[K";
constexpr std::string_view kEraseBelow = "\x1b[J";

ScreenSize screen_size() {
  winsize found{};
  ScreenSize size;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &found) != 0) return size;
  if (found.ws_row > 0) size.rows = found.ws_row;
  if (found.ws_col > 0) size.columns = found.ws_col;
  return size;
}

class Watcher {
 public:
  Watcher(const ClientContext& context, DvmConnection& connection)
      : line_(context.line),
        connection_(connection),
        head_(static_cast<pid_t>(connection.dvm.pid)) {}

  // Until the DVM has ended, or nobody takes what is shown.
  int run() {
    while (true) {
      const Status looked = look();
      if (!looked) return end_of(looked.error());
      on_terminal_ ? draw() : tell();
      if (print_failed()) return kExitFailure;
      std::this_thread::sleep_for(kInterval);
    }
  }

 private:
  Status look() {
    bool more = true;
    while (more) {
      wire::ClientRequest request;
      request.mutable_events()->set_after(after_);
      Result<wire::ClientReply> reply = ask(connection_.channel, std::move(request));
      if (!reply) return reply.error();
      keep(*reply->mutable_events());
      more = reply->events().more();
    }
    wire::ClientRequest request;
    request.mutable_status()->set_jobs(true);
    request.mutable_status()->set_counters(true);
    Result<wire::ClientReply> reply = ask(connection_.channel, std::move(request));
    if (!reply) return reply.error();
    status_ = std::move(*reply->mutable_status());
    return ok_status();
  }

  // Those of nodes and changes. What jobs do is seen in their table, and would leave no room.
  void keep(wire::EventsReply& reply) {
    after_ += reply.dropped();
    reply.set_dropped(0);
    if (!reply.events().empty()) after_ = reply.events(reply.events_size() - 1).number();
    auto& events = *reply.mutable_events();
    const auto end = std::remove_if(events.begin(), events.end(),
                                    [](const wire::DvmEvent& event) { return event.job() != 0; });
    events.DeleteSubrange(static_cast<int>(end - events.begin()),
                          static_cast<int>(events.end() - end));
    for (std::string& line : split(events_text(reply, now_unix_ms()), '\n')) {
      if (!line.empty()) events_.push_back(std::move(line));
    }
    if (events_.size() > kKeptEvents) {
      events_.erase(events_.begin(), events_.end() - static_cast<std::ptrdiff_t>(kKeptEvents));
    }
  }

  void draw() {
    const std::string screen = live_screen(status_, events_, screen_size());
    std::string text(std::exchange(drawn_, true) ? "" : kClear);
    text += kHome;
    for (const char c : screen) {
      if (c == '\n') text += kEraseLine;
      text += c;
    }
    text += kEraseBelow;
    print(text);
  }

  void tell() {
    std::string gist = live_gist(status_);
    if (gist == std::exchange(told_, gist)) return;
    print(clock_time(now_unix_ms()) + "  " + live_line(status_) + "\n");
  }

  // A head that hangs up has ended, in whatever way, or is about to.
  int end_of(const Error& error) {
    if (error.code != ErrorCode::kConnectionLost || !head_.wait_gone(kEndWaitMs)) {
      return fail(line_, error);
    }
    print("DVM " + connection_.dvm.name + " has ended\n");
    return kExitSuccess;
  }

  const CommandLine& line_;
  DvmConnection& connection_;
  ProcessHandle head_;
  const bool on_terminal_ = isatty(STDOUT_FILENO) == 1;
  std::uint64_t after_ = 0;
  std::vector<std::string> events_;
  wire::StatusReply status_;
  bool drawn_ = false;
  std::string told_;
};

}  // namespace

int watch_command(const ClientContext& context) {
  Result<DvmConnection> connection = connect_to_dvm(context);
  if (!connection) return fail_without_dvm(context.line, connection.error());
  return Watcher(context, *connection).run();
}

}  // namespace tide::cli
