#include "sim/watchers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "sim/world.hpp"

namespace tide::sim {

namespace {

constexpr std::array<std::string_view, 6> kOfJobs = {"job-submitted",  "job-started", "job-running",
                                                     "job-registered", "job-failing", "job-ended"};
constexpr int kEnded = static_cast<int>(kOfJobs.size());

[[noreturn]] void out_of_order(const wire::DvmEvent& event, const std::string& what) {
  throw BrokenPromise("events come in an order that makes sense",
                      fmt::format("event {} ({}): {}", event.number(), event.kind(), what));
}

[[noreturn]] void unexplained(JobId job, const std::string& what) {
  throw BrokenPromise("every job can be explained", fmt::format("job {}: {}", job.value(), what));
}

wire::JobRef ref_of(JobId job) {
  wire::JobRef out;
  out.set_number(job.value());
  return out;
}

}  // namespace

void Watchers::on_head_step(const core::HeadCore& head) {
  const auto& events = head.events().events();
  const std::uint64_t fresh = head.events().last() - seen_;
  for (std::size_t at = events.size() - fresh; at < events.size(); ++at) take(events[at]);
  if (!closely_) return;
  for (const JobId job : head.jobs().unended_jobs()) look_at(head, job);
}

void Watchers::take(const wire::DvmEvent& event) {
  if (event.number() != ++seen_) out_of_order(event, "a number is left out");
  if (event.kind().starts_with("job-")) take_of_job(event);
  if (event.kind().starts_with("node-")) take_of_node(event);
}

// Each kind at most once, in this order, the first always.
void Watchers::take_of_job(const wire::DvmEvent& event) {
  const auto place = std::ranges::find(kOfJobs, event.kind()) - kOfJobs.begin() + 1;
  int& before = jobs_[event.job()];
  if (place <= before) out_of_order(event, "it comes too late, or again");
  if ((place == 1) != (before == 0)) out_of_order(event, "the job was not submitted before");
  before = static_cast<int>(place);
}

void Watchers::take_of_node(const wire::DvmEvent& event) {
  std::string& before = nodes_[event.node()];
  const bool suspected = before == "node-suspected";
  const bool gone = before.empty() || before == "node-left" || before == "node-lost";
  const bool fits = event.kind() == "node-up"     ? gone
                    : event.kind() == "node-back" ? suspected
                    : event.kind() == "node-left" ? !gone
                    : event.kind() == "node-lost" ? before != "node-lost"
                                                  : before == "node-up" || before == "node-back";
  if (!fits) out_of_order(event, "after " + (before.empty() ? "nothing" : before));
  before = event.kind();
}

// Between two events nothing of a job is under way at the head, so there is a thing it waits for.
void Watchers::look_at(const core::HeadCore& head, JobId job) {
  const auto said = head.explain(ref_of(job));
  if (!said) unexplained(job, said.error().message);
  if (said->job().ended()) unexplained(job, "it is said to have ended");
  if (said->waits().empty()) unexplained(job, "it waits for nothing");
  for (const auto& wait : said->waits()) {
    if (wait.kind() == "head") unexplained(job, "it stands still at " + said->job().state());
    if (wait.text().empty()) unexplained(job, "no words for " + wait.kind());
    const bool of_nodes = wait.kind() == "launch" || wait.kind() == "processes" ||
                          wait.kind() == "end" || wait.kind() == "output" ||
                          wait.kind() == "nodes" || wait.kind() == "collective";
    if (of_nodes && wait.nodes().empty()) unexplained(job, "no node is named: " + wait.text());
  }
  if (said->passages().empty() || said->passages().rbegin()->state() != said->job().state()) {
    unexplained(job, "its last passage is not to the state it is in");
  }
}

void Watchers::when_quiet(const core::HeadCore& head) const {
  for (const auto& [number, place] : jobs_) {
    if (place != kEnded) unexplained(JobId(number), "no event says that it has ended");
    const auto said = head.explain(ref_of(JobId(number)));
    if (!said) unexplained(JobId(number), said.error().message);
    if (!said->job().ended() || !said->waits().empty()) {
      unexplained(JobId(number), "it is not said to have ended");
    }
  }
}

void Watchers::at_the_end(const core::HeadCore& head) const {
  const auto& events = head.events().events();
  if (events.empty() || events.back().kind() != "dvm-ended") {
    throw BrokenPromise("events come in an order that makes sense", "the end is not the last");
  }
}

}  // namespace tide::sim
