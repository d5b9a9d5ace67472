#include "cli/dvm_finder.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/text.hpp"
#include "base/uri.hpp"
#include "cli/text_table.hpp"
#include "say/finding.hpp"

namespace tide::cli {
namespace {

using Kind = DvmChoice::Kind;

std::vector<std::string> names_of(const std::vector<DvmInfo>& dvms) {
  std::vector<std::string> names;
  for (const DvmInfo& dvm : dvms) names.push_back(dvm.name);
  return names;
}

// The first line of a file that holds a URI or a process number: nothing long.
Result<std::string> read_first_line(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return system_error("cannot read " + path, errno);
  std::array<char, 1024> buffer{};
  const ssize_t got = read(fd, buffer.data(), buffer.size());
  const int read_errno = errno;
  close(fd);
  if (got < 0) return system_error("cannot read " + path, read_errno);
  const std::string_view text(buffer.data(), static_cast<std::size_t>(got));
  return std::string(trim(text.substr(0, text.find('\n'))));
}

Result<DvmInfo> the_one(const std::vector<DvmInfo>& dvms, std::string_view what, auto&& fits) {
  const auto found = std::find_if(dvms.begin(), dvms.end(), fits);
  if (found != dvms.end()) return *found;
  return say::no_dvm_that(what, names_of(dvms));
}

Result<DvmInfo> only_one(const std::vector<DvmInfo>& dvms, std::uint64_t now_unix_ms) {
  if (dvms.size() == 1) return dvms.front();
  if (dvms.empty()) return say::no_dvm();
  return say::several_dvms(dvm_table(dvms, now_unix_ms), dvms.front().name);
}

Result<DvmInfo> by_name(const std::string& run_base, const std::string& name) {
  // Straight to its directory: the others need not be looked at.
  Result<DvmInfo> info = read_dvm_info(dvm_directory_path(run_base, name));
  if (info && info->alive) return info;
  const Result<std::vector<DvmInfo>> running = running_dvms(run_base);
  return say::no_dvm_named(name, running ? names_of(*running) : std::vector<std::string>());
}

Result<DvmInfo> by_pid(const std::vector<DvmInfo>& dvms, std::uint32_t pid) {
  return the_one(dvms, "has the process number " + std::to_string(pid),
                 [pid](const DvmInfo& dvm) { return dvm.pid == pid; });
}

Result<DvmInfo> by_uri(const std::vector<DvmInfo>& dvms, std::string_view text) {
  const Result<DvmUri> uri = parse_dvm_uri(text);
  if (!uri) return uri.error();
  return the_one(dvms, "has the address " + std::string(trim(text)),
                 [&uri](const DvmInfo& dvm) { return dvm.dvm_id == uri->dvm_id; });
}

Result<DvmInfo> by_namespace(const std::vector<DvmInfo>& dvms, std::string_view nspace) {
  const std::string_view dvm_id = nspace.substr(0, nspace.find('@'));
  return the_one(dvms, "has the namespace " + std::string(nspace),
                 [dvm_id](const DvmInfo& dvm) { return dvm.dvm_id == dvm_id; });
}

Result<DvmInfo> by_file(const std::vector<DvmInfo>& dvms, const DvmChoice& choice) {
  Result<std::string> line = read_first_line(choice.text);
  if (!line) return line.error();
  if (choice.kind == Kind::kUriFile) return by_uri(dvms, *line);
  const Result<std::int64_t> pid = parse_int(*line);
  if (!pid || *pid <= 0) {
    return say::no_pid_in_file(choice.text);
  }
  return by_pid(dvms, static_cast<std::uint32_t>(*pid));
}

}  // namespace

Result<std::vector<DvmInfo>> running_dvms(const std::string& run_base) {
  Result<std::vector<DvmInfo>> dvms = list_dvms(run_base);
  if (dvms) std::erase_if(*dvms, [](const DvmInfo& dvm) { return !dvm.alive; });
  return dvms;
}

Result<DvmInfo> find_dvm(const std::string& run_base, const DvmChoice& choice,
                         std::uint64_t now_unix_ms) {
  if (choice.kind == Kind::kName) return by_name(run_base, choice.text);
  Result<std::vector<DvmInfo>> dvms = running_dvms(run_base);
  if (!dvms) return dvms.error();
  if (choice.kind == Kind::kSystem || choice.kind == Kind::kSystemFirst) {
    const auto found = std::ranges::find_if(*dvms, &DvmInfo::system);
    if (found != dvms->end()) return *found;
    if (choice.kind == Kind::kSystem) return say::no_system_dvm();
  }
  switch (choice.kind) {
    case Kind::kPid:
      return by_pid(*dvms, choice.pid);
    case Kind::kUri:
      return by_uri(*dvms, choice.text);
    case Kind::kNamespace:
      return by_namespace(*dvms, choice.text);
    case Kind::kPidFile:
    case Kind::kUriFile:
      return by_file(*dvms, choice);
    default:
      return only_one(*dvms, now_unix_ms);
  }
}

std::string dvm_table(std::span<const DvmInfo> dvms, std::uint64_t now_unix_ms) {
  TextTable table({"NAME", "AGE", "NODES", "PID", "URI"});
  for (const DvmInfo& dvm : dvms) {
    const std::uint64_t age_ms =
        now_unix_ms > dvm.started_unix_ms ? now_unix_ms - dvm.started_unix_ms : 0;
    table.add({dvm.name, short_age(age_ms), std::to_string(dvm.nodes), std::to_string(dvm.pid),
               dvm.uri.empty() ? "-" : dvm.uri});
  }
  return table.text();
}

}  // namespace tide::cli
