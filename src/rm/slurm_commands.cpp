#include "rm/slurm_commands.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <asio/post.hpp>
#include <chrono>
#include <csignal>
#include <map>
#include <utility>

#include "base/text.hpp"
#include "exec/slurm_environment.hpp"
#include "exec/warden_protocol.hpp"
#include "rm/slurm_list.hpp"
#include "say/slurm.hpp"

namespace tide::rm {
namespace {

constexpr std::string_view kTimesAsNumbers = "SLURM_TIME_FORMAT=%s";
constexpr std::string_view kHolder = "cat";
// Makes salloc give back what it has or asks for. At our death its holder ends at the same moment,
// and salloc would not survive SIGTERM then: it waits for ever, and busily, for a holder that is no
// more.
constexpr int kOnOurDeath = SIGHUP;
// Slurm's words for a number that is no job's, and for a job that it changes no more.
constexpr std::string_view kNoSuchJob = "Invalid job id";
constexpr std::string_view kNoMoreChanges = "DB index is being set";

// What it says by itself, without the name of the program in front of it and without the news.
std::string last_words(std::string_view errors) {
  std::string out;
  for (const auto& line : split(errors, '\n')) {
    const auto words = trim(line);
    if (words.empty()) continue;
    constexpr std::string_view kError = "error: ";
    const auto error = words.find(kError);
    if (error != std::string_view::npos) {
      out = words.substr(error + kError.size());
    } else if (out.empty()) {
      out = words;
    }
  }
  return one_line(out);
}

// Slurm's own words for a controller that does not answer; it may later.
bool was_not_reached(std::string_view words) {
  constexpr std::array kSigns = {"Unable to contact", "Connection refused", "timed out",
                                 "Communication connection failure", "Socket timed out"};
  return std::ranges::any_of(kSigns,
                             [&](const char* sign) { return words.find(sign) != words.npos; });
}

Status status_of(const Result<exec::CommandEnd>& result, const std::string& program) {
  if (!result) return say::slurm_command_failed(program, result.error().message);
  if (result->timed_out) return say::slurm_command_silent(program);
  if (result->succeeded()) return ok_status();
  const auto words = last_words(result->errors);
  if (words.find(kNoMoreChanges) != words.npos) return say::slurm_changes_no_more(words);
  const bool says_why = !words.empty() && WIFEXITED(result->wait_status);
  auto error = say::slurm_command_failed(
      program, says_why ? words : exec::describe_wait_status(result->wait_status));
  if (words.find(kNoSuchJob) != words.npos) {
    error.code = ErrorCode::kNotFound;
  } else if (!was_not_reached(result->errors)) {
    error.code = ErrorCode::kOutOfResources;
  }
  return error;
}

exec::Environment environment_for_slurm() {
  auto out = exec::current_environment();
  const auto steering = exec::slurm_variables_that_steer(out);
  std::erase_if(out, [&steering](const std::string& entry) {
    return std::ranges::find(steering, entry.substr(0, entry.find('='))) != steering.end();
  });
  out.emplace_back(kTimesAsNumbers);
  return out;
}

void add(std::vector<std::string>& argv, std::string_view option, const std::string& value) {
  if (!value.empty()) argv.push_back(fmt::format("{}={}", option, value));
}

void add(std::vector<std::string>& argv, std::string_view option, std::uint32_t value) {
  if (value > 0) argv.push_back(fmt::format("{}={}", option, value));
}

// Of several salloc takes the last one. Theirs are put to ours.
std::vector<std::string> without_excludes(const std::vector<std::string>& args,
                                          std::vector<std::string>& excluded) {
  constexpr std::string_view kLong = "--exclude=";
  std::vector<std::string> out;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string_view arg = args[i];
    const bool value_follows = (arg == "--exclude" || arg == "-x") && i + 1 < args.size();
    if (value_follows) {
      excluded.push_back(args[++i]);
    } else if (arg.starts_with(kLong)) {
      excluded.emplace_back(arg.substr(kLong.size()));
    } else if (arg.starts_with("-x") && arg.size() > 2) {
      excluded.emplace_back(arg.substr(2));
    } else {
      out.emplace_back(arg);
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> salloc_argv(const SlurmWish& wish,
                                     const std::vector<std::string>& more_args) {
  auto excluded = wish.without;
  const auto others = without_excludes(more_args, excluded);
  // Without --no-kill the loss of one node would take all others of the job along; without
  // --kill-command salloc would live on when its job is over.
  std::vector<std::string> argv = {"salloc", "--no-kill", "--kill-command",
                                   fmt::format("--nodes={}", wish.count), "--ntasks-per-node=1"};
  if (wish.whole_nodes) {
    argv.emplace_back("--exclusive");
  } else {
    add(argv, "--cpus-per-task", wish.cores);
  }
  add(argv, "--job-name", wish.job_name);
  add(argv, "--time", wish.minutes);
  add(argv, "--partition", wish.partition);
  add(argv, "--account", wish.account);
  add(argv, "--qos", wish.qos);
  add(argv, "--nodelist", join(wish.names, ","));
  add(argv, "--exclude", join(excluded, ","));
  argv.insert(argv.end(), others.begin(), others.end());
  for (const auto word : {kHolder, std::string_view("/proc/self/environ"), std::string_view("-")}) {
    argv.emplace_back(word);
  }
  return argv;
}

std::optional<Result<SlurmJob>> slurm_job_in_environment(std::string_view entries) {
  std::map<std::string_view, std::string_view> values;
  for (auto end = entries.find('\0'); end != entries.npos; end = entries.find('\0')) {
    const auto entry = entries.substr(0, end);
    const auto equals = entry.find('=');
    if (equals != entry.npos) values[entry.substr(0, equals)] = entry.substr(equals + 1);
    entries.remove_prefix(end + 1);
  }
  constexpr std::array<std::string_view, 3> kNeeded = {"SLURM_JOB_ID", "SLURM_JOB_NODELIST",
                                                       "SLURM_JOB_CPUS_PER_NODE"};
  if (!std::ranges::all_of(kNeeded, [&](auto name) { return values.contains(name); })) {
    return std::nullopt;
  }
  const auto names = expand_slurm_list(values[kNeeded[1]], kNeeded[1]);
  if (!names) return names.error();
  const auto cores = expand_slurm_counts(values[kNeeded[2]], kNeeded[2]);
  if (!cores) return cores.error();
  if (names->size() != cores->size()) return say::slurm_unreadable("nodes", values[kNeeded[2]]);
  SlurmJob job{.id = std::string(values[kNeeded[0]]), .life = SlurmLife::kRuns};
  for (std::size_t i = 0; i < names->size(); ++i) {
    job.nodes.push_back({.name = (*names)[i], .user = {}, .slots = (*cores)[i]});
  }
  return job;
}

// "salloc: job 17 queued and waiting for resources"
std::optional<SallocWords> read_salloc(std::string_view errors) {
  SallocWords out;
  const auto whole = errors.substr(0, errors.rfind('\n') + 1);  // a number may go on
  for (const auto& line : split(whole, '\n')) {
    const auto says = [&line](std::string_view words) { return line.find(words) != line.npos; };
    const auto words = split(line, ' ');
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      const auto number = words[i + 1].substr(0, words[i + 1].find_first_not_of("0123456789"));
      const bool is_jobs = words[i] == "allocation" || words[i] == "job" || words[i] == "Job";
      if (is_jobs && !number.empty()) out.job = number;
    }
    out.waits = out.waits || says("queued and waiting") || says("Pending job allocation") ||
                says("Waiting for resource configuration");
    const bool ends = says("has been revoked") || says("Relinquishing job allocation");
    const bool fails = says("Unable to clean up") && !says(kNoSuchJob);
    out.given_back = (out.given_back || ends) && !fails;
  }
  if (out.job.empty()) return std::nullopt;
  return out;
}

// ---- a job that lasts as long as somebody holds it ----

class SlurmCommands::Hold final : public SlurmHold {
 public:
  Hold(SlurmCommands& owner, Events events)
      : owner_(owner),
        events_(std::move(events)),
        command_(std::make_shared<exec::Command>(owner.io_)),
        patience_(owner.io_) {
    owner_.holds_.insert(this);
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  Hold(Hold&&) = delete;
  Hold& operator=(Hold&&) = delete;
  ~Hold() override {
    owner_.holds_.erase(this);
    give_back();
  }

  [[nodiscard]] pid_t pid() const { return command_ ? command_->pid() : 0; }
  void start(const std::vector<std::string>& argv);
  void on_over(std::function<void()> then) override { over_ = std::move(then); }

 private:
  void heard(const std::string& output);
  void complained(const std::string& errors);
  void ended(const exec::CommandEnd& end);
  void refuse(Error why);
  void give_back();

  SlurmCommands& owner_;
  Events events_;
  std::function<void()> over_;
  std::shared_ptr<exec::Command> command_;
  asio::steady_timer patience_;
  std::string job_;  // once it is known
  bool waits_ = false;
  bool granted_ = false;
  std::shared_ptr<const bool> lifetime_ = std::make_shared<const bool>(true);
};

void SlurmCommands::Hold::start(const std::vector<std::string>& argv) {
  const auto started = command_->start({.argv = argv,
                                        .environment = owner_.environment_,
                                        .grace_ms = owner_.config_.grace_ms,
                                        .holds_input = true,
                                        .parent_death_signal = kOnOurDeath},
                                       {.output = [this](const auto& text) { heard(text); },
                                        .errors = [this](const auto& text) { complained(text); },
                                        .ended = [this](const auto& end) { ended(end); }});
  if (!started) {
    command_.reset();
    auto why = say::slurm_command_failed("salloc", started.error().message);
    return asio::post(owner_.io_,
                      [this, alive = std::weak_ptr(lifetime_), why = std::move(why)]() mutable {
                        if (!alive.expired()) refuse(std::move(why));
                      });
  }
  if (owner_.config_.timeout_ms == 0) return;
  patience_.expires_after(std::chrono::milliseconds(owner_.config_.timeout_ms));
  patience_.async_wait([this, alive = std::weak_ptr(lifetime_)](const asio::error_code& error) {
    if (error || alive.expired() || granted_ || !job_.empty()) return;
    refuse(say::slurm_command_silent("salloc"));
  });
}

// Whoever is told something may drop us.
void SlurmCommands::Hold::heard(const std::string& output) {
  if (granted_) return;
  auto job = slurm_job_in_environment(output);
  if (!job) return;
  granted_ = true;
  if (!*job) return refuse(job->error());
  job_ = (*job)->id;
  const auto told = events_.granted;
  if (told) told(std::move(**job));
}

void SlurmCommands::Hold::complained(const std::string& errors) {
  const auto words = read_salloc(errors);
  if (!words || granted_) return;
  job_ = words->job;
  if (!words->waits || std::exchange(waits_, true)) return;
  const auto told = events_.waits;
  if (told) told(words->job);
}

void SlurmCommands::Hold::ended(const exec::CommandEnd& end) {
  command_.reset();
  if (granted_) {
    const auto over = std::exchange(over_, {});
    if (over) over();
    return;
  }
  const auto words = read_salloc(end.errors);
  if (words && !words->given_back) events_.left(words->job);
  constexpr std::string_view kCancelled = "Job has been cancelled";
  if (words && end.errors.find(kCancelled) != end.errors.npos) {
    return refuse(say::slurm_job_was_lost(words->job, "CANCELLED"));
  }
  const auto status = status_of(end, "salloc");
  refuse(status ? say::slurm_gave_nothing(last_words(end.errors)) : status.error());
}

// Only once, and nothing after it.
void SlurmCommands::Hold::refuse(Error why) {
  const auto told = std::exchange(events_.refused, {});
  events_.granted = {};
  events_.waits = {};
  if (told) told(std::move(why));
}

// Not granted: salloc takes the request back when it is told to end.
void SlurmCommands::Hold::give_back() {
  if (command_ == nullptr) return;
  owner_.running_.insert(command_);
  command_->forget([&owner = owner_, alive = std::weak_ptr(owner_.lifetime_),
                    command = std::weak_ptr(command_), left = std::move(events_.left),
                    job = job_](const exec::CommandEnd& end) {
    if (alive.expired()) return;
    const auto words = read_salloc(end.errors);
    const auto& known = words ? words->job : job;
    // It says so before it does it: who was killed may not have come to that.
    const bool given_back = words && words->given_back && WIFEXITED(end.wait_status);
    if (!known.empty() && !given_back) left(known);
    owner.running_.erase(command.lock());
    owner.look_whether_settled();
  });
  command_->close_input();
  if (granted_) return command_->terminate_after(owner_.config_.timeout_ms);
  command_->terminate();
}

// ---- commands ----

SlurmCommands::SlurmCommands(asio::io_context& io, SlurmCommandsConfig config)
    : io_(io),
      config_(std::move(config)),
      environment_(environment_for_slurm()),
      settle_timer_(io) {}

SlurmCommands::~SlurmCommands() {
  for (const auto& command : running_) command->forget();
}

std::shared_ptr<exec::Command> SlurmCommands::run(std::vector<std::string> argv, OnEnd then) {
  auto command = std::make_shared<exec::Command>(io_);
  running_.insert(command);
  const auto done = [this, alive = std::weak_ptr(lifetime_), weak = std::weak_ptr(command),
                     then = std::move(then)](const Result<exec::CommandEnd>& end) {
    if (alive.expired()) return;
    questions_.erase(weak.lock());
    running_.erase(weak.lock());
    then(end);
    look_whether_settled();
  };
  const auto started = command->start(
      {.argv = std::move(argv), .environment = environment_, .timeout_ms = config_.timeout_ms},
      {.ended = done});
  // Not from inside of who asks.
  if (!started) asio::post(io_, [done, error = started.error()] { done(error); });
  return command;
}

void SlurmCommands::question(std::vector<std::string> argv, OnEnd then) {
  questions_.insert(run(std::move(argv), std::move(then)));
}

void SlurmCommands::order(std::vector<std::string> argv, Then<Status> then) {
  const auto program = argv.front();
  run(std::move(argv),
      [program, then = std::move(then)](const auto& end) { then(status_of(end, program)); });
}

void SlurmCommands::show(const std::string& job, Then<Result<SlurmJob>> then) {
  question({"scontrol", "--details", "--oneliner", "show", "job", job},
           [job, then = std::move(then)](const auto& end) {
             if (auto status = status_of(end, "scontrol"); !status) return then(status.error());
             auto read = parse_slurm_job(end->output);
             if (read && read->id != job) {
               return then(say::slurm_unreadable("job " + job, one_line(end->output)));
             }
             then(std::move(read));
           });
}

void SlurmCommands::list(Then<Result<std::vector<SlurmRow>>> then) {
  question({"squeue", "--noheader", "--states=all", fmt::format("--user={}", getuid()),
            fmt::format("--format={}", kSlurmRowFormat)},
           [then = std::move(then)](const auto& end) {
             if (auto status = status_of(end, "squeue"); !status) return then(status.error());
             then(parse_slurm_rows(end->output));
           });
}

std::unique_ptr<SlurmHold> SlurmCommands::allocate(const SlurmWish& wish,
                                                   SlurmHold::Events events) {
  auto hold = std::make_unique<Hold>(*this, std::move(events));
  hold->start(salloc_argv(wish, config_.salloc_args));
  return hold;
}

void SlurmCommands::resize(const std::string& job, std::span<const std::string> staying,
                           Then<Status> then) {
  order({"scontrol", "update", "JobId=" + job, "NodeList=" + join(staying, ",")}, std::move(then));
}

void SlurmCommands::prolong(const std::string& job, std::uint32_t minutes, Then<Status> then) {
  order({"scontrol", "update", "JobId=" + job, fmt::format("TimeLimit=+{}", minutes)},
        std::move(then));
}

void SlurmCommands::cancel(const std::string& job, const std::string& name, Then<Status> then) {
  order({"scancel", "--name=" + name, job}, std::move(then));
}

// ---- the end ----

// Nobody waits for what was only asked, and Slurm may be away.
void SlurmCommands::settle(std::uint32_t limit_ms, Then<bool> then) {
  for (const auto& command : questions_) command->terminate();
  settled_ = std::move(then);
  settle_timer_.expires_after(std::chrono::milliseconds(limit_ms));
  settle_timer_.async_wait([this, alive = std::weak_ptr(lifetime_)](const asio::error_code& error) {
    if (error || alive.expired()) return;
    const auto told = std::exchange(settled_, {});
    if (told) told(running_.empty());
  });
  look_whether_settled();
}

bool SlurmCommands::gives_back(pid_t pid) const {
  const auto is_it = [pid](const auto& one) { return one->pid() == pid; };
  return std::ranges::any_of(running_, is_it) || std::ranges::any_of(holds_, is_it);
}

void SlurmCommands::look_whether_settled() {
  if (!settled_ || !running_.empty()) return;
  settle_timer_.cancel();
  asio::post(io_, [alive = std::weak_ptr(lifetime_), told = std::exchange(settled_, {})] {
    if (!alive.expired()) told(true);
  });
}

}  // namespace tide::rm
