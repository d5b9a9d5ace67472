// A Slurm that is asked by nobody but a test, a clock that stands still, and a DVM that notes what
// it hears.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rm/slurm_manager.hpp"

namespace tide::rm::testing {

using Names = std::vector<std::string>;

inline std::vector<Host> hosts_of(const Names& names) {
  std::vector<Host> out;
  for (const auto& name : names) out.push_back({name, "", 4, 0});
  return out;
}

inline hosts::HostWord word(const std::string& name, std::uint32_t slots = 0) {
  hosts::HostWord out;
  out.name = name;
  out.slots = slots;
  return out;
}

// Answers come when run() is called, and say what is so by then.
class FakeSlurm final : public SlurmControl {
 public:
  struct Request {
    SlurmWish wish{};
    SlurmHold::Events events{};
    std::function<void()> over{};
    std::string job{};     // once it is granted
    bool is_held = false;  // … and not dropped
  };

  std::map<std::string, SlurmJob> jobs{};
  std::map<std::string, std::string> reasons{};       // of jobs that wait
  std::set<std::string> unlisted{};                   // not in lists, or only not any more
  std::map<std::string, SlurmLife> listed_as{};       // what lists say of them, whatever is so
  std::map<std::string, std::deque<Error>> errors{};  // by "show", "list" …: of the next ones
  bool shows_late = false;  // what is shown is as of the question, and kept until late() is called
  std::vector<std::string> calls{};
  std::vector<std::shared_ptr<Request>> requests{};
  std::function<void(bool)> settled{};

  void run() {
    while (!answers_.empty()) {
      const auto answer = std::move(answers_.front());
      answers_.pop_front();
      answer();
    }
  }
  void late() {
    for (const auto& answer : std::exchange(late_, {})) answer();
  }
  // What was asked since the last time.
  std::vector<std::string> asked() { return std::exchange(calls, {}); }

  void queue(std::size_t number, const std::string& job) {
    jobs[job] = {.id = job, .life = SlurmLife::kWaits, .state = "PENDING"};
    requests.at(number)->events.waits(job);
  }
  // Slurm knows when it ends; who holds it does not.
  void grant(std::size_t number, SlurmJob job) {
    const auto request = requests.at(number);
    request->job = job.id;
    jobs[job.id] = job;
    job.ends_s.reset();
    const auto told = request->events.granted;
    told(job);
  }
  void refuse(std::size_t number, Error why) {
    const auto told = requests.at(number)->events.refused;
    told(std::move(why));
  }
  // It ends, and who held it hears of it.
  void end(const std::string& job, const std::string& state) {
    jobs.at(job).life = SlurmLife::kOver;
    jobs.at(job).state = state;
    for (const auto& request : requests) {
      const auto told = request->over;
      if (request->job == job && told) told();
    }
  }

  void show(const std::string& job, Then<Result<SlurmJob>> then) override {
    calls.push_back("show " + job);
    if (shows_late) {
      late_.emplace_back([shown = jobs.at(job), then = std::move(then)] { then(shown); });
      return;
    }
    answers_.emplace_back([this, job, then = std::move(then)] {
      if (const auto error = next_error("show")) return then(*error);
      if (!jobs.contains(job)) return then(Error{ErrorCode::kNotFound, "Invalid job id specified"});
      then(jobs.at(job));
    });
  }
  void list(Then<Result<std::vector<SlurmRow>>> then) override {
    calls.emplace_back("list");
    answers_.emplace_back([this, then = std::move(then)] {
      if (const auto error = next_error("list")) return then(*error);
      then(rows());
    });
  }
  std::unique_ptr<SlurmHold> allocate(const SlurmWish& wish, SlurmHold::Events events) override {
    calls.push_back(fmt::format("allocate {}", wish.count));
    requests.push_back(std::make_shared<Request>(
        Request{.wish = wish, .events = std::move(events), .is_held = true}));
    return std::make_unique<Hold>(*this, requests.back());
  }
  void resize(const std::string& job, std::span<const std::string> staying,
              Then<Status> then) override {
    calls.push_back(fmt::format("resize {} to {}", job, fmt::join(staying, ",")));
    const std::set<std::string> kept(staying.begin(), staying.end());
    order("resize", job, std::move(then), [kept](SlurmJob& found) {
      std::erase_if(found.nodes, [&kept](const Host& host) { return !kept.contains(host.name); });
    });
  }
  void prolong(const std::string& job, std::uint32_t minutes, Then<Status> then) override {
    calls.push_back(fmt::format("prolong {} by {}", job, minutes));
    order("prolong", job, std::move(then), [minutes](SlurmJob& found) {
      found.ends_s = found.ends_s.value_or(0) + std::uint64_t{60} * minutes;
    });
  }
  void cancel(const std::string& job, const std::string& name, Then<Status> then) override {
    calls.push_back(fmt::format("cancel {} {}", job, name));
    order("cancel", job, std::move(then), [](SlurmJob& found) { found.life = SlurmLife::kOver; });
  }
  void settle(std::uint32_t limit_ms, Then<bool> then) override {
    calls.push_back(fmt::format("settle {}", limit_ms));
    settled = std::move(then);
  }
  [[nodiscard]] bool gives_back(pid_t /*pid*/) const override { return false; }

