#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "cli/commands.hpp"
#include "cli/dvm_choice.hpp"
#include "cli/dvm_finder.hpp"
#include "cli/log_file.hpp"
#include "cli/values.hpp"
#include "cli/watch_json.hpp"
#include "say/finding.hpp"
#include "wire/exit_status.hpp"

namespace tide::cli {
namespace {

constexpr std::uint32_t kDefaultLines = 100;
constexpr std::string_view kSuffix = ".log";

// Shorter names first, so that v2 comes before v10; the head first of all.
bool comes_before(const std::string& a, const std::string& b) {
  if ((a == "head") != (b == "head")) return a == "head";
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

Result<std::vector<std::string>> nodes_with_logs(const std::string& directory) {
  const std::string path = directory + "/logs";
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(opendir(path.c_str()), closedir);
  if (dir == nullptr) return system_error("cannot read " + path, errno);
  std::vector<std::string> nodes;
  while (const dirent* entry = readdir(dir.get())) {
    const std::string_view name(entry->d_name);
    if (!name.ends_with(kSuffix) || name.starts_with('.')) continue;
    nodes.emplace_back(name.substr(0, name.size() - kSuffix.size()));
  }
  std::sort(nodes.begin(), nodes.end(), comes_before);
  return nodes;
}

// The logs of a DVM that has died can still be read, if it is named.
Result<DvmInfo> dvm_with_logs(const ClientContext& context) {
  Result<DvmChoice> choice = dvm_choice(context.line);
  if (!choice) return choice.error();
  if (choice->kind == DvmChoice::Kind::kName) {
    Result<DvmInfo> info = read_dvm_info(dvm_directory_path(context.run_base, choice->text));
    if (info) return info;
  }
  return find_dvm(context.run_base, *choice, now_unix_ms());
}

// Nodes of other machines have theirs there; the head knows where.
Error no_log_here(const ClientContext& context, const DvmInfo& dvm, const std::string& node,
                  const std::vector<std::string>& known) {
  wire::ClientRequest request;
  request.mutable_status();
  Result<DvmConnection> connection = connect_to_dvm(context, dvm);
  if (!connection) return say::no_log_of(node, known);
  const Result<wire::ClientReply> reply = ask(connection->channel, std::move(request));
  if (!reply) return say::no_log_of(node, known);
  std::vector<std::string> names = known;
  for (const wire::NodeStatus& row : reply->status().nodes()) {
    if (row.name() == node && !row.log().empty()) return say::log_is_elsewhere(node, row.log());
    if (!row.log().empty()) names.push_back(row.name());
  }
  return say::no_log_of(node, names);
}

std::optional<std::uint32_t> wanted_lines(const CommandLine& line) {
  const GivenOption* given = line.find(Option::kLines);
  if (given == nullptr) return kDefaultLines;
  if (given->value == "all") return std::nullopt;
  const Result<std::uint32_t> lines =
      parse_count(given->value, "the number of lines", 1, UINT32_MAX);
  return lines ? *lines : kDefaultLines;
}

// Pieces of a log, one object for each line. The last line need not be complete.
class JsonLines {
 public:
  explicit JsonLines(const std::string& node) : node_(node) {}
  void take(std::string_view piece) {
    for (const char c : piece) {
      if (c == '\n') {
        end_line();
      } else {
        line_ += c;
      }
    }
  }
  void finish() {
    if (!line_.empty()) end_line();
  }

 private:
  void end_line() {
    print(log_line_json(node_, line_));
    line_.clear();
  }
  const std::string& node_;
  std::string line_;
};

Status show_log(const CommandLine& line, const std::string& node, const std::string& path) {
  bool empty = true;
  JsonLines lines(node);
  const bool json = line.has(Option::kJson);
  const Status status = read_last_lines(path, wanted_lines(line), [&](std::string_view text) {
    empty = false;
    json ? lines.take(text) : print(text);
  });
  lines.finish();
  if (status && empty) complain(line, say::empty_log(node, path));
  return status;
}

}  // namespace

int logs_command(const ClientContext& context) {
  const Result<DvmInfo> dvm = dvm_with_logs(context);
  if (!dvm) return fail_without_dvm(context.line, dvm.error());
  const Result<std::vector<std::string>> known = nodes_with_logs(dvm->directory);
  if (!known) return fail(context.line, known.error());
  std::vector<std::string> nodes = context.line.apps.front().argv;
  for (const std::string& node : nodes) {
    if (std::find(known->begin(), known->end(), node) == known->end()) {
      return fail(context.line, no_log_here(context, *dvm, node, *known));
    }
  }
  if (nodes.empty()) nodes = *known;
  for (const std::string& node : nodes) {
    if (nodes.size() > 1 && !context.line.has(Option::kJson)) print("==> " + node + " <==\n");
    const Status status = show_log(context.line, node, dvm_log_path(dvm->directory, node));
    if (!status) return fail(context.line, status.error());
  }
  return kExitSuccess;
}

}  // namespace tide::cli
