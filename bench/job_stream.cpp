// job_stream SOCKET JOBS IN_FLIGHT [--release FAILPOINT] COMMAND…
// Submits JOBS jobs of one process over one connection to the head, never more than IN_FLIGHT at a
// time. Prints "wall_us" (from the first submission to the last end), then for each job the time
// from its submission to its end in microseconds. Connecting is not part of it. With --release the
// jobs are all submitted first, to a DVM that holds them; the clock starts when what holds them is
// let go.
#include <unistd.h>

#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "bench/tool.hpp"
#include "net/local_channel.hpp"

namespace tide::bench {
namespace {

constexpr std::size_t kMaxJobs = 1'000'000;
constexpr std::size_t kMaxInFlight = 4096;
constexpr std::uint32_t kConnectTimeoutMs = 5000;
constexpr std::uint32_t kReplyTimeoutMs = 30000;

class JobStream {
 public:
  JobStream(net::LocalChannel& channel, wire::JobSpec job) : channel_(channel) {
    *request_.mutable_submit()->mutable_job() = std::move(job);
  }

  // Returns the time of each job, in the order of their ends.
  std::vector<double> run(std::size_t jobs, std::size_t in_flight) {
    while (jobs_us_.size() < jobs) {
      while (begun_.size() < in_flight && last_request_ < jobs) submit();
      take_reply();
    }
    return std::move(jobs_us_);
  }

  // The same for jobs that are held until the failpoint is released, each from then on.
  std::vector<double> run_held(std::size_t jobs, const char* failpoint) {
    while (last_request_ < jobs) submit();
    while (accepted_ < jobs) take_reply();
    if (!jobs_us_.empty()) give_up("a job was not held");
    wire::ClientRequest release;
    release.set_request(last_request_ + 1);
    release.mutable_release()->set_name(failpoint);
    released_ = Clock::now();
    for (auto& [request, begun] : begun_) begun = released_;
    if (Status sent = channel_.send(release); !sent) give_up(sent.error().message);
    while (jobs_us_.size() < jobs) take_reply();
    return std::move(jobs_us_);
  }
  [[nodiscard]] Clock::time_point released() const { return released_; }

 private:
  void submit() {
    request_.set_request(++last_request_);
    begun_[last_request_] = Clock::now();
    if (Status sent = channel_.send(request_); !sent) give_up(sent.error().message);
  }

  void take_reply() {
    auto incoming = channel_.receive(kReplyTimeoutMs);
    if (!incoming) give_up(incoming.error().message);
    if (!incoming->has_value()) give_up("the DVM does not answer");
    const wire::ClientReply& reply = (**incoming).reply;
    if (reply.has_error()) give_up(reply.error().message());
    if (reply.has_accepted()) ++accepted_;
    if (!reply.has_ended()) return;
    if (reply.ended().exit_status() != 0) {
      give_up("a job ended with status " + std::to_string(reply.ended().exit_status()));
    }
    const auto found = begun_.find(reply.request());
    if (found == begun_.end()) give_up("a job ended that was not submitted");
    jobs_us_.push_back(us_since(found->second));
    begun_.erase(found);
  }

  net::LocalChannel& channel_;
  wire::ClientRequest request_;
  std::uint32_t last_request_ = 0;
  std::size_t accepted_ = 0;
  Clock::time_point released_{};
  std::map<std::uint32_t, Clock::time_point> begun_;
  std::vector<double> jobs_us_;
};

// As prun asks for it, but without standard input: there is none to forward.
wire::JobSpec job_of(char* const* command) {
  const std::unique_ptr<char, decltype(&std::free)> here(getcwd(nullptr, 0), &std::free);
  if (here == nullptr) give_up_errno("finding the working directory", errno);
  wire::JobSpec job;
  job.set_stdin_rank(-1);
  wire::AppSpec& app = *job.add_apps();
  app.set_processes(1);
  app.set_working_directory(here.get());
  for (char* const* word = command; *word != nullptr; ++word) app.add_argv(*word);
  return job;
}

int run(int argc, char** argv) {
  const bool held = argc > 6 && std::string_view(argv[4]) == "--release";
  if (argc < 5) give_up("usage: job_stream SOCKET JOBS IN_FLIGHT [--release FAILPOINT] COMMAND…");
  const std::size_t jobs = count_from(argv[2], kMaxJobs);
  const std::size_t in_flight = count_from(argv[3], kMaxInFlight);
  auto channel = net::LocalChannel::connect(argv[1], kConnectTimeoutMs, "job_stream");
  if (!channel) give_up(channel.error().message);
  JobStream stream(*channel, job_of(argv + (held ? 6 : 4)));
  const auto begin = Clock::now();
  const auto jobs_us = held ? stream.run_held(jobs, argv[5]) : stream.run(jobs, in_flight);
  std::printf("wall_us %.1f\n", us_since(held ? stream.released() : begin));
  for (const double job_us : jobs_us) std::printf("%.1f\n", job_us);
  return 0;
}

}  // namespace
}  // namespace tide::bench

int main(int argc, char** argv) {
  return tide::bench::run(argc, argv);
}
