// Stands in for prted in the tests of the launcher. As a warden it is the real one; as a daemon it
// runs the shell script that it is given in place of the blob. A node called `deaf` reads nothing.
// As a task of a step it finds its part by the name of the machine that FAKE_MACHINE names, and
// says that it has joined; what it was told then is in the file FAKE_MACHINE, and how it ended.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>

#include "exec/warden.hpp"
#include "launch/daemon_blob.hpp"
#include "launch/remote_session.hpp"
#include "launch/step_words.hpp"

namespace {

constexpr std::size_t kLongestScript = 100'000;

int run_daemon(std::string_view node) {
  if (node == "deaf") return ::pause();
  const std::string blob(std::istreambuf_iterator<char>(std::cin), {});
  if (blob.size() > kLongestScript) {
    std::printf("a blob of %zu bytes\n", blob.size());
    return 0;
  }
  ::execl("/bin/sh", "sh", "-c", blob.c_str(), nullptr);
  return 127;
}

std::string read_bytes(std::size_t count) {
  std::string out(count, '\0');
  std::cin.read(out.data(), static_cast<std::streamsize>(count));
  return out;
}

int run_step(const std::string& machine) {
  using namespace tide::launch;
  tide::wire::StepBlob step;
  const bool parsed = step.ParseFromString(read_bytes(blob_bytes(read_bytes(kBlobHeaderBytes))));
  auto part = part_of(step, {machine});
  if (!parsed || !part) {
    std::cerr << "prted: " << (parsed ? part.error().message : "no blob") << std::endl;
    return kRemoteFailed;
  }
  const tide::Rank rank(part->rank());
  std::cout << step_greeting_text(rank, {kRemoteProtocol, "0.1"})
            << step_joined_text(rank, ::getpid()) << std::flush;
  std::string how = "cut";
  for (std::string line; std::getline(std::cin, line);) {
    if (end_order_of(line) != rank) continue;
    how = "ordered";
    break;
  }
  std::ofstream(machine) << part->node() << ' ' << part->key() << ' ' << how << std::endl;
  std::cout << step_ended_text(rank, 0) << std::flush;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::string_view mode = argv[1];
  const char* const machine = std::getenv("FAKE_MACHINE");
  if (mode == "--step") return run_step(machine == nullptr ? "" : machine);
  if (argc < 3) return 2;
  if (mode == "--warden") return tide::exec::run_warden(std::atoi(argv[2]), "");
  if (mode == "--node") {
    for (int i = 3; i < argc; ++i) std::printf("extra %s\n", argv[i]);
    std::fflush(stdout);
    return run_daemon(argv[2]);
  }
  return 2;
}
