// The output of a job, and of what it spawns, on its way to standard output and standard error of
// the client.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "cli/fd_writer.hpp"
#include "cli/line_tagger.hpp"
#include "cli/output_queue.hpp"
#include "cli/values.hpp"

namespace tide::cli {

class JobOutput {
 public:
  JobOutput(OutputStyle style, int stdout_fd, int stderr_fd)
      : style_(style), sinks_{Sink(stdout_fd), Sink(stderr_fd)} {}

  // Bytes of one stream as they came, and its end.
  void take(StreamKey key, Bytes data, bool eof);

  // The job ended: what taggers hold is a last line.
  void finish();

  // A line of our own on standard error, in order with what was taken before.
  void say(std::string_view line);
  // What was asked for besides the job's own output, on standard output.
  void show(std::string_view text);

  // Writes what the descriptors take now. An error, told once: standard output takes nothing any
  // more (kConnectionLost: its reader is gone); what comes for it from now on is thrown away.
  Status write();

  // What may be granted to the senders again.
  std::vector<CreditGrant> grants();

  // Enough is waiting: no more should be taken in for now.
  [[nodiscard]] bool full() const;
  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] bool empty() const;

  // The descriptors that are waited for, to be polled for writing.
  [[nodiscard]] std::vector<int> blocked_fds() const;

 private:
  struct Sink {
    explicit Sink(int fd) : writer(fd) {}
    FdWriter writer;
    OutputQueue queue;
    bool broken = false;
    bool of_job = false;  // something of the job went here, not only words of our own
  };

  Sink& sink_of(wire::Stream stream);
  LineTagger& tagger(StreamKey key);

  OutputStyle style_;
  std::array<Sink, 2> sinks_;  // standard output, standard error
  CreditLedger ledger_;
  std::map<StreamKey, LineTagger> taggers_;
};

}  // namespace tide::cli
