#include "exec/process_spawner.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <string>
#include <vector>

#include "exec/descriptor_limit.hpp"
#include "exec/test_support.hpp"

namespace tide::exec {
namespace {

using ::testing::HasSubstr;
using testing::open_descriptors;
using testing::read_text;
using ::testing::StartsWith;
using testing::TemporaryDirectory;
using testing::write_text;

class ProcessSpawnerTest : public ::testing::Test {
 protected:
  Result<SpawnedProcess> spawn(const std::vector<std::string>& argv,
                               const std::string& working_directory = "",
                               const Environment& environment = current_environment()) {
    const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    const UniqueFd out(
        ::open(output_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR));
    const EnvironmentBlock block(environment);
    return spawner_.spawn(SpawnRequest{.argv = argv,
                                       .environment = block,
                                       .working_directory = working_directory,
                                       .stdio = {null.get(), out.get(), out.get()},
                                       .stop_on_exec = stop_on_exec_});
  }
  // Runs it to its end and returns what it wrote.
  std::string run(const std::vector<std::string>& argv, const std::string& working_directory = "",
                  const Environment& environment = current_environment()) {
    const auto process = spawn(argv, working_directory, environment);
    if (!process) return process.error().message;
    EXPECT_EQ(::waitpid(process->pid, &status_, 0), process->pid);
    return read_text(output_);
  }
  Error error_of(const std::vector<std::string>& argv, const std::string& working_directory = "",
                 const Environment& environment = current_environment()) {
    const auto process = spawn(argv, working_directory, environment);
    EXPECT_FALSE(process.ok());
    // The child that failed was reaped: there is none left.
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
    return process ? Error{} : process.error();
  }

  TemporaryDirectory directory_;
  std::string output_ = directory_.file("output");
  ProcessSpawner spawner_{"v3", std::nullopt};
  int status_ = 0;
  bool stop_on_exec_ = false;
};

TEST_F(ProcessSpawnerTest, RunsAProgramWithItsArguments) {
  EXPECT_EQ(run({"sh", "-c", "echo \"$0|$1\"; exit 3", "zero", "one two"}), "zero|one two\n");
  EXPECT_EQ(WEXITSTATUS(status_), 3);
}

TEST_F(ProcessSpawnerTest, APathIsRelativeToTheWorkingDirectory) {
  write_text(directory_.file("hello"), "#!/bin/sh\npwd\n", true);
  EXPECT_EQ(run({"./hello"}, directory_.path()), directory_.path() + "\n");
  EXPECT_EQ(run({"hello"}, directory_.path(), {"PATH=/nowhere::/bin"}), directory_.path() + "\n");
}

TEST_F(ProcessSpawnerTest, TheSearchPathIsThatOfTheJob) {
  write_text(directory_.file("only-here"), "#!/bin/sh\necho found\n", true);
  EXPECT_EQ(run({"only-here"}, "", {"PATH=/nowhere:" + directory_.path() + ":/bin"}), "found\n");
  const Error error = error_of({"only-here"}, "", {"PATH=/bin:/nowhere"});
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_THAT(
      error.message,
      StartsWith(
          "cannot start 'only-here' on node v3: not found in PATH (/bin:/nowhere)\n  try: "));
}

TEST_F(ProcessSpawnerTest, AMissingProgramIsNamed) {
  const Error error = error_of({"/no/such/program"});
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_THAT(
      error.message,
      StartsWith("cannot start '/no/such/program' on node v3: No such file or directory\n"));
}

TEST_F(ProcessSpawnerTest, AMissingWorkingDirectoryIsNamed) {
  for (const std::string program : {"true", "./true", "no-such-program"}) {
    const Error error = error_of({program}, "/no/such/directory");
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.message,
                HasSubstr("cannot change to working directory '/no/such/directory': No such file"));
  }
}

TEST_F(ProcessSpawnerTest, WhatCannotBeExecutedIsExplained) {
  write_text(directory_.file("plain"), "text\n");
  write_text(directory_.file("no-shebang"), "echo hello\n", true);
  write_text(directory_.file("bad-shebang"), "#!/no/such/interpreter\n", true);
  std::filesystem::create_directory(directory_.file("sub"));
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"plain", "plain is not an executable file"},
      {"sub", "sub is a directory"},
      {"no-shebang", "neither a program for this machine nor a script with a #! line"},
      {"bad-shebang", "interpreter"},
  };
  for (const auto& [name, words] : cases) {
    for (const bool by_path : {true, false}) {
      const Environment environment = {"PATH=" + directory_.path() + ":/nowhere"};
      const Error error = error_of({by_path ? "./" + name : name}, directory_.path(), environment);
      EXPECT_EQ(error.code, ErrorCode::kPermissionDenied) << name;
      EXPECT_THAT(error.message, HasSubstr(words));
      EXPECT_THAT(error.message, StartsWith("cannot start '"));
    }
  }
  EXPECT_EQ(error_of({""}).code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(error_of({}).code, ErrorCode::kInvalidArgument);
}

