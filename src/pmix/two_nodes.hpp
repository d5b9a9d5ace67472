// Two servers at work at the same time, each in a process of its own, with processes of the same
// jobs on both. What the daemons do over the network is done here with files.
#pragma once

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "pmix/server.hpp"
#include "pmix/test_support.hpp"

namespace tide::pmix::testing {

inline constexpr std::uint64_t kContext = 42;  // of every group

class TwoNodes : public ServerFixture {
 protected:
  struct Run {
    JobDescription job;
    std::vector<std::string> argv;
  };

  void run(const JobDescription& job, const std::vector<std::string>& argv) {
    run_all({{job, argv}});
  }
  // Both servers know all jobs, as if all had to do with each other.
  void run_all(const std::vector<Run>& runs) {
    runs_ = runs;
    shared_host_ = true;
    std::fflush(nullptr);
    const pid_t other = ::fork();
    ASSERT_GE(other, 0);
    run_node(other == 0 ? "v2" : "v1");
    if (other == 0) ::_exit(HasFailure() ? 1 : 0);
    int status = -1;
    EXPECT_EQ(::waitpid(other, &status, 0), other);
    EXPECT_EQ(status, 0) << "v2 failed";
  }
  // What a process printed, after the end.
  [[nodiscard]] std::string output_of(const ProcName& proc) const {
    return read_text(session_.file("output." + proc.nspace + "." + std::to_string(proc.rank)));
  }

  std::vector<Run> runs_;

 private:
  void run_node(const std::string& node) {
    // Each its own, as virtual nodes have them.
    for (Run& run : runs_) {
      run.job.this_node = node;
      run.job.session_directory = session_.file(run.job.nspace + "." + node);
      std::filesystem::create_directory(run.job.session_directory);
    }
    own_directory_ = directory_.file(node);
    std::filesystem::create_directory(own_directory_);
    std::filesystem::permissions(own_directory_, std::filesystem::perms::owner_all);
    on_node(node, [&] {
      for (const Run& run : runs_) ASSERT_TRUE(register_job(run.job).ok());
      const std::vector<ProcName> started = start_jobs();
      ASSERT_TRUE(run_until([&] {
        exchange();
        return all_ended();
      })) << complaints();
      EXPECT_EQ(complaints(), "");
      for (std::size_t index = 0; index < started.size(); ++index) {
        const ProcName& proc = started[index];
        write_text(session_.file("output." + proc.nspace + "." + std::to_string(proc.rank)),
                   clients_[index]->output());
      }
      // The other one may still want something of here.
      publish("over", "");
      EXPECT_TRUE(run_until([&] {
        exchange();
        return std::filesystem::exists(file("over", other_node()));
      }));
    });
  }
  std::vector<ProcName> start_jobs() {
    std::vector<ProcName> started;
    for (const Run& run : runs_) {
      start_all(run.job, run.argv);
      for (const auto& node : run.job.nodes) {
        if (node.name != node_) continue;
        for (const std::uint32_t rank : node.ranks) started.push_back({run.job.nspace, rank});
      }
    }
    return started;
  }

  [[nodiscard]] std::string other_node() const { return node_ == "v1" ? "v2" : "v1"; }
  [[nodiscard]] std::string file(const std::string& name, const std::string& node) const {
    return session_.file(name + "." + node);
  }
  void publish(const std::string& name, const std::string& text) const {
    write_text(file(name, node_) + ".new", text);
    std::filesystem::rename(file(name, node_) + ".new", file(name, node_));
  }
  [[nodiscard]] bool is_on(const ProcName& proc, const std::string& node) const {
    return std::any_of(runs_.begin(), runs_.end(), [&](const Run& run) {
      const auto hosts = [&](const JobDescription::Node& one) {
        const bool named =
            std::find(one.ranks.begin(), one.ranks.end(), proc.rank) != one.ranks.end();
        return one.name == node && (proc.rank == kAllRanks || named);
      };
      return run.job.nspace == proc.nspace &&
             std::any_of(run.job.nodes.begin(), run.job.nodes.end(), hosts);
    });
  }

