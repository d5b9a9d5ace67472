#include "cli/added_nodes.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/values.hpp"
#include "hosts/hostfile.hpp"
#include "hosts/wire_words.hpp"
#include "say/command_line.hpp"
#include "say/elastic.hpp"

namespace tide::cli {
namespace {

using Hosts = google::protobuf::RepeatedPtrField<wire::HostRequest>;

constexpr std::uint32_t kMostNodes = 100'000;
constexpr std::string_view kFilePrefix = "file=";

// Only names: a place in a list or who is to stay out says nothing of nodes that are to come.
Status add_words(const Result<std::vector<hosts::HostWord>>& words, Hosts& out) {
  if (!words) return words.error();
  for (const hosts::HostWord& word : *words) {
    if (word.kind != hosts::HostWord::Kind::kName || word.excluded) {
      return say::only_plain_host_names(word.place.text);
    }
    *out.Add() = hosts::to_wire(word);
  }
  return ok_status();
}

Status add_file(const std::string& file, Hosts& out) {
  return add_words(hosts::read_hostfiles(std::span(&file, 1)), out);
}

// `+all` or `+nK`.
Status take_number(const GivenOption& given, wire::Activation& out) {
  const std::string_view word = std::string_view(given.value).substr(1);
  const bool all = word.size() == 3 && (word[0] | 0x20) == 'a' && (word[1] | 0x20) == 'l' &&
                   (word[2] | 0x20) == 'l';
  if (all) {
    out.set_all(true);
    return ok_status();
  }
  if (word.size() < 2 || (word[0] | 0x20) != 'n') return say::bad_activation(given.value);
  const auto count = parse_count(word.substr(1), "the number after +n", 1, kMostNodes);
  if (!count) return say::bad_activation(given.value);
  out.set_count(*count);
  return ok_status();
}

Status take_activation(const GivenOption& given, wire::Activation& out) {
  if (given.value.empty()) return say::empty_value(given.spelling, "LIST");
  if (given.value[0] == '+') return take_number(given, out);
  if (given.value.starts_with(kFilePrefix)) {
    return add_file(given.value.substr(kFilePrefix.size()), *out.mutable_hosts());
  }
  return add_words(hosts::parse_host_list(given.value, given.spelling), *out.mutable_hosts());
}

Status take(const GivenOption& given, wire::JobSpec& job) {
  if (given.option == Option::kAddHost) {
    return add_words(hosts::parse_host_list(given.value, given.spelling), *job.mutable_add_hosts());
  }
  if (given.option == Option::kAddHostfile) return add_file(given.value, *job.mutable_add_hosts());
  if (given.option == Option::kActivate) return take_activation(given, *job.mutable_activate());
  return ok_status();
}

}  // namespace

Status take_added_nodes(const CommandLine& line, wire::JobSpec& job) {
  for (const AppWords& words : line.apps) {
    for (const GivenOption& given : words.options) {
      if (Status status = take(given, job); !status) return status;
    }
  }
  return ok_status();
}

}  // namespace tide::cli