TEST_F(ProcessSpawnerTest, SignalsAreNeitherIgnoredNorBlockedInTheProgram) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGUSR1, SIG_IGN);
  sigset_t blocked{};
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &blocked, nullptr);
  const std::string status = run({"grep", "-E", "^Sig(Blk|Ign|Cgt)", "/proc/self/status"});
  sigset_t now{};
  ::sigprocmask(SIG_UNBLOCK, &blocked, &now);
  EXPECT_TRUE(::sigismember(&now, SIGTERM));  // our own mask is as it was
  EXPECT_FALSE(::sigismember(&now, SIGHUP));
  std::signal(SIGPIPE, SIG_DFL);
  std::signal(SIGUSR1, SIG_DFL);
  EXPECT_THAT(status, HasSubstr("SigBlk:\t0000000000000000"));
  EXPECT_THAT(status, HasSubstr("SigIgn:\t0000000000000000"));
}

TEST_F(ProcessSpawnerTest, TheProgramLeadsItsOwnGroupAndHasNoOtherDescriptors) {
  // On purpose without close-on-exec: a library may be careless.
  const UniqueFd careless(::open("/dev/null", O_RDONLY));
  const UniqueFd also(::fcntl(careless.get(), F_DUPFD, 200));
  EXPECT_EQ(run({"ls", "/proc/self/fd"}), "0\n1\n2\n3\n");  // 3 is the directory that ls reads
  const auto process = spawn({"sleep", "100"});
  ASSERT_TRUE(process.ok());
  EXPECT_EQ(::getpgid(process->pid), process->pid);
  EXPECT_NE(::fcntl(process->pidfd.get(), F_GETFD) & FD_CLOEXEC, 0);
  ::kill(process->pid, SIGKILL);
  ::waitpid(process->pid, nullptr, 0);
}

TEST_F(ProcessSpawnerTest, StdioMayComeFromLowDescriptorsInAnyOrder) {
  const Environment environment;
  const EnvironmentBlock block(environment);
  const UniqueFd out(::open(output_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR));
  const UniqueFd saved(::fcntl(0, F_DUPFD_CLOEXEC, 10));
  ASSERT_EQ(::dup2(out.get(), 0), 0);
  const std::vector<std::string> argv = {"/bin/sh", "-c", "echo out; echo err >&2"};
  const auto process = spawner_.spawn(SpawnRequest{
      .argv = argv, .environment = block, .working_directory = "", .stdio = {1, 0, 0}});
  ::dup2(saved.get(), 0);
  ASSERT_TRUE(process.ok());
  ::waitpid(process->pid, nullptr, 0);
  EXPECT_EQ(read_text(output_), "out\nerr\n");
}

