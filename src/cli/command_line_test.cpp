#include "cli/command_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tide::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Invocation prun(std::vector<std::string> words) {
  return Invocation{"prun", Command::kRun, std::move(words)};
}

CommandLine parsed(std::vector<std::string> words) {
  Result<CommandLine> line = parse_command_line(prun(std::move(words)));
  EXPECT_TRUE(line.ok()) << (line.ok() ? "" : line.error().message);
  return line.ok() ? *line : CommandLine{};
}

std::string refusal_of(const Invocation& invocation) {
  const Result<CommandLine> line = parse_command_line(invocation);
  EXPECT_FALSE(line.ok());
  if (line.ok()) return {};
  EXPECT_EQ(line.error().code, ErrorCode::kInvalidArgument);
  return line.error().message;
}

std::string refusal(std::vector<std::string> words) {
  return refusal_of(prun(std::move(words)));
}

std::string value(const CommandLine& line, Option option) {
  const GivenOption* given = line.find(option);
  return given == nullptr ? "(none)" : given->value;
}

Result<Invocation> invoked(std::vector<std::string_view> argv) {
  return make_invocation(argv);
}

TEST(MakeInvocation, ActsByTheNameItIsCalledWith) {
  EXPECT_EQ(invoked({"/opt/bin/prun", "x"})->command, Command::kRun);
  EXPECT_EQ(invoked({"prterun"})->command, Command::kOneShot);
  EXPECT_EQ(invoked({"./pterm"})->command, Command::kDown);
  EXPECT_EQ(invoked({"prte_info"})->command, Command::kParams);
  EXPECT_EQ(invoked({"/opt/bin/prun", "x"})->program, "prun");
  EXPECT_THAT(invoked({"prun", "a", "b"})->words, ElementsAre("a", "b"));
}

TEST(MakeInvocation, TideTakesASubcommand) {
  const Result<Invocation> invocation = invoked({"tide", "run", "-n", "2", "true"});
  ASSERT_TRUE(invocation.ok());
  EXPECT_EQ(invocation->command, Command::kRun);
  EXPECT_EQ(invocation->program, "tide run");
  EXPECT_THAT(invocation->words, ElementsAre("-n", "2", "true"));
  EXPECT_EQ(invoked({"something-else", "down"})->command, Command::kDown);
}

TEST(MakeInvocation, HelpOfASubcommand) {
  EXPECT_THAT(invoked({"tide", "help", "kill"})->words, ElementsAre("--help"));
  EXPECT_THAT(invoked({"tide", "help", "run", "map-by"})->words, ElementsAre("--help", "map-by"));
}

TEST(MakeInvocation, RefusesWhatIsNoCommand) {
  EXPECT_FALSE(invoked({"tide"}).ok());
  EXPECT_THAT(invoked({"tide", "statsu"}).error().message, HasSubstr("did you mean 'tide status'"));
}

TEST(ParseCommandLine, EverySpellingOfTheNumberOfProcesses) {
  for (const char* spelling : {"-n", "-np", "--np", "--n", "-c", "--c"}) {
    EXPECT_EQ(value(parsed({spelling, "4", "a"}), Option::kNumProcs), "4") << spelling;
  }
  EXPECT_EQ(value(parsed({"--np=4", "a"}), Option::kNumProcs), "4");
  EXPECT_EQ(value(parsed({"-np=4", "a"}), Option::kNumProcs), "4");
  EXPECT_EQ(value(parsed({"-n4", "a"}), Option::kNumProcs), "4");
}

TEST(ParseCommandLine, SingleDashLongOptions) {
  const CommandLine line = parsed({"-host", "a:2", "-map-by", "node", "-timeout", "5", "a"});
  EXPECT_EQ(value(line, Option::kHost), "a:2");
  EXPECT_EQ(value(line, Option::kMapBy), "node");
  EXPECT_EQ(value(line, Option::kTimeout), "5");
}

