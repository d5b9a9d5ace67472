// A real server in the test program, and real clients that it starts.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "base/test_files.hpp"
#include "pmix/server.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace tide::pmix::testing {

inline constexpr auto kLimit = std::chrono::seconds(20);      // for one thing to happen
inline constexpr auto kTestLimit = std::chrono::seconds(60);  // for a whole test

using tide::testing::open_descriptors;
using tide::testing::read_text;
using tide::testing::TemporaryDirectory;
using tide::testing::write_text;

// Where the programs of tests/programs are: beside this one.
inline std::string program(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "programs" / name;
}

// A program of tests/programs with its output in a file. Killed when the test is over.
class Client {
 public:
  Client(const std::vector<std::string>& argv, const ProcEnvironment& environment,
         std::string output)
      : output_(std::move(output)) {
    std::map<std::string, std::string> variables;
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string text(*entry);
      variables[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
    }
    for (const auto& [name, value] : environment.defaults) variables.try_emplace(name, value);
    for (const auto& [name, value] : environment.required) variables[name] = value;
    std::vector<std::string> texts;
    for (const auto& [name, value] : variables) {
      texts.push_back(name);
      texts.back().append("=").append(value);
    }
    start(argv, texts);
  }
  ~Client() {
    if (ended()) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  [[nodiscard]] bool ended() {
    if (!collected_) collected_ = ::waitpid(pid_, &wait_status_, WNOHANG) == pid_;
    return collected_;
  }
  // 128 + the number of the signal that ended it.
  [[nodiscard]] int exit_status() const {
    return WIFEXITED(wait_status_) ? WEXITSTATUS(wait_status_) : 128 + WTERMSIG(wait_status_);
  }
  [[nodiscard]] std::string output() const { return read_text(output_); }
  void kill(int signal) const { ::kill(pid_, signal); }

 private:
  static std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (const auto& text : texts) result.push_back(const_cast<char*>(text.c_str()));
    result.push_back(nullptr);
    return result;
  }
  void start(const std::vector<std::string>& argv, const std::vector<std::string>& environment) {
    posix_spawn_file_actions_t actions{};
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, 1, output_.c_str(), O_CREAT | O_WRONLY | O_TRUNC,
                                       0600);
    ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
    EXPECT_EQ(::posix_spawn(&pid_, argv[0].c_str(), &actions, nullptr, pointers(argv).data(),
                            pointers(environment).data()),
              0)
        << argv[0];
    ::posix_spawn_file_actions_destroy(&actions);
  }

  std::string output_;
  pid_t pid_ = -1;
  int wait_status_ = 0;
  bool collected_ = false;
};

// Keeps what it is told. Questions are answered by what the test puts here, or stay open.
class RecordingHandler : public Handler {
 public:
  struct Fence {
    std::vector<ProcName> participants;
    std::string data;
    bool collect;
    std::uint32_t timeout_s;
    bool broken;
    std::uint64_t ticket;
  };
  struct Modex {
    ProcName whose;
    std::uint32_t timeout_s;
    std::uint64_t ticket;
  };
  struct Abort {
    ProcName who;
    int status;
    std::string message;
    std::vector<ProcName> whom;
    std::uint64_t ticket;
  };

  struct Collective {
    wire::CollectiveId::Kind kind;
    std::string name;
    std::vector<ProcName> participants;
    std::string data;
    std::uint32_t timeout_s;
    bool broken;
    std::uint64_t ticket;
  };
  struct Request {
    wire::ServiceRequest request;
    std::string data;
    std::uint64_t ticket;
  };
  struct Tool {
    std::optional<ProcName> wish;
    std::uint64_t ticket;
  };

  void on_client_connected(const ProcName& proc) override { connected.push_back(proc); }
  void on_client_finalized(const ProcName& proc) override { finalized.push_back(proc); }
  void on_client_lost(const ProcName& proc) override { lost.push_back(proc); }
  void on_abort(const ProcName& who, int status, const std::string& message,
                std::vector<ProcName> whom, std::uint64_t ticket) override {
    aborts.push_back({who, status, message, std::move(whom), ticket});
  }
  void on_fence(std::vector<ProcName> participants, std::string data, bool collect,
                std::uint32_t timeout_s, bool broken, std::uint64_t ticket) override {
    fences.push_back(
        {std::move(participants), std::move(data), collect, timeout_s, broken, ticket});
  }
  void on_modex(const ProcName& whose, std::uint32_t timeout_s, std::uint64_t ticket) override {
    modexes.push_back({whose, timeout_s, ticket});
  }
  void on_collective(wire::CollectiveId::Kind kind, std::string name,
                     std::vector<ProcName> participants, std::string data, std::uint32_t timeout_s,
                     bool broken, std::uint64_t ticket) override {
    collectives.push_back({kind, std::move(name), std::move(participants), std::move(data),
                           timeout_s, broken, ticket});
  }
  void on_request(wire::ServiceRequest request, std::string data, std::uint64_t ticket) override {
    requests.push_back({std::move(request), std::move(data), ticket});
    if (when_request) when_request(requests.back());
  }
  void on_event(wire::EventNotice notice) override { events.push_back(std::move(notice)); }
  void on_tool(const std::optional<ProcName>& wish, std::uint64_t ticket) override {
    tools.push_back({wish, ticket});
    if (when_tool && wish) when_tool(*wish, ticket);
  }
  void on_tool_gone(const ProcName& tool) override { gone_tools.push_back(tool); }