 private:
  class Hold final : public SlurmHold {
   public:
    Hold(FakeSlurm& slurm, std::shared_ptr<Request> request)
        : slurm_(slurm), request_(std::move(request)) {}
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    Hold(Hold&&) = delete;
    Hold& operator=(Hold&&) = delete;
    ~Hold() override {
      request_->is_held = false;
      request_->over = {};
      slurm_.jobs.erase(request_->job);
    }
    void on_over(std::function<void()> then) override { request_->over = std::move(then); }

   private:
    FakeSlurm& slurm_;
    std::shared_ptr<Request> request_;
  };

  std::optional<Error> next_error(const std::string& command) {
    auto& waiting = errors[command];
    if (waiting.empty()) return std::nullopt;
    auto out = std::move(waiting.front());
    waiting.pop_front();
    return out;
  }
  void order(const std::string& command, const std::string& job, Then<Status> then,
             std::function<void(SlurmJob&)> change) {
    answers_.emplace_back([this, command, job, then = std::move(then), change = std::move(change)] {
      if (const auto error = next_error(command)) return then(*error);
      if (!jobs.contains(job)) return then(Error{ErrorCode::kNotFound, "Invalid job id specified"});
      change(jobs.at(job));
      then(ok_status());
    });
  }
  std::vector<SlurmRow> rows() {
    std::vector<SlurmRow> out;
    for (const auto& [id, job] : jobs) {
      if (unlisted.contains(id)) continue;
      SlurmRow row{.id = id, .life = job.life, .state = job.state, .ends_s = job.ends_s};
      row.reason = reasons[id];
      if (listed_as.contains(id)) row.life = listed_as.at(id);
      for (const auto& host : job.nodes) row.nodes.push_back(host.name);
      out.push_back(std::move(row));
    }
    return out;
  }

  std::deque<std::function<void()>> answers_;
  std::vector<std::function<void()>> late_;
};

// Notes what it hears, a line each.
class Notes final : public SlurmListener {
 public:
  std::set<std::string> known() override { return known_nodes; }
  void on_granted(std::uint32_t ask, Grant grant) override {
    add(fmt::format("granted {}: {}", ask, text_of(grant)));
  }
  void on_time_granted(std::uint32_t ask, std::uint32_t time_ms, bool cut) override {
    add(fmt::format("time {}: {}{}", ask, time_ms, cut ? " cut" : ""));
  }
  void on_refused(std::uint32_t ask, Error why) override {
    add(fmt::format("refused {}: {}", ask, why.message));
  }
  void on_queued(std::uint32_t ask, std::string text) override {
    add(fmt::format("queued {}: {}", ask, text));
  }
  void on_pushed(Grant grant) override { add("pushed " + text_of(grant)); }
  void on_reclaimed(std::vector<std::string> nodes, std::string reason) override {
    add(fmt::format("reclaimed {}: {}", fmt::join(nodes, " "), reason));
  }
  void on_lease_moved(std::vector<std::string> nodes, std::uint32_t time_ms) override {
    add(fmt::format("moved {} to {}", fmt::join(nodes, " "), time_ms));
  }
  void on_returned(std::uint32_t number, core::ReturnVerdict verdict, std::string why) override {
    last_why = std::move(why);
    constexpr std::array kNames = {"taken", "declined", "deferred", "failed"};
    add(fmt::format("returned {}: {}", number, kNames.at(static_cast<std::size_t>(verdict))));
  }
  void on_parent_over(std::string reason) override { add("parent over: " + reason); }
  void on_parent_limit(std::uint64_t left_ms) override { parent_left_ms = left_ms; }
  void on_note(std::string text) override { add("note: " + text); }

  std::vector<std::string> take() { return std::exchange(lines_, {}); }
  std::vector<Host> last_hosts{};
  std::string last_why{};            // of what was not taken back
  std::uint64_t parent_left_ms = 0;  // as it was told last
  std::set<std::string> known_nodes{"n1", "n2"};

