#include "cli/output_queue.hpp"

namespace tide::cli {

void CreditLedger::add(StreamKey key, std::size_t bytes) {
  if (bytes > 0) used_[key] += bytes;
}

std::vector<CreditGrant> CreditLedger::take(std::size_t threshold) {
  std::vector<CreditGrant> grants;
  for (auto it = used_.begin(); it != used_.end();) {
    if (it->second < threshold) {
      ++it;
      continue;
    }
    grants.push_back({it->first, static_cast<std::uint32_t>(it->second)});
    it = used_.erase(it);
  }
  return grants;
}

void OutputQueue::push(Bytes data, StreamKey key, std::size_t credit) {
  if (data.empty()) return;
  bytes_ += data.size();
  segments_.push_back({std::move(data), key, credit});
}

Status OutputQueue::write_to(FdWriter& writer, CreditLedger& ledger) {
  while (!segments_.empty()) {
    const std::string_view rest = segments_.front().data.view().substr(written_);
    Result<std::size_t> taken = writer.write(rest);
    if (!taken) return taken.error();
    if (*taken == 0) return ok_status();
    written_ += *taken;
    bytes_ -= *taken;
    if (*taken == rest.size()) pop_front(ledger);
  }
  return ok_status();
}

void OutputQueue::discard(CreditLedger& ledger) {
  while (!segments_.empty()) pop_front(ledger);
  bytes_ = 0;
}

void OutputQueue::pop_front(CreditLedger& ledger) {
  ledger.add(segments_.front().key, segments_.front().credit);
  segments_.pop_front();
  written_ = 0;
}

}  // namespace tide::cli
