// Output on its way to one descriptor: in order, and counted so that the sender may send more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "cli/fd_writer.hpp"
#include "wire/job.pb.h"

namespace tide::cli {

// One output stream of one process.
struct StreamKey {
  std::uint32_t job = 0;
  std::uint32_t rank = 0;
  wire::Stream stream = wire::STDOUT;
  auto operator<=>(const StreamKey&) const = default;
};

struct CreditGrant {
  StreamKey key;
  std::uint32_t bytes = 0;
};

// How much of each stream was used up here and not yet granted again.
class CreditLedger {
 public:
  void add(StreamKey key, std::size_t bytes);
  // The stream ended: it needs no more credit.
  void forget(StreamKey key) { used_.erase(key); }
  // Streams with at least `threshold` bytes, which then start again from zero.
  std::vector<CreditGrant> take(std::size_t threshold);

 private:
  std::map<StreamKey, std::size_t> used_;
};

class OutputQueue {
 public:
  // `credit` bytes of the stream `key` are used up when all of `data` is written.
  void push(Bytes data, StreamKey key, std::size_t credit);
  // Words of our own, which use no credit.
  void push(Bytes data) { push(std::move(data), {}, 0); }

  // Writes what the descriptor takes now, and notes what was used up. An error means that it will
  // never take anything again.
  Status write_to(FdWriter& writer, CreditLedger& ledger);

  // Throws away what is queued, as if it had been written.
  void discard(CreditLedger& ledger);

  [[nodiscard]] bool empty() const { return segments_.empty(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  struct Segment {
    Bytes data;
    StreamKey key;
    std::size_t credit = 0;
  };
  void pop_front(CreditLedger& ledger);

  std::deque<Segment> segments_;
  std::size_t written_ = 0;  // of the first segment
  std::size_t bytes_ = 0;
};

}  // namespace tide::cli