 private:
  void add(std::string line) { lines_.push_back(std::move(line)); }
  std::string text_of(const Grant& grant) {
    last_hosts = grant.hosts;
    std::string out;
    for (const auto& host : grant.hosts) out += host.name + " ";
    return out + fmt::format("for {}{}", grant.lease.time_ms, grant.cut ? " cut" : "");
  }

  std::vector<std::string> lines_;
};

// In job 17 the nodes n1 to n4, of which the DVM has the first two; an hour is left, less the three
// seconds by which nodes are to be gone.
class SlurmManagerTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kStartS = 1'000'000;
  static constexpr std::uint64_t kEndS = kStartS + 3'600;
  static constexpr std::uint32_t kLeftMs = 3'597'000;

  SlurmManagerTest() { slurm_.jobs["17"] = parent(); }

  static SlurmJob job(const std::string& id, const Names& names,
                      std::optional<std::uint64_t> ends_s = kEndS - 60) {
    return {.id = id,
            .life = SlurmLife::kRuns,
            .state = "RUNNING",
            .nodes = hosts_of(names),
            .ends_s = ends_s};
  }
  static SlurmJob parent() {
    auto out = job("17", {"n1", "n2", "n3", "n4"}, kEndS);
    out.partition = "all";
    out.account = "physics";
    out.qos = "normal";
    return out;
  }

  SlurmManager& manager() {
    if (!manager_) {
      manager_.emplace(slurm_,
                       SlurmClock{.now_ms = [this] { return now_ms_; },
                                  .after =
                                      [this](std::uint32_t after_ms, std::function<void()> then) {
                                        timers_.emplace(now_ms_ + after_ms, std::move(then));
                                      }},
                       notes_, SlurmBook("17", hosts_of({"n1", "n2", "n3", "n4"}), 2),
                       SlurmSettings{.job_name = "tide-x"});
    }
    return *manager_;
  }
  // Knows its parent, and has said all that there is to say.
  void start() {
    manager().start();
    slurm_.run();
    EXPECT_THAT(slurm_.asked(), ::testing::ElementsAre("show 17"));
    EXPECT_THAT(notes_.take(), ::testing::IsEmpty());
  }
  void ask(std::uint32_t number, std::uint32_t count,
           const std::vector<hosts::HostWord>& words = {}, core::Lease wish = {}) {
    manager().ask(core::AskForNodes{.ask = number, .count = count, .hosts = {}, .wish = wish},
                  words, {}, known_);
  }
  // Job 18 with these nodes, granted to ask 1; all started.
  void with_child(const Names& names, std::optional<std::uint64_t> ends_s = kEndS - 60) {
    start();
    ask(1, static_cast<std::uint32_t>(names.size()) + 2);
    slurm_.grant(0, job("18", names, ends_s));
    slurm_.run();
    for (const auto* node : {"n3", "n4"}) known_.insert(node);
    known_.insert(names.begin(), names.end());
    manager().note_started(Names(known_.begin(), known_.end()));
    EXPECT_THAT(notes_.take(), ::testing::SizeIs(1));
    EXPECT_THAT(slurm_.asked(),
                ::testing::ElementsAre(fmt::format("allocate {}", names.size()), "show 18"));
  }
  // The salloc of job 18 is killed: the job runs on.
  void lose_holder() {
    slurm_.requests.at(0)->job.clear();
    slurm_.requests.at(0)->over();
    slurm_.run();
  }
  void give_back(std::uint32_t number, const Names& names, bool never_joined = false) {
    for (const auto& name : names) known_.erase(name);
    manager().give_back(
        {.number = number, .manager = "slurm", .nodes = names, .never_joined = never_joined});
  }
  void ask_time(std::uint32_t number, const Names& nodes, std::uint32_t time_ms) {
    manager().ask(
        core::AskForTime{.ask = number, .managers = {"slurm"}, .time_ms = time_ms, .nodes = nodes});
    slurm_.run();
  }
  // Time goes by, and what was asked meanwhile is answered at once.
  void pass(std::uint64_t ms) {
    const auto until_ms = now_ms_ + ms;
    while (!timers_.empty() && timers_.begin()->first <= until_ms) {
      auto next = timers_.extract(timers_.begin());
      now_ms_ = next.key();
      next.mapped()();
      slurm_.run();
    }
    now_ms_ = until_ms;
  }
  // The next look, however far away it is.
  void look() {
    pass(60'000);
    slurm_.asked();
  }

  FakeSlurm slurm_;
  Notes notes_;
  std::uint64_t now_ms_ = kStartS * 1'000;
  std::multimap<std::uint64_t, std::function<void()>> timers_;
  std::set<std::string>& known_ = notes_.known_nodes;
  std::optional<SlurmManager> manager_;
};

}  // namespace tide::rm::testing