TEST_F(ProcessSpawnerTest, TheDescriptorLimitOfTheStartIsGivenBack) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit lowered{before.rlim_max / 2, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &lowered), 0);
  const auto original = raise_descriptor_limit();
  ASSERT_TRUE(original.ok());
  EXPECT_EQ(*original, before.rlim_max / 2);
  rlimit raised{};
  ::getrlimit(RLIMIT_NOFILE, &raised);
  EXPECT_EQ(raised.rlim_cur, before.rlim_max);

  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const UniqueFd out(::open(output_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR));
  const Environment environment = current_environment();
  const EnvironmentBlock block(environment);
  const std::vector<std::string> argv = {"sh", "-c", "ulimit -Sn; ulimit -Hn"};
  ProcessSpawner spawner("v1", *original);
  const auto process = spawner.spawn(SpawnRequest{.argv = argv,
                                                  .environment = block,
                                                  .working_directory = "",
                                                  .stdio = {null.get(), out.get(), out.get()}});
  ::setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_TRUE(process.ok());
  ::waitpid(process->pid, nullptr, 0);
  EXPECT_EQ(read_text(output_),
            std::to_string(*original) + "\n" + std::to_string(before.rlim_max) + "\n");
}

// ---- for a debugger ----

char state_of(pid_t pid) {
  const std::string stat = read_text("/proc/" + std::to_string(pid) + "/stat");
  return stat.at(stat.rfind(')') + 2);
}

std::string field_of(pid_t pid, const std::string& name) {
  const std::string status = read_text("/proc/" + std::to_string(pid) + "/status");
  const auto at = status.find("\n" + name + ":") + name.size() + 3;
  return status.substr(at, status.find('\n', at) - at);
}

TEST_F(ProcessSpawnerTest, AProgramStopsBeforeItsFirstInstructionAndGoesOn) {
  stop_on_exec_ = true;
  const auto process = spawn({"sh", "-c", "echo $$"});
  ASSERT_TRUE(process.ok()) << process.error().message;
  EXPECT_EQ(state_of(process->pid), 'T');
  EXPECT_EQ(field_of(process->pid, "TracerPid"), "0") << "a debugger can have it";
  EXPECT_EQ(field_of(process->pid, "SigBlk"), "0000000000000000");
  EXPECT_EQ(::waitpid(process->pid, &status_, WNOHANG), 0) << "nobody has to collect it";
  EXPECT_EQ(read_text(output_), "");
  ::kill(process->pid, SIGCONT);
  EXPECT_EQ(::waitpid(process->pid, &status_, 0), process->pid);
  EXPECT_EQ(read_text(output_), std::to_string(process->pid) + "\n");
}

TEST_F(ProcessSpawnerTest, AProgramThatIsStoppedEndsBySignal) {
  stop_on_exec_ = true;
  const auto process = spawn({"sleep", "1000"});
  ASSERT_TRUE(process.ok()) << process.error().message;
  ::kill(process->pid, SIGTERM);
  ::kill(process->pid, SIGCONT);
  EXPECT_EQ(::waitpid(process->pid, &status_, 0), process->pid);
  EXPECT_TRUE(WIFSIGNALED(status_));
  EXPECT_EQ(WTERMSIG(status_), SIGTERM);
}

TEST_F(ProcessSpawnerTest, WhatCannotBeExecutedIsNotStoppedEither) {
  stop_on_exec_ = true;
  EXPECT_EQ(error_of({"/no/such/program"}).code, ErrorCode::kNotFound);
  EXPECT_EQ(error_of({"/dev/null"}).code, ErrorCode::kPermissionDenied);
}

TEST_F(ProcessSpawnerTest, NoDescriptorIsLeakedBySuccessOrFailure) {
  run({"true"});
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 50; ++i) {
    run({"true"});
    error_of({"/no/such/program"});
    error_of({"true"}, "/no/such/directory");
  }
  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace tide::exec
