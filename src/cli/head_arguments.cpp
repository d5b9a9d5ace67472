#include "cli/head_arguments.hpp"

namespace tide::cli {
namespace {

const char* head_spelling(Option option) {
  switch (option) {
    case Option::kNodes:
      return "--nodes";
    case Option::kSlots:
      return "--slots";
    case Option::kReportUri:
      return "--report-uri";
    case Option::kReportPid:
      return "--report-pid";
    case Option::kPrteMca:
      return "--prtemca";
    default:
      return nullptr;
  }
}

}  // namespace

void add_head_options(const CommandLine& line, std::vector<std::string>& argv) {
  for (const AppWords& words : line.apps) {
    for (const GivenOption& given : words.options) {
      const char* spelling = head_spelling(given.option);
      if (spelling == nullptr) continue;
      argv.emplace_back(spelling);
      argv.push_back(given.value);
      if (given.option == Option::kPrteMca) argv.push_back(given.second_value);
    }
  }
}

std::vector<char*> argument_pointers(std::vector<std::string>& argv) {
  std::vector<char*> pointers;
  for (std::string& word : argv) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace tide::cli