TEST(ParseCommandLine, WhatFollowsTheProgramIsTheProgramsOwn) {
  const CommandLine line = parsed({"-n", "2", "ls", "-n", "--help", "--", "-x"});
  EXPECT_EQ(value(line, Option::kNumProcs), "2");
  EXPECT_THAT(line.apps[0].argv, ElementsAre("ls", "-n", "--help", "--", "-x"));
  EXPECT_FALSE(line.wants_help);
}

TEST(ParseCommandLine, TwoDashesEndTheOptions) {
  EXPECT_THAT(parsed({"--", "-odd-name", "x"}).apps[0].argv, ElementsAre("-odd-name", "x"));
}

TEST(ParseCommandLine, ProgramsSeparatedByColons) {
  const CommandLine line =
      parsed({"-n", "2", "a", "-v", ":", "-n", "1", "--wdir", "/w", "b", ":", "c"});
  ASSERT_EQ(line.apps.size(), 3U);
  EXPECT_THAT(line.apps[0].argv, ElementsAre("a", "-v"));
  EXPECT_EQ(line.apps[0].options.size(), 1U);
  EXPECT_THAT(line.apps[1].argv, ElementsAre("b"));
  EXPECT_EQ(line.apps[1].options.size(), 2U);
  EXPECT_THAT(line.apps[2].argv, ElementsAre("c"));
  EXPECT_THAT(line.apps[2].options, IsEmpty());
}

TEST(ParseCommandLine, AColonNeedsAProgramOnBothSides) {
  EXPECT_THAT(refusal({":", "a"}), HasSubstr("before ':'"));
  EXPECT_THAT(refusal({"a", ":"}), HasSubstr("after ':'"));
  EXPECT_THAT(refusal({"a", ":", "-n", "2", ":", "b"}), HasSubstr("before ':'"));
  EXPECT_THAT(refusal({"-n", "2"}), HasSubstr("no program"));
}

TEST(ParseCommandLine, OptionsOfTwoValues) {
  const CommandLine line = parsed(
      {"--prtemca", "rml_radix", "2", "--prepend-env", "P[;]", "/x", "-prtemca", "a", "b", "prog"});
  EXPECT_EQ(line.apps[0].options[0].value, "rml_radix");
  EXPECT_EQ(line.apps[0].options[0].second_value, "2");
  EXPECT_EQ(line.apps[0].options[1].value, "P[;]");
  EXPECT_EQ(line.apps[0].options[1].second_value, "/x");
  EXPECT_EQ(line.apps[0].options[2].value, "a");
  EXPECT_THAT(line.apps[0].argv, ElementsAre("prog"));
  EXPECT_THAT(refusal({"--prtemca", "a"}), HasSubstr("needs a value: --prtemca NAME VALUE"));
}

TEST(ParseCommandLine, AValueIsNeeded) {
  EXPECT_THAT(refusal({"-np"}), HasSubstr("-np needs a value: -np N"));
  EXPECT_THAT(refusal({"--timeout"}), HasSubstr("--timeout TIME"));
  EXPECT_THAT(refusal({"--bynode=3", "a"}), HasSubstr("takes no value"));
}

TEST(ParseCommandLine, OneValueMayNotBeGivenTwice) {
  EXPECT_THAT(refusal({"-n", "2", "-n", "3", "a"}), HasSubstr("-n is given twice"));
  EXPECT_THAT(refusal({"-n", "2", "--np", "3", "a"}), HasSubstr("-n and --np are the same option"));
  EXPECT_THAT(refusal({"--map-by", "slot", "--bynode", "a"}), HasSubstr("the same option"));
  EXPECT_THAT(refusal({"--timeout", "1", "a", ":", "--timeout", "2", "b"}), HasSubstr("twice"));
  EXPECT_TRUE(parse_command_line(prun({"-n", "2", "a", ":", "-n", "2", "b"})).ok());
}

TEST(ParseCommandLine, ListsMayBeGivenOften) {
  EXPECT_EQ(parsed({"-x", "A", "-x", "B", "-H", "a", "--host", "b", "p"}).apps[0].options.size(),
            4U);
}

