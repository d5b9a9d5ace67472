#include "head/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tide::head {
namespace {

Result<ParsedOptions> parse(std::vector<const char*> words) {
  words.insert(words.begin(), "prte");
  return parse_options(static_cast<int>(words.size()), words.data());
}

TEST(HeadOptions, TakesWhatPeopleWrite) {
  auto parsed =
      parse({"-nodes", "8", "--slots=2", "--dvm", "work", "--daemonize", "--prtemca", "rml_radix",
             "2", "--prtemca", "state_base_verbose", "5", "--report-uri", "-"});
  ASSERT_TRUE(parsed) << parsed.error().message;
  const auto& options = parsed->options;
  EXPECT_EQ(options.nodes, 8U);
  EXPECT_EQ(options.slots, 2U);
  EXPECT_EQ(options.dvm_name, "work");
  EXPECT_TRUE(options.daemonize);
  EXPECT_EQ(options.report_uri, "-");
  EXPECT_EQ(options.params.size(), 2U);
  EXPECT_FALSE(parsed->print);
}

TEST(HeadOptions, ValuesAreTakenAsTheyAre) {
  const auto parsed = parse({"--prtemca", "prte_tmpdir_base", "--a=b", "--prtemca=x", "-12",
                             "--report-uri", "-uri", "--report-pid=-p=id"});
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_THAT(
      parsed->options.params,
      testing::ElementsAre(testing::Pair("prte_tmpdir_base", "--a=b"), testing::Pair("x", "-12")));
  EXPECT_EQ(parsed->options.report_uri, "-uri");
  EXPECT_EQ(parsed->options.report_pid, "-p=id");
}

TEST(HeadOptions, RefusesWithAReason) {
  const auto refused = [](std::vector<const char*> words, const char* part) {
    const auto parsed = parse(std::move(words));
    ASSERT_FALSE(parsed);
    EXPECT_THAT(parsed.error().message, testing::HasSubstr(part));
  };
  refused({"--nodes", "0"}, "between 1 and");
  refused({"--nodes", "many"}, "'many'");
  refused({"--nodes"}, "--nodes N");
  refused({"--nodes", "1", "--nodes", "2"}, "twice");
  refused({"--prtemca", "rml_radix"}, "--prtemca NAME VALUE");
  refused({"--node", "2"}, "did you mean --nodes");
  refused({"--hostfile", "x"}, "not built yet; what there is: --nodes");
  refused({"--dvm", "No Name"}, "No Name");
}

TEST(HeadOptions, HelpShowsExamples) {
  const auto parsed = parse({"--help"});
  ASSERT_TRUE(parsed && parsed->print);
  EXPECT_THAT(*parsed->print, testing::HasSubstr("Examples:"));
}

}  // namespace
}  // namespace tide::head
