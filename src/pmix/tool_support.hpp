// Real tools that attach to the server of the test.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "pmix/test_support.hpp"

namespace tide::pmix::testing {

// What tools of this host take for its name.
inline std::string short_host_name() {
  std::string name(256, '\0');
  EXPECT_EQ(::gethostname(name.data(), name.size()), 0);
  name.resize(name.find('\0'));
  return name.substr(0, name.find('.'));
}

// Until somebody has connected to this port and sent something that was not read.
inline bool waits_for_answer(std::uint16_t port) {
  std::array<char, 8> hex{};
  std::snprintf(hex.data(), hex.size(), ":%04X ", static_cast<unsigned>(port));
  const auto deadline = std::chrono::steady_clock::now() + kLimit;
  while (std::chrono::steady_clock::now() < deadline) {
    std::ifstream table("/proc/net/tcp");
    for (std::string line; std::getline(table, line);) {
      std::istringstream words(line);
      std::string number, local, remote, state, queues;
      words >> number >> local >> remote >> state >> queues;
      const bool unread = queues.size() == 17 && queues.substr(9) != "00000000";
      if (state == "01" && unread && (local + " ").find(hex.data()) != std::string::npos)
        return true;
    }
    ::usleep(2000);
  }
  return false;
}

class ToolFixture : public ServerFixture {
 protected:
  // A server that tools can find, in a process of its own.
  void with_server(const std::function<void()>& body) { on_node(short_host_name(), body); }

  // The program with these words; it looks for servers below `directory` only.
  Client& start_tool(const std::vector<std::string>& words, const std::string& directory,
                     const std::string& input = "/dev/null",
                     const std::string& program = "pmix_tool") {
    std::vector<std::string> argv = {"/bin/sh", "-c",  "input=$1; shift; exec \"$@\" < \"$input\"",
                                     "sh",      input, testing::program(program)};
    argv.insert(argv.end(), words.begin(), words.end());
    ProcEnvironment environment;
    environment.required = {{"TMPDIR", directory}};
    const std::string output = outputs_.file("tool." + std::to_string(clients_.size()));
    clients_.push_back(std::make_unique<Client>(argv, environment, output));
    return *clients_.back();
  }
  [[nodiscard]] std::string rendezvous_file() const {
    return directory_.file("pmix." + node_ + ".tool." + std::to_string(::getpid()));
  }
  // The same, attached to the server of this test.
  Client& start_attached(std::vector<std::string> words, const std::string& input = "/dev/null") {
    words.insert(words.begin(), {"file", rendezvous_file()});
    return start_tool(words, directory_.path(), input);
  }
  bool run_until_ended(Client& client) {
    return run_until([&] { return client.ended(); });
  }
  // Takes every tool from now on.
  void accept_tools() {
    handler_.when_tool = [this](const ProcName& name, std::uint64_t ticket) {
      server_->name_tool(ticket, ok_status(), name);
    };
  }
};

}  // namespace tide::pmix::testing
