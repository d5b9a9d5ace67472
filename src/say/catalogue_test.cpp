// docs/messages.md is the golden file of the catalogue: what people read there is what they get.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/next_step.hpp"
#include "say/catalogue_samples.hpp"

namespace tide::say {
namespace {

const std::filesystem::path kRoot = TIDE_SOURCE_FOLDER;
const std::filesystem::path kGolden = kRoot / "docs" / "messages.md";

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string rendered() {
  std::string page =
      "# Messages\n\n"
      "Everything that Tide says when something is not as it should be, with sample values: what "
      "happened,\n"
      "where and why, and after `try:` what to do next. A name that is nearly right is answered "
      "with\n"
      "*did you mean*. This page is made and checked by a test (`tide_say_tests`); after a change "
      "of words\n"
      "`TIDE_ACCEPT_GOLDEN=1 build/release/tests/tide_say_tests` writes it anew.\n";
  std::string topic;
  for (const Sample& sample : catalogue_samples()) {
    if (sample.topic != topic) {
      if (!topic.empty()) page += "```\n";
      page += "\n## " + sample.topic + "\n\n```\n";
      topic = sample.topic;
    } else {
      page += "\n";
    }
    page += sample.text + "\n";
  }
  return page + "```\n";
}

// Names of the functions that the headers of the catalogue declare and that make messages.
std::set<std::string> declared() {
  std::vector<std::filesystem::path> headers = {kRoot / "src" / "base" / "messages.hpp"};
  for (const auto& entry : std::filesystem::directory_iterator(kRoot / "src" / "say")) {
    const bool is_header = entry.path().extension() == ".hpp";
    if (is_header && entry.path().stem() != "catalogue_samples") headers.push_back(entry.path());
  }
  std::set<std::string> names;
  for (const auto& header : headers) {
    std::istringstream lines(text_of(header));
    for (std::string line; std::getline(lines, line);) {
      for (const std::string result : {"Error ", "std::string "}) {
        const std::size_t bracket = line.find('(');
        if (!line.starts_with(result) || bracket == std::string::npos) continue;
        names.insert(line.substr(result.size(), bracket - result.size()));
      }
    }
  }
  return names;
}

TEST(Catalogue, IsWhatTheGoldenFileSays) {
  const std::string now = rendered();
  if (std::getenv("TIDE_ACCEPT_GOLDEN") != nullptr) std::ofstream(kGolden) << now;
  EXPECT_EQ(now, text_of(kGolden))
      << "\nthe words of a message changed; if that is meant, take them with\n"
         "  TIDE_ACCEPT_GOLDEN=1 build/release/tests/tide_say_tests\n";
}

TEST(Catalogue, HasEveryMessageInTheGoldenFile) {
  std::set<std::string> sampled;
  for (const Sample& sample : catalogue_samples()) sampled.insert(sample.function);
  EXPECT_EQ(sampled, declared()) << "add a sample of it to src/say/catalogue_samples.cpp";
}

TEST(Catalogue, HasOneShape) {
  for (const Sample& sample : catalogue_samples()) {
    EXPECT_FALSE(sample.text.empty()) << sample.function;
    EXPECT_FALSE(sample.text.ends_with('\n')) << sample.function;
    EXPECT_FALSE(sample.text.ends_with('.')) << sample.function;
    std::size_t tries = 0;
    std::istringstream lines(sample.text);
    std::string line;
    for (bool first = true; std::getline(lines, line); first = false) {
      EXPECT_TRUE(first || line.starts_with("  ")) << sample.function << ": " << line;
      if (line.starts_with("  try: ")) ++tries;
      EXPECT_FALSE(line.ends_with(' ')) << sample.function;
    }
    EXPECT_LE(tries, 1U) << sample.function << ": " << sample.text;
  }
}

TEST(NextStep, NamesThatDifferInTheirNumberAreNotNear) {
  const std::vector<std::string> nodes = {"v1", "v2", "v12", "head"};
  EXPECT_EQ(nearest_name("v9", nodes), std::nullopt);
  EXPECT_EQ(nearest_name("V2", nodes), "v2");
  EXPECT_EQ(nearest_name("vv12", nodes), "v12");
  EXPECT_EQ(nearest_name("haed", nodes), "head");
  EXPECT_EQ(nearest_name("elephant", nodes), std::nullopt);
}

TEST(NextStep, LongListsAreCut) {
  std::vector<std::string> nodes;
  for (int i = 1; i <= 8; ++i) nodes.push_back("v" + std::to_string(i));
  EXPECT_EQ(name_list(nodes), "v1, v2, v3, v4, v5, v6, v7, v8");
  nodes.emplace_back("v9");
  EXPECT_EQ(name_list(nodes), "v1, v2, v3, v4, v5, v6, v7 and 2 more");
}

}  // namespace
}  // namespace tide::say
