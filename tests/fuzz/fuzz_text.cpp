// Texts that stand in files and messages: the description of a DVM, its address, failpoints, hosts,
// what schedulers say of a job, and what is printed of words that came from outside.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "base/failpoints.hpp"
#include "base/run_directory.hpp"
#include "base/text.hpp"
#include "base/uri.hpp"
#include "hosts/hostfile.hpp"
#include "hosts/wire_words.hpp"
#include "rm/grant.hpp"
#include "tests/fuzz/fuzz_input.hpp"

namespace tide::fuzz {
namespace {

// A directory such as a DVM has; gone when the fuzzer ends in order.
class DvmFolder {
 public:
  DvmFolder() {
    const char* parent = std::getenv("TMPDIR");
    path_ = std::string(parent == nullptr ? "/tmp" : parent) + "/fuzz_text.XXXXXX";
    FUZZ_REQUIRE(::mkdtemp(path_.data()) != nullptr);
    fd_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    FUZZ_REQUIRE(fd_ >= 0);
  }
  DvmFolder(const DvmFolder&) = delete;
  DvmFolder& operator=(const DvmFolder&) = delete;
  DvmFolder(DvmFolder&&) = delete;
  DvmFolder& operator=(DvmFolder&&) = delete;
  ~DvmFolder() {
    ::unlinkat(fd_, kDvmInfoFile, 0);
    ::rmdir(path_.c_str());
    ::close(fd_);
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int fd() const { return fd_; }
  void write(std::string_view text) const {
    const int fd = ::openat(fd_, kDvmInfoFile, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FUZZ_REQUIRE(fd >= 0);
    FUZZ_REQUIRE(::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    ::close(fd);
  }

 private:
  std::string path_;
  int fd_ = -1;
};

void read_description(std::string_view text) {
  static const DvmFolder folder;
  folder.write(text);
  const auto info = read_dvm_info(folder.path());
  if (!info) return;
  FUZZ_REQUIRE(write_dvm_info_at(folder.fd(), *info).ok());
  auto again = read_dvm_info(folder.path());
  FUZZ_REQUIRE(again.ok());
  again->alive = info->alive;  // of a process that may have ended meanwhile
  FUZZ_REQUIRE(*again == *info);
}

void read_uri(std::string_view text) {
  const auto uri = parse_dvm_uri(text);
  if (!uri) return;
  const auto again = parse_dvm_uri(compose_dvm_uri(*uri));
  FUZZ_REQUIRE(again.ok() && *again == *uri);
}

void read_failpoints(std::string_view text) {
  auto points = Failpoints::parse(text);
  if (!points) return;
  for (const std::string& name : points->names()) {
    const auto point = points->lookup(name);
    FUZZ_REQUIRE(point.has_value());
    FUZZ_REQUIRE(points->release(name) == (point->kind == Failpoint::Kind::kHold));
  }
}

// Hosts are understood, or it is said where they are not; nothing passes for an option of ssh.
void read_hosts(std::string_view text) {
  for (const auto& words : {hosts::parse_hostfile(text, "F"), hosts::parse_host_list(text, "L")}) {
    if (!words) {
      const std::string& message = words.error().message;
      FUZZ_REQUIRE(message.starts_with("F:") || message.starts_with("L, column "));
      continue;
    }
    for (const auto& word : *words) {
      FUZZ_REQUIRE(!word.name.starts_with('-') && !word.user.starts_with('-'));
      FUZZ_REQUIRE(word.name.find_first_of(" \t\n;|&$`'\"\\") == word.name.npos);
      const auto again = hosts::from_wire(hosts::to_wire(word), "L");
      FUZZ_REQUIRE(again.name == word.name && again.kind == word.kind);
    }
  }
}

void check_grant(const rm::Grant& grant) {
  FUZZ_REQUIRE(!grant.hosts.empty() && grant.hosts.size() <= hosts::kMaxHosts);
  FUZZ_REQUIRE(!grant.job.starts_with('-') && one_line(grant.job) == grant.job);
  std::set<std::string_view> names;
  for (const auto& host : grant.hosts) {
    FUZZ_REQUIRE(!host.name.empty() && !host.name.starts_with('-'));
    FUZZ_REQUIRE(host.name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                             "0123456789._-") == host.name.npos);
    FUZZ_REQUIRE(host.slots <= hosts::kMaxSlotsPerHost && host.user.empty());
    FUZZ_REQUIRE(names.insert(host.name).second);
  }
}

// Lines: the scheduler, the id of the job, the numbers of slots; the rest is the list of nodes,
// wherever that scheduler has it.
void read_grant(std::string_view text) {
  std::array<std::string, 3> lines;
  for (std::string& line : lines) {
    line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  const auto& [manager, job, slots] = lines;
  constexpr std::array<std::string_view, 7> kManagers = {"auto", "slurm",      "pbs", "pals",
                                                         "lsf",  "gridengine", "flux"};
  if (std::ranges::find(kManagers, manager) == kManagers.end()) return;
  const std::string rest(text);
  const rm::Surroundings surroundings{
      .variable = [&](std::string_view name) -> std::optional<std::string> {
        if (name == "SLURM_JOB_CPUS_PER_NODE") return slots;
        const bool is_id = name.ends_with("ID") || name == "FLUX_URI";
        return is_id ? job : rest;
      },
      .file = [&](const std::string&) -> Result<std::string> { return rest; },
      .command = [&](std::span<const std::string>) -> Result<std::string> { return rest; }};
  const auto grant = rm::find_grant(manager, surroundings);
  if (!grant) {
    const std::string& message = grant.error().message;
    FUZZ_REQUIRE(message.find("\n  try: ") == message.find('\n'));
  } else if (*grant) {
    check_grant(**grant);
  }
}

void read_words(std::string_view text) {
  const std::string line = one_line(text);
  FUZZ_REQUIRE(std::none_of(line.begin(), line.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
  }));
  const std::vector<std::string> words = split(text, '\n');
  FUZZ_REQUIRE(join(words, "\n") == text);
  static_cast<void>(quote_argv(words));
  const std::string_view first = words.front();
  const std::string_view last = words.back();
  FUZZ_REQUIRE(edit_distance(first, last) == edit_distance(last, first));
  const std::array<std::string_view, 3> candidates = {"system", "search", last};
  static_cast<void>(nearest(first, candidates));
  if (validate_dvm_name(first)) FUZZ_REQUIRE(first.find_first_of("/.") == first.npos);
}

}  // namespace
}  // namespace tide::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tide::fuzz::Input input(tide::fuzz::as_text(data, size));
  switch (input.byte()) {
    case 'u':
      tide::fuzz::read_uri(input.rest());
      break;
    case 'f':
      tide::fuzz::read_failpoints(input.rest());
      break;
    case 'h':
      tide::fuzz::read_hosts(input.rest());
      break;
    case 'g':
      tide::fuzz::read_grant(input.rest());
      break;
    case 'w':
      tide::fuzz::read_words(input.rest());
      break;
    case 'd':
      tide::fuzz::read_description(input.rest());
      break;
    default:
      break;
  }
  return 0;
}