  std::vector<ProcName> connected;
  std::vector<ProcName> finalized;
  std::vector<ProcName> lost;
  std::vector<Abort> aborts;
  std::vector<Fence> fences;
  std::vector<Modex> modexes;
  std::vector<Collective> collectives;
  std::vector<Request> requests;
  std::vector<wire::EventNotice> events;
  std::vector<Tool> tools;
  std::vector<ProcName> gone_tools;
  std::function<void(const ProcName& name, std::uint64_t ticket)> when_tool;
  std::function<void(const Request& request)> when_request;
};

// libpmix can be started once per process, so every test is one: a child in which the server runs.
class ServerFixture : public ::testing::Test {
 protected:
  // Runs `body` in a process of its own, with a server for `node`.
  void on_node(const std::string& node, const std::function<void()>& body) {
    node_ = node;
    alone([&] {
      start_server();
      if (!HasFatalFailure()) body();
      clients_.clear();
      server_.reset();
    });
  }
  // The same without a server. What the body changes is seen there only.
  static void alone(const std::function<void()>& body) {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::setpgid(0, 0);
      body();
      std::fflush(nullptr);
      ::_exit(HasFailure() ? 1 : 0);
    }
    int status = -1;
    const auto deadline = std::chrono::steady_clock::now() + kTestLimit;
    while (::waitpid(child, &status, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() > deadline) ::kill(child, SIGABRT);
      ::usleep(1000);
    }
    ::kill(-child, SIGKILL);  // clients that it had no time to end
    EXPECT_EQ(status, 0) << "the process of this test ended badly";
  }

  ServerConfig config() {
    ServerConfig config;
    config.nspace = "dvm-test";
    config.rank = 1;
    config.node = node_;
    config.directory = own_directory_.empty() ? directory_.path() : own_directory_;
    config.shared_host = shared_host_;
    config.hwloc_topology = hwloc_topology_;
    return config;
  }
  void start_server() {
    auto server = Server::start(config(), io_, handler_);
    ASSERT_TRUE(server.ok()) << server.error().message;
    server_ = std::move(server).value();
  }

  // One app with its first processes on v1 and, if any, more on v2.
  JobDescription job(const std::string& nspace, std::uint32_t on_v1, std::uint32_t on_v2 = 0) {
    JobDescription job;
    job.nspace = nspace;
    job.apps.push_back({0, on_v1 + on_v2, {"program", "argument"}, "/"});
    job.nodes.push_back({"v1", {}});
    if (on_v2 > 0) job.nodes.push_back({"v2", {}});
    for (std::uint32_t rank = 0; rank < on_v1 + on_v2; ++rank) {
      job.nodes[rank < on_v1 ? 0 : 1].ranks.push_back(rank);
    }
    job.this_node = node_;
    job.universe_size = 8;
    job.session_directory = session_.path();
    return job;
  }
  Status register_job(const JobDescription& job) {
    Status result = Error{ErrorCode::kTimedOut, "no answer"};
    bool answered = false;
    server_->register_job(job, [&](const Status& status) {
      result = status;
      answered = true;
    });
    EXPECT_FALSE(answered) << "from inside the call";
    EXPECT_TRUE(run_until([&] { return answered; }));
    return result;
  }
  Client& start(const ProcName& proc, std::vector<std::string> argv) {
    argv[0] = testing::program(argv[0]);
    auto environment = server_->environment_of(proc);
    EXPECT_TRUE(environment.ok()) << environment.error().message;
    const std::string output =
        outputs_.file("output." + node_ + "." + std::to_string(clients_.size()));
    clients_.push_back(std::make_unique<Client>(argv, *environment, output));
    return *clients_.back();
  }
  void start_all(const JobDescription& job, const std::vector<std::string>& argv) {
    for (const auto& node : job.nodes) {
      if (node.name != job.this_node) continue;
      for (const std::uint32_t rank : node.ranks) start({job.nspace, rank}, argv);
    }
  }
  // True when all clients have ended.
  bool all_ended() {
    bool all = true;
    for (auto& client : clients_) all = client->ended() && all;
    return all;
  }
  // Works on what comes in until it is so; false when it takes too long. The ends of clients come
  // without an event, so this looks every few milliseconds.
  template <class Condition>
  bool run_until(Condition condition, std::chrono::milliseconds limit = kLimit) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      io_.run_one_for(std::chrono::milliseconds(2));
    }
    return true;
  }
  // What is wrong with clients that should have ended well.
  std::string complaints() {
    std::string text;
    for (auto& client : clients_) {
      if (!client->ended())
        text += "still runs: " + client->output();
      else if (client->exit_status() != 0)
        text += "status " + std::to_string(client->exit_status()) + ": " + client->output();
    }
    return text;
  }

  std::string node_;
  bool shared_host_ = false;
  void* hwloc_topology_ = nullptr;
  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> work_ = asio::make_work_guard(io_);
  TemporaryDirectory directory_;  // the server's
  std::string own_directory_;     // instead, where several need one
  TemporaryDirectory session_;    // the job's: Open MPI has libpmix remove what is in it
  TemporaryDirectory outputs_;
  RecordingHandler handler_;
  std::unique_ptr<Server> server_;
  std::vector<std::unique_ptr<Client>> clients_;
};

}  // namespace tide::pmix::testing