TEST(ParseCommandLine, OldSpellingsGiveAHint) {
  const CommandLine line = parsed({"--bynode", "-tag-output", "--oversubscribe", "a"});
  EXPECT_EQ(value(line, Option::kMapBy), "node");
  EXPECT_EQ(value(line, Option::kOutput), "tag");
  EXPECT_TRUE(line.has(Option::kOversubscribe));
  EXPECT_THAT(line.hints, ElementsAre("--bynode is an old spelling of --map-by node",
                                      "-tag-output is an old spelling of --output tag",
                                      "--oversubscribe is an old spelling of "
                                      "--map-by :OVERSUBSCRIBE"));
  EXPECT_THAT(parsed({"--map-by", "node", "a"}).hints, IsEmpty());
}

TEST(ParseCommandLine, WhatIsNotBuiltYetIsSaidSo) {
  EXPECT_THAT(refusal({"--rankfile", "f", "a"}), HasSubstr("not built yet; what there is: --host"));
  EXPECT_THAT(refusal({"-rankfile", "f", "a"}), HasSubstr("-rankfile is not built yet"));
  EXPECT_THAT(refusal({"--bind-to", "core", "a"}), HasSubstr("--bind-to is not built yet"));
  EXPECT_THAT(refusal({"-N", "2", "a"}), HasSubstr("-N is not built yet"));
}

TEST(ParseCommandLine, NothingIsBothBuiltAndNot) {
  for (const UnbuiltOption& unbuilt : unbuilt_options()) {
    for (unsigned i = 0; i < static_cast<unsigned>(Command::kCount); ++i) {
      const auto command = static_cast<Command>(i);
      if ((unbuilt.commands & only(command)) == 0) continue;
      EXPECT_EQ(find_option(command, unbuilt.name), nullptr) << unbuilt.name;
    }
  }
}

TEST(ParseCommandLine, WhatOneCommandHasAnotherMayLack) {
  EXPECT_THAT(refusal_of(Invocation{"tide up", Command::kUp, {"-x", "A"}}),
              HasSubstr("-x is not built yet; what there is: -x with tide run"));
  EXPECT_THAT(refusal_of(Invocation{"prterun", Command::kOneShot, {"--dvm", "a", "b"}}),
              HasSubstr("prun, for a DVM that is running"));
}

TEST(ParseCommandLine, UnknownOptionsGetASuggestion) {
  EXPECT_THAT(refusal({"--map-bye", "slot", "a"}), HasSubstr("did you mean --map-by?"));
  EXPECT_THAT(refusal({"-tiemout", "5", "a"}), HasSubstr("did you mean --timeout?"));
  EXPECT_THAT(refusal({"--quetzalcoatl", "a"}), HasSubstr("there is no option --quetzalcoatl"));
}

TEST(ParseCommandLine, HelpAndVersionStopTheReading) {
  EXPECT_TRUE(parsed({"-h"}).wants_help);
  EXPECT_TRUE(parsed({"-n", "2", "--version", "--nonsense"}).wants_version);
  EXPECT_EQ(parsed({"--help", "map-by"}).help_topic, "map-by");
  EXPECT_EQ(parsed({"--help", "--nonsense"}).help_topic, "");
}

TEST(ParseCommandLine, OperandsOfOtherCommandsMixWithOptions) {
  const Invocation kill{"tide kill", Command::kKill, {"3", "--signal", "USR1"}};
  const Result<CommandLine> line = parse_command_line(kill);
  ASSERT_TRUE(line.ok());
  EXPECT_THAT(line->apps[0].argv, ElementsAre("3"));
  EXPECT_EQ(value(*line, Option::kSignal), "USR1");
}

TEST(ParseCommandLine, EveryCommandTakesItsOwnOptionsOnly) {
  EXPECT_THAT(refusal({"--nodes", "3", "a"}), HasSubstr("no option --nodes"));
  EXPECT_THAT(refusal_of(Invocation{"tide status", Command::kStatus, {"-np", "2"}}),
              HasSubstr("no option -np"));
  EXPECT_TRUE(parse_command_line({"tide up", Command::kUp, {"--nodes", "8", "--dvm", "x"}}).ok());
  EXPECT_TRUE(parse_command_line({"prterun", Command::kOneShot, {"--nodes", "8", "a"}}).ok());
}

}  // namespace
}  // namespace tide::cli
