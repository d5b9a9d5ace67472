#include "cli/job_output.hpp"

#include <algorithm>

namespace tide::cli {
namespace {

// What may wait here for a slow reader. Beyond it the socket is not read, so that the senders run
// out of credit.
constexpr std::size_t kMaxQueuedBytes = 4UL << 20U;

// While output flows credit travels in batches. When all is written, a stream must not be left
// with less than half of the smallest window (4 KiB) that the parameter tide_stream_window allows.
constexpr std::size_t kBusyGrantBytes = 16384;
constexpr std::size_t kIdleGrantBytes = 2048;

std::string tag_of(StreamKey key) {
  return "[" + std::to_string(key.job) + "," + std::to_string(key.rank) + "]<" +
         (key.stream == wire::STDOUT ? "stdout" : "stderr") + ">: ";
}

}  // namespace

JobOutput::Sink& JobOutput::sink_of(wire::Stream stream) {
  return sinks_[stream == wire::STDERR && !style_.merge_stderr ? 1 : 0];
}

LineTagger& JobOutput::tagger(StreamKey key) {
  const auto found = taggers_.find(key);
  if (found != taggers_.end()) return found->second;
  return taggers_.emplace(key, LineTagger(tag_of(key))).first->second;
}

void JobOutput::take(StreamKey key, Bytes data, bool eof) {
  Sink& sink = sink_of(key.stream);
  const std::size_t credit = data.size();
  sink.of_job = sink.of_job || !data.empty();
  if (sink.broken) {
    ledger_.add(key, credit);
  } else if (!style_.tag) {
    sink.queue.push(std::move(data), key, credit);
  } else {
    Bytes lines(tagger(key).add(data.view()));
    // What the tagger holds is bounded, and its writer may need credit to end the line.
    if (lines.empty()) ledger_.add(key, credit);
    sink.queue.push(std::move(lines), key, credit);
  }
  if (!eof) return;
  if (const auto found = taggers_.find(key); found != taggers_.end()) {
    if (!sink.broken) sink.queue.push(Bytes(found->second.finish()));
    taggers_.erase(found);
  }
  ledger_.forget(key);
}

void JobOutput::finish() {
  for (auto& [key, tagger] : taggers_) {
    Sink& sink = sink_of(key.stream);
    if (!sink.broken) sink.queue.push(Bytes(tagger.finish()));
  }
  taggers_.clear();
}

void JobOutput::say(std::string_view line) {
  if (!sinks_[1].broken) sinks_[1].queue.push(Bytes(std::string(line) + "\n"));
}

void JobOutput::show(std::string_view text) {
  if (!sinks_[0].broken) sinks_[0].queue.push(Bytes(std::string(text)));
}

Status JobOutput::write() {
  Status result = ok_status();
  for (Sink& sink : sinks_) {
    if (sink.broken) continue;
    Status status = sink.queue.write_to(sink.writer, ledger_);
    if (status) continue;
    sink.broken = true;
    sink.queue.discard(ledger_);
    // Nobody who closed standard error can be told our own words, and the job may go on without.
    if (&sink == &sinks_[0] || sink.of_job) result = status;
  }
  return result;
}

std::vector<CreditGrant> JobOutput::grants() {
  return ledger_.take(empty() ? kIdleGrantBytes : kBusyGrantBytes);
}

bool JobOutput::full() const {
  return bytes() >= kMaxQueuedBytes;
}

std::size_t JobOutput::bytes() const {
  return sinks_[0].queue.bytes() + sinks_[1].queue.bytes();
}

bool JobOutput::empty() const {
  return sinks_[0].queue.empty() && sinks_[1].queue.empty();
}

std::vector<int> JobOutput::blocked_fds() const {
  std::vector<int> fds;
  for (const Sink& sink : sinks_) {
    if (!sink.queue.empty()) fds.push_back(sink.writer.fd());
  }
  return fds;
}

}  // namespace tide::cli
