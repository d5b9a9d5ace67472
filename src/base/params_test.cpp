#include "base/params.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace tide {
namespace {

using ::testing::HasSubstr;

class ParamsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "tide-params-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& text) {
    const std::string path = (folder_ / name).string();
    std::ofstream(path) << text;
    return path;
  }

  std::filesystem::path folder_;
};

std::string error_of(const Result<Params>& result) {
  return result.ok() ? std::string("no error") : result.error().message;
}

TEST(ParamTable, EveryDefaultIsAValidValue) {
  std::map<std::string, std::string> all;
  for (const ParamDef& def : param_table()) {
    EXPECT_FALSE(def.help.empty()) << def.name;
    EXPECT_EQ(def.help.find('\n'), std::string_view::npos) << def.name;
    all.emplace(def.name, def.default_value);
  }
  const Result<Params> params = Params::from_map(all);
  EXPECT_TRUE(params) << error_of(params);
}

TEST(ParamTable, Defaults) {
  const Params params;
  EXPECT_EQ(params.get_int("rml_radix"), 64);
  EXPECT_EQ(params.get_int("rml_base_radix"), 64);
  EXPECT_EQ(params.get_size("prte_max_msg_size"), 64U << 20);
  EXPECT_EQ(params.get_string("prte_set_default_slots"), "cores");
  EXPECT_EQ(params.get_duration_ms("tide_reduction_patience"), 50U);
  EXPECT_EQ(params.get_duration_ms("tide_start_timeout"), 60'000U);
  EXPECT_EQ(params.source("rml_radix").text, "default");
  EXPECT_TRUE(params.explicitly_set().empty());
}

TEST_F(ParamsTest, PrecedenceAndSources) {
  ParamInputs inputs;
  inputs.site_file = file("site",
                          "rml_radix=2\nplm_base_verbose=1\nras_base_verbose=1\n"
                          "iof_base_verbose=1\n");
  inputs.user_file = file("user",
                          "# mine\n\nrml_radix = 3 # three\nplm_base_verbose=2\n"
                          "ras_base_verbose=2\n");
  inputs.environment = {"PRTE_MCA_rml_radix=4", "PRTE_MCA_plm_base_verbose=3", "HOME=/x", "odd"};
  inputs.command_line = {{"rml_base_radix", "5"}};
  const Result<Params> params = Params::load(inputs);
  ASSERT_TRUE(params) << error_of(params);
  EXPECT_EQ(params->get_int("rml_radix"), 5);
  EXPECT_EQ(params->source("rml_radix").origin, ParamOrigin::kCommandLine);
  EXPECT_EQ(params->get_int("plm_base_verbose"), 3);
  EXPECT_EQ(params->source("plm_base_verbose").text, "environment PRTE_MCA_plm_base_verbose");
  EXPECT_EQ(params->get_int("ras_base_verbose"), 2);
  EXPECT_EQ(params->source("ras_base_verbose").text, "file " + inputs.user_file + ":5");
  EXPECT_EQ(params->get_int("iof_base_verbose"), 1);
  EXPECT_EQ(params->source("iof_base_verbose").origin, ParamOrigin::kSiteFile);
}

TEST_F(ParamsTest, DaemonGetsWhatWasSet) {
  ParamInputs inputs;
  inputs.command_line = {{"rml_base_radix", "2"}, {"tide_kill_grace", "250ms"}};
  const Result<Params> at_head = Params::load(inputs);
  ASSERT_TRUE(at_head) << error_of(at_head);
  const std::map<std::string, std::string> expected = {{"rml_radix", "2"},
                                                       {"tide_kill_grace", "250ms"}};
  EXPECT_EQ(at_head->explicitly_set(), expected);
  const Result<Params> at_daemon = Params::from_map(at_head->explicitly_set());
  ASSERT_TRUE(at_daemon) << error_of(at_daemon);
  EXPECT_EQ(at_daemon->get_duration_ms("tide_kill_grace"), 250U);
  EXPECT_EQ(at_daemon->source("rml_radix").origin, ParamOrigin::kHead);
}

TEST_F(ParamsTest, UnknownNameIsNamedWithSourceAndSuggestion) {
  ParamInputs inputs;
  inputs.environment = {"PRTE_MCA_rml_raddix=4"};
  const Result<Params> params = Params::load(inputs);
  ASSERT_FALSE(params);
  EXPECT_EQ(params.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(params.error().message,
            "unknown parameter 'rml_raddix' (from environment PRTE_MCA_rml_raddix); did you mean "
            "'rml_radix'?");
}

TEST_F(ParamsTest, BadLinesAreGivenWithFileAndNumber) {
  ParamInputs inputs;
  inputs.user_file = file("user", "rml_radix = 3\nnonsense\n");
  EXPECT_THAT(error_of(Params::load(inputs)), HasSubstr(inputs.user_file + ":2: 'nonsense'"));
  inputs.user_file = file("user", "\nrml_radix = many\n");
  EXPECT_THAT(error_of(Params::load(inputs)),
              HasSubstr("'many' for parameter rml_radix (from file " + inputs.user_file + ":2)"));
}

TEST_F(ParamsTest, BadValueIsAnErrorEvenIfOverridden) {
  ParamInputs inputs;
  inputs.environment = {"PRTE_MCA_rml_radix=none"};
  inputs.command_line = {{"rml_radix", "5"}};
  EXPECT_THAT(error_of(Params::load(inputs)), HasSubstr("bad value 'none'"));
}

TEST_F(ParamsTest, MissingFilesAreSkippedUnreadableOnesAreNot) {
  ParamInputs inputs;
  inputs.user_file = (folder_ / "absent").string();
  EXPECT_TRUE(Params::load(inputs));
  inputs.user_file = folder_.string();
  EXPECT_FALSE(Params::load(inputs));
  inputs.user_file = file("big", std::string(2U << 20, '\n'));
  EXPECT_THAT(error_of(Params::load(inputs)), HasSubstr("larger"));
}

TEST(Params, RangesChoicesAndChecks) {
  const auto error_for = [](const char* name, const char* value) {
    return error_of(Params::from_map({{name, value}}));
  };
  EXPECT_THAT(error_for("rml_radix", "0"), HasSubstr("from 1 to 4096"));
  EXPECT_THAT(error_for("rml_radix", "4097"), HasSubstr("from 1 to 4096"));
  EXPECT_THAT(error_for("plm_base_verbose", "6"), HasSubstr("from 0 to 5"));
  EXPECT_THAT(error_for("tide_heartbeat_timeout", "2000h"), HasSubstr("from 50 ms to 1 h"));
  EXPECT_THAT(error_for("prte_set_default_slots", "core"), HasSubstr("did you mean 'cores'?"));
  EXPECT_THAT(error_for("prte_set_default_slots", "0"), HasSubstr("from 1 to"));
  EXPECT_EQ(error_for("prte_set_default_slots", "12"), "no error");
  EXPECT_EQ(error_for("prte_set_default_slots", "hwthreads"), "no error");
  EXPECT_THAT(error_for("prte_tmpdir_base", "here"), HasSubstr("absolute"));
  EXPECT_THAT(error_for("tide_failpoint", "x:explode"), HasSubstr("NAME:hold"));
  EXPECT_EQ(error_for("tide_failpoint", "x:hold,y:delay=5"), "no error");
}

TEST(Params, HeartbeatsMustFitTheirTimeout) {
  EXPECT_THAT(error_of(Params::from_map({{"tide_heartbeat_interval", "10s"}})),
              HasSubstr("tide_heartbeat_timeout (10s, from default) must be longer than"));
  EXPECT_TRUE(
      Params::from_map({{"tide_heartbeat_interval", "20ms"}, {"tide_heartbeat_timeout", "100ms"}}));
}

TEST(Params, InterfacesAreNamesOrNetworks) {
  for (const char* good :
       {"", "eth1", "eth0.100, ib0", "10.78.0.0/16,fd00::/64", "lo,10.0.0.1/8"}) {
    EXPECT_TRUE(Params::from_map({{"prte_if_include", good}})) << good;
    EXPECT_TRUE(Params::from_map({{"prte_if_exclude", good}})) << good;
  }
  for (const auto& [value, word] : {std::pair{"eth0,10.78.0.0/40", "'10.78.0.0/40'"},
                                    {"eth0,", "''"},
                                    {",", "''"},
                                    {"10.78.0.1", "'10.78.0.1'"},
                                    {"eth0/8", "'eth0/8'"}}) {
    const std::string error = error_of(Params::from_map({{"prte_if_exclude", value}}));
    EXPECT_THAT(error, HasSubstr("prte_if_exclude"));
    EXPECT_THAT(error, HasSubstr(std::string(word) + " is neither the name of an interface"));
  }
}

TEST(Params, OnlyOneSaysWhichNetworkToUse) {
  EXPECT_THAT(
      error_of(Params::from_map({{"prte_if_include", "eth1"}, {"prte_if_exclude", "eth0"}})),
      HasSubstr("prte_if_include (from head) and prte_if_exclude (from head) can't both"));
  EXPECT_THAT(
      error_of(Params::from_map({{"prte_if_exclude", "eth1"}, {"tide_listen_address", "::"}})),
      HasSubstr("prte_if_exclude (from head) and tide_listen_address"));
  EXPECT_TRUE(Params::from_map({{"prte_if_include", ""}, {"prte_if_exclude", "eth0"}}));
}

TEST(Params, StandardInputsTakeHomeAndEnvironment) {
  const char* const environment[] = {"HOME=/home/x", "PRTE_MCA_rml_radix=4", "PATH=/bin", nullptr};
  const ParamInputs inputs = standard_param_inputs({{"a", "b"}}, environment);
  EXPECT_EQ(inputs.user_file, "/home/x/.prte/mca-params.conf");
  EXPECT_EQ(inputs.site_file, "/etc/prte/mca-params.conf");
  EXPECT_EQ(inputs.environment, std::vector<std::string>{"PRTE_MCA_rml_radix=4"});
  EXPECT_EQ(inputs.command_line.size(), 1U);
}

}  // namespace
}  // namespace tide
