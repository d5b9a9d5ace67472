#include "cli/help.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/command_line.hpp"

namespace tide::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(OverviewHelp, NamesEveryCommand) {
  for (const std::string_view name : subcommand_names()) {
    EXPECT_THAT(overview_help(), HasSubstr("\n  " + std::string(name) + " ")) << name;
  }
}

TEST(CommandHelp, EveryCommandHasUsageOptionsAndExamples) {
  for (unsigned i = 0; i < static_cast<unsigned>(Command::kCount); ++i) {
    if (static_cast<Command>(i) == Command::kSim) continue;  // tide-sim says it itself
    const std::string text = command_help(static_cast<Command>(i), "PROG");
    EXPECT_THAT(text, HasSubstr("usage: PROG ")) << i;
    EXPECT_THAT(text, HasSubstr("Examples:\n  PROG")) << i;
    EXPECT_THAT(text, HasSubstr("--help, -h [TOPIC]")) << i;
    EXPECT_THAT(text, Not(HasSubstr("$"))) << i;
  }
}

TEST(CommandHelp, ShowsSpellingsTogetherAndHidesOldOnes) {
  const std::string text = command_help(Command::kRun, "prun");
  EXPECT_THAT(text, HasSubstr("  -n, --np, -c N\n"));
  EXPECT_THAT(text, HasSubstr("  --map-by, --mapby WHAT[:HOW…]\n"));
  EXPECT_THAT(text, Not(HasSubstr("--bynode")));
  EXPECT_THAT(text, Not(HasSubstr("--nodes")));
}

// The examples must work as they stand.
TEST(CommandHelp, ExamplesParse) {
  for (const std::string_view name : subcommand_names()) {
    const std::vector<std::string_view> help = {"tide", name};
    const Result<Invocation> invocation = make_invocation(help);
    ASSERT_TRUE(invocation.ok());
    if (invocation->command == Command::kSim) continue;  // tide-sim says it itself
    const std::string text = command_help(invocation->command, invocation->program);
    std::size_t at = text.find("Examples:\n");
    const std::string start = "\n  " + invocation->program;
    while ((at = text.find(start, at)) != text.npos) {
      at += start.size();
      Invocation example = *invocation;
      std::string word;
      for (const char c : text.substr(at, text.find('\n', at) - at) + " ") {
        if (c != ' ') {
          word += c;
        } else if (!word.empty()) {
          example.words.push_back(std::exchange(word, {}));
        }
      }
      const Result<CommandLine> line = parse_command_line(example);
      EXPECT_TRUE(line.ok()) << name << ": " << (line.ok() ? "" : line.error().message);
    }
  }
}

TEST(TopicHelp, TopicsAndOptions) {
  EXPECT_THAT(*topic_help(Command::kRun, "map-by"), HasSubstr("OVERSUBSCRIBE"));
  EXPECT_THAT(*topic_help(Command::kRun, "--map-by"), HasSubstr("OVERSUBSCRIBE"));
  EXPECT_THAT(*topic_help(Command::kRun, "exit-status"), HasSubstr("127"));
  EXPECT_THAT(*topic_help(Command::kRun, "np"), HasSubstr("-n, --np, -c N"));
  EXPECT_THAT(*topic_help(Command::kRun, "bynode"), HasSubstr("old spelling of --map-by node"));
  EXPECT_EQ(topic_help(Command::kRun, "cooking"), std::nullopt);
}

}  // namespace
}  // namespace tide::cli