  void exchange() {
    for (; entered_ < handler_.fences.size(); ++entered_) {
      publish("fence" + std::to_string(entered_), handler_.fences[entered_].data);
    }
    while (left_ < entered_) {
      const std::string theirs = file("fence" + std::to_string(left_), other_node());
      if (!std::filesystem::exists(theirs)) break;
      const auto& fence = handler_.fences[left_++];
      server_->collective_done(fence.ticket, ok_status(), fence.data + read_text(theirs));
    }
    exchange_modex();
    exchange_collectives();
    exchange_events();
  }

  void exchange_modex() {
    for (; asked_ < handler_.modexes.size(); ++asked_) {
      publish("ask" + name_of(handler_.modexes[asked_].whose), "");
    }
    for (const auto& modex : handler_.modexes) {
      const std::string answer = file("put" + name_of(modex.whose), other_node());
      if (!std::filesystem::exists(answer)) continue;
      server_->modex_done(modex.ticket, ok_status(), read_text(answer));  // again: nothing happens
    }
    for (const Run& run : runs_) {
      for (std::uint32_t rank = 0; rank < 8; ++rank) answer_modex({run.job.nspace, rank});
    }
  }
  void answer_modex(const ProcName& proc) {
    const std::string name = name_of(proc);
    if (fetched_.contains(name) || !std::filesystem::exists(file("ask" + name, other_node()))) {
      return;
    }
    fetched_.insert(name);
    const auto what =
        is_on({proc.nspace, kAllRanks}, other_node()) ? Modex::kPut : Modex::kPutAndKeys;
    server_->fetch_modex(proc, what, [this, name](const Result<std::string>& data) {
      ASSERT_TRUE(data.ok()) << data.error().message;
      publish("put" + name, *data);
    });
  }
  static std::string name_of(const ProcName& proc) {
    return proc.nspace + "." + std::to_string(proc.rank);
  }

  // The same on both nodes: what it is, and how many of that came before.
  struct Open {
    std::string name;
    bool alone;
    RecordingHandler::Collective collective;
  };
  void exchange_collectives() {
    for (auto& one : handler_.collectives) {
      std::string name = "collective" + std::to_string(one.kind) + one.name;
      std::sort(one.participants.begin(), one.participants.end());
      bool alone = true;
      for (const ProcName& proc : one.participants) {
        name += "+" + name_of(proc);
        alone = alone && !is_on(proc, other_node());
      }
      name += "#" + std::to_string(++numbers_[name]);
      if (!alone) publish(name, one.data);
      open_.push_back({name, alone, one});
    }
    handler_.collectives.clear();
    std::erase_if(open_, [this](const Open& open) { return finish(open); });
  }
  bool finish(const Open& open) {
    const std::string theirs = file(open.name, other_node());
    if (!open.alone && !std::filesystem::exists(theirs)) return false;
    const std::string other = open.alone ? "" : read_text(theirs);
    const std::string& own = open.collective.data;
    server_->collective_done(open.collective.ticket, ok_status(),
                             node_ == "v1" ? own + other : other + own, kContext);
    return true;
  }

  void exchange_events() {
    for (; told_ < handler_.events.size(); ++told_) {
      publish("event" + std::to_string(told_), handler_.events[told_].SerializeAsString());
    }
    for (;; ++heard_) {
      const std::string theirs = file("event" + std::to_string(heard_), other_node());
      if (!std::filesystem::exists(theirs)) break;
      wire::EventNotice notice;
      ASSERT_TRUE(notice.ParseFromString(read_text(theirs)));
      server_->notify(notice);
    }
  }

  std::size_t entered_ = 0;
  std::size_t left_ = 0;
  std::size_t asked_ = 0;
  std::set<std::string> fetched_;
  std::map<std::string, int> numbers_;
  std::vector<Open> open_;
  std::size_t told_ = 0;
  std::size_t heard_ = 0;
};

}  // namespace tide::pmix::testing
