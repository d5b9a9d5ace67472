// One job from its submission to its end: output and input, signals, exit status. Never waits for
// one thing alone, so a slow reader of its output holds up this job and nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/job_files.hpp"
#include "cli/job_input.hpp"
#include "cli/job_output.hpp"
#include "cli/signal_source.hpp"
#include "net/local_channel.hpp"
#include "wire/job.pb.h"

namespace tide::cli {

struct RunOptions {
  std::string program;  // messages begin with it
  OutputStyle output;
  std::vector<std::string> files{};  // that the job brings, in its order
  int stdin_fd = 0;
  int stdout_fd = 1;
  int stderr_fd = 2;
  bool verbose = false;
  // What is passed on to the processes and does not end the job.
  std::set<int> forwarded_signals = usual_forwarded_signals();
};

class RunLoop {
 public:
  // `signals` may be null.
  RunLoop(net::LocalChannel& channel, SignalSource* signals, const RunOptions& options,
          wire::JobSpec job);

  // Submits the job and stays until it has ended and its output is written. The exit status.
  int run();

 private:
  enum class Phase : std::uint8_t { kSubmitted, kRunning, kEnded };

  void submit();
  void wait_and_read();
  void read_input();
  void send_files();
  void take_signals();
  void take_signal(int signal);
  void end_job(int signal);
  void stop_self();
  void send_kill(int signal, bool terminate);
  void take_replies();
  void take_reply(net::LocalChannel::Incoming incoming);
  void take_accepted(const wire::Accepted& accepted);
  void take_map(const wire::JobMap& map);
  void take_done(std::uint32_t request);
  void take_ended(const wire::JobEnded& ended);
  void take_error(std::uint32_t request, const wire::ErrorInfo& error);
  void write_output();
  void connection_lost(const std::string& why);
  void finish(int status);
  void send(wire::ClientRequest request, std::string_view payload = {});
  void tell(const std::string& text) { output_.say(options_.program + ": " + text); }

  net::LocalChannel& channel_;
  SignalSource* signals_;
  RunOptions options_;
  wire::JobSpec job_;
  bool detached_;
  bool children_apart_;  // the status of what the job spawns does not count
  JobOutput output_;
  JobInput input_;
  FileSender files_;
  Phase phase_ = Phase::kSubmitted;
  std::uint32_t job_number_ = 0;
  std::string nspace_;
  std::set<std::uint32_t> running_;  // it, and what it spawned
  std::uint32_t last_request_ = 0;
  std::vector<wire::KillJob> waiting_kills_;  // asked for before the job had a number
  int end_requests_ = 0;
  bool replies_left_ = false;  // some may have been taken from the socket and not looked at
  bool output_lost_ = false;
  bool input_lost_ = false;
  int status_ = 0;
  std::optional<int> leave_with_;  // leave at once, whatever is left to do
};

}  // namespace tide::cli
