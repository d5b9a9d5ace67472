#include "sim/journal.hpp"

#include <fmt/format.h>

#include <numeric>
#include <set>

namespace tide::sim {

namespace {

std::string host_name(HostId host) {
  return host == kHeadHost ? "head" : fmt::format("h{}", host);
}

const char* kind_name(TraceLine::Kind kind) {
  switch (kind) {
    case TraceLine::Kind::kEvent:
      return "event";
    case TraceLine::Kind::kAction:
      return "  does";
    case TraceLine::Kind::kNote:
      return "  says";
    default:
      return "WORLD";
  }
}

std::string json_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += fmt::format("\\u{:04x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

template <std::size_t N>
void add_each(std::array<std::uint64_t, N>& sums, const std::array<std::uint64_t, N>& more) {
  for (std::size_t i = 0; i < N; ++i) sums[i] += more[i];
}

}  // namespace

void Counts::add(const Counts& other) {
  worlds += other.worlds;
  steps += other.steps;
  messages += other.messages;
  virtual_ms += other.virtual_ms;
  jobs += other.jobs;
  jobs_succeeded += other.jobs_succeeded;
  failed_starts += other.failed_starts;
  nodes_lost += other.nodes_lost;
  lives += other.lives;
  add_each(faults, other.faults);
  add_each(troubles, other.troubles);
  add_each(habits, other.habits);
  add_each(asked, other.asked);
  add_each(served, other.served);
  tools += other.tools;
  changes += other.changes;
  changes_done += other.changes_done;
  changes_failed += other.changes_failed;
  queued += other.queued;
  taken_back += other.taken_back;
  asked_anew += other.asked_anew;
  leases_moved += other.leases_moved;
  wishes += other.wishes;
  wishes_granted += other.wishes_granted;
}

std::uint64_t Counts::faults_in_all() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kFaultKinds; ++i) {
    if (counts_as_fault(static_cast<FaultKind>(i))) sum += faults[i];
  }
  return sum;
}

std::uint64_t Counts::faults_of(FaultClass fault_class) const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kFaultKinds; ++i) {
    const auto kind = static_cast<FaultKind>(i);
    if (counts_as_fault(kind) && class_of(kind) == fault_class) sum += faults[i];
  }
  if (fault_class == FaultClass::kProcess) {
    sum = std::accumulate(troubles.begin() + 1, troubles.end(), std::uint64_t{0});
  } else if (fault_class == FaultClass::kClient) {
    sum = std::accumulate(habits.begin() + 1, habits.end(), std::uint64_t{0});
  }
  return sum;
}

std::string readable(const TraceLine& line) {
  return fmt::format("{:>12.3f} ms  {:<5} {:<6} {}", static_cast<double>(line.at_us) / 1000.0,
                     host_name(line.host), kind_name(line.kind), line.text);
}

std::string chrome_trace(const std::vector<TraceLine>& lines) {
  std::string out = "{\"traceEvents\":[\n";
  std::set<HostId> hosts;
  for (const auto& line : lines) hosts.insert(line.host);
  for (const HostId host : hosts) {
    out += fmt::format(
        "{{\"ph\":\"M\",\"pid\":1,\"tid\":{},\"name\":\"thread_name\",\"args\":{{\"name\":\"{}\"}}}"
        "},\n",
        host, host_name(host));
  }
  for (const auto& line : lines) {
    if (line.kind == TraceLine::Kind::kAction) continue;
    const auto name = line.text.substr(0, line.text.find(' '));
    // An event takes no virtual time; a sliver makes it visible.
    out += fmt::format(
        "{{\"ph\":\"{}\",\"pid\":1,\"tid\":{},\"ts\":{},{}\"cat\":\"{}\",\"name\":\"{}\",\"args\":{"
        "{\"text\":\"{}\"}}}},\n",
        line.kind == TraceLine::Kind::kEvent ? "X" : "i", line.host, line.at_us,
        line.kind == TraceLine::Kind::kEvent ? "\"dur\":20," : "\"s\":\"t\",", kind_name(line.kind),
        json_escaped(name), json_escaped(line.text));
  }
  if (out.ends_with(",\n")) out.resize(out.size() - 2);
  return out + "\n]}\n";
}

}  // namespace tide::sim
