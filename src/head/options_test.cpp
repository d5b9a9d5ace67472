#include "head/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_files.hpp"

namespace tide::head {
namespace {

// And chooses nodes, as a start does.
Result<ParsedOptions> parse(std::vector<const char*> words,
                            std::optional<rm::Grant> grant = std::nullopt) {
  words.insert(words.begin(), "prte");
  auto parsed = parse_options(static_cast<int>(words.size()), words.data());
  if (!parsed || parsed->print) return parsed;
  if (auto chosen = choose_nodes(parsed->options, std::move(grant)); !chosen) return chosen.error();
  return parsed;
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
  EXPECT_THAT(parsed->options.params,
              ::testing::ElementsAre(::testing::Pair("prte_tmpdir_base", "--a=b"),
                                     ::testing::Pair("x", "-12")));
  EXPECT_EQ(parsed->options.report_uri, "-uri");
  EXPECT_EQ(parsed->options.report_pid, "-p=id");
}

TEST(HeadOptions, RefusesWithAReason) {
  const auto refused = [](std::vector<const char*> words, const char* part) {
    const auto parsed = parse(std::move(words));
    ASSERT_FALSE(parsed);
    EXPECT_THAT(parsed.error().message, ::testing::HasSubstr(part));
  };
  refused({"--nodes", "0"}, "between 1 and");
  refused({"--nodes", "many"}, "'many'");
  refused({"--nodes"}, "--nodes N");
  refused({"--nodes", "1", "--nodes", "2"}, "twice");
  refused({"--prtemca", "rml_radix"}, "--prtemca NAME VALUE");
  refused({"--node", "2"}, "did you mean --nodes");
  refused({"--singleton", "x"}, "not built yet");
  refused({"--hostfile", "/nowhere/x"}, "the hostfile '/nowhere/x' can't be read: No such file");
  refused({"--host", "a,,b"}, "--host, column 3: ''");
  refused({"--nodes", "2", "--host", "a"}, "--nodes makes nodes of this machine, and --host");
  refused({"--default-hostfile", "a", "--default-hostfile", "b"}, "twice");
  refused({"--dvm", "No Name"}, "No Name");
  refused({"--check"}, "a check needs hosts");
}

TEST(HeadOptions, HostsAreReadFromListsAndFiles) {
  const tide::testing::TemporaryDirectory directory;
  const std::string file = directory.file("nodes");
  tide::testing::write_text(file, "n1 slots=4 max-slots=6\nme@n2\nn3\n");
  auto parsed = parse({"--hostfile", file.c_str(), "--host", "n1:2,n2", "--slots", "3"});
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_THAT(parsed->options.hosts,
              ::testing::ElementsAre(rm::Host{"n1", "", 2, 6}, rm::Host{"n2", "me", 3, 0}));
  limit_size(parsed->options, 1);
  EXPECT_THAT(parsed->options.hosts, ::testing::SizeIs(1));

  parsed = parse({"-H", "a,b:2", "--host", "c", "--set-slots", "sockets", "--max-vm-size", "2"});
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_THAT(parsed->options.hosts,
              ::testing::ElementsAre(rm::Host{"a", "", 0, 0}, rm::Host{"b", "", 2, 0},
                                     rm::Host{"c", "", 0, 0}));
  EXPECT_THAT(parsed->options.params,
              ::testing::ElementsAre(::testing::Pair("prte_set_default_slots", "sockets"),
                                     ::testing::Pair("prte_max_vm_size", "2")));
}

const rm::Grant kGrant{"slurm",
                       "17",
                       {{"node1", "", 4, 0}, {"node2", "", 4, 0}, {"node3.east", "", 2, 0}},
                       "SLURM_JOB_NODELIST"};

// row:L7 counts that a scheduler gives stay
TEST(HeadOptions, NodesOfAJobAreThoseOfTheDvm) {
  const auto parsed = parse({"--set-slots", "16", "--slots", "9"}, kGrant);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->options.hosts, kGrant.hosts);
  EXPECT_EQ(parsed->options.grant, kGrant);

  rm::Grant without_slots = kGrant;
  without_slots.hosts = {{"node1", "", 0, 0}};
  EXPECT_THAT(parse({"--slots", "9"}, without_slots)->options.hosts,
              ::testing::ElementsAre(rm::Host{"node1", "", 9, 0}));
}

TEST(HeadOptions, WhatNobodyChoseOfAJobCanBeHadLater) {
  auto grant = kGrant;
  grant.manager = "pbs";
  auto parsed = parse({"--host", "node2"}, grant);
  ASSERT_TRUE(parsed) << parsed.error().message;
  keep_the_rest(parsed->options);
  EXPECT_THAT(parsed->options.pool_hosts,
              ::testing::ElementsAre(kGrant.hosts.at(0), kGrant.hosts.at(2)));
  auto of_slurm = parse({"--host", "node2"}, kGrant);
  keep_the_rest(of_slurm->options);
  EXPECT_TRUE(of_slurm->options.pool_hosts.empty()) << "its own manager has them";
}

TEST(HeadOptions, HostsChooseAmongTheNodesOfAJob) {
  using ::testing::ElementsAre;
  using ::testing::HasSubstr;
  const tide::testing::TemporaryDirectory directory;
  const std::string file = directory.file("nodes");
  tide::testing::write_text(file, "node1 slots=2\nnode3\n");
  const auto hosts = [](std::vector<const char*> words) {
    const auto parsed = parse(std::move(words), kGrant);
    EXPECT_TRUE(parsed) << parsed.error().message;
    if (!parsed) return std::vector<rm::Host>();
    EXPECT_EQ(parsed->options.grant, kGrant) << "what is not chosen stays granted";
    return parsed->options.hosts;
  };
  const rm::Host third{"node3.east", "", 2, 0};
  EXPECT_THAT(hosts({"--host", "node3"}), ElementsAre(third));
  EXPECT_THAT(hosts({"--host", "node1:8,node2.east:3"}),
              ElementsAre(rm::Host{"node1", "", 4, 0}, rm::Host{"node2", "", 3, 0}));
  EXPECT_THAT(hosts({"--host", "+n2"}), ElementsAre(third));
  EXPECT_THAT(hosts({"--host", "+e:1"}), ElementsAre(rm::Host{"node1", "", 4, 0}));
  EXPECT_THAT(hosts({"--host", "^node[1-2]"}), ElementsAre(third));
  EXPECT_THAT(hosts({"--hostfile", file.c_str()}), ElementsAre(rm::Host{"node1", "", 2, 0}, third));
  EXPECT_THAT(hosts({"--default-hostfile", file.c_str(), "--host", "node1"}),
              ElementsAre(rm::Host{"node1", "", 2, 0}));
  EXPECT_THAT(parse({"--host", "node9"}, kGrant).error().message,
              HasSubstr("--host, column 1: 'node9' is not in Slurm job 17, which has node1, node2, "
                        "node3.east\n  try: one of these"));
  EXPECT_THAT(parse({"--host", "+n3"}, kGrant).error().message,
              HasSubstr("there is no '+n3' in Slurm job 17, which has 3 nodes"));
  EXPECT_THAT(parse({"--host", "^node[1-3]"}, kGrant).error().message,
              HasSubstr("no host is left"));
}

TEST(HeadOptions, NodesOfThisMachineAreNoneOfAJob) {
  const auto parsed = parse({"--nodes", "3"});
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_TRUE(parsed->options.gave_nodes) << "nobody asks for a grant then";
  EXPECT_THAT(parsed->options.hosts, ::testing::IsEmpty());
  EXPECT_FALSE(parse({})->options.gave_nodes);
}

TEST(HeadOptions, ANodeLimitLeavesTheRestOfAJobForLater) {
  auto parsed = parse({"--max-vm-size", "1"}, kGrant);
  ASSERT_TRUE(parsed) << parsed.error().message;
  limit_size(parsed->options, 1);
  EXPECT_THAT(parsed->options.hosts, ::testing::ElementsAre(kGrant.hosts[0]));
  EXPECT_THAT(parsed->options.pool_hosts, ::testing::ElementsAre(kGrant.hosts[1], kGrant.hosts[2]));
  EXPECT_EQ(parsed->options.grant, kGrant);
}

TEST(HeadOptions, ACheckTakesTheNodesOfAJob) {
  const auto parsed = parse({"--check"}, kGrant);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->options.hosts, kGrant.hosts);
}

TEST(HeadOptions, AJobOfASchedulerHasNoPoolBesides) {
  const tide::testing::TemporaryDirectory directory;
  const std::string file = directory.file("pool");
  tide::testing::write_text(file, "n3\n");
  const auto trouble = [](std::vector<const char*> words) -> std::string {
    const auto parsed = parse(std::move(words), kGrant);
    if (!parsed) return parsed.error().message;
    auto options = parsed->options;
    options.elastic = true;
    const auto checked = check_pool(options);
    return checked ? "" : checked.error().message;
  };
  EXPECT_THAT(trouble({"--pool", "2"}),
              ::testing::HasSubstr("--pool is for a DVM that gets its nodes from nobody else, and "
                                   "here they are those of Slurm job 17"));
  EXPECT_THAT(trouble({"--host", "node1", "--pool-hostfile", file.c_str()}),
              ::testing::HasSubstr("--pool-hostfile is for a DVM that gets"));
  EXPECT_EQ(trouble({"--pool-lease", "5m"}), "");
}

TEST(HeadOptions, APoolGoesWithAnElasticDvmOfItsKind) {
  const tide::testing::TemporaryDirectory directory;
  const std::string file = directory.file("pool");
  tide::testing::write_text(file, "n3 slots=4\nn4\n");
  const auto trouble = [](std::vector<const char*> words, bool elastic) -> std::string {
    auto parsed = parse(std::move(words));
    if (!parsed) return parsed.error().message;
    parsed->options.elastic = elastic;
    const auto checked = check_pool(parsed->options);
    return checked ? "" : checked.error().message;
  };
  using ::testing::HasSubstr;
  EXPECT_EQ(trouble({"--nodes", "2", "--pool", "6"}, true), "");
  EXPECT_EQ(trouble({"--host", "a", "--pool-hostfile", file.c_str()}, true), "");
  EXPECT_THAT(trouble({"--pool", "6", "--pool-lease", "5m", "--pool-warn", "6m"}, true),
              HasSubstr("would come before the nodes"));
  EXPECT_THAT(trouble({"--pool", "6"}, false), HasSubstr("try: --elastic"));
  EXPECT_THAT(trouble({"--host", "a", "--pool-hostfile", file.c_str()}, false),
              HasSubstr("--pool-hostfile is for a DVM that grows"));
  EXPECT_THAT(trouble({"--host", "a", "--pool", "6"}, true), HasSubstr("--pool-hostfile FILE"));
  EXPECT_THAT(trouble({"--pool-hostfile", file.c_str()}, true), HasSubstr("--host or --hostfile"));
  EXPECT_THAT(trouble({"--pool-hostfile", "/nowhere/x"}, true), HasSubstr("can't be read"));
  EXPECT_THAT(trouble({"--pool", "0"}, true), HasSubstr("between 1 and"));

  const auto parsed =
      parse({"--elastic", "--host", "a", "--pool-hostfile", file.c_str(), "--slots", "2"});
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_THAT(parsed->options.pool_hosts,
              ::testing::ElementsAre(rm::Host{"n3", "", 4, 0}, rm::Host{"n4", "", 2, 0}));
  EXPECT_THAT(parsed->options.params,
              ::testing::ElementsAre(::testing::Pair("prte_elastic_mode", "1")));
}

TEST(HeadOptions, WhatIsGivenHasSomethingInIt) {
  for (const char* option : {"--launch-agent", "--prefix"}) {
    for (const char* nothing : {"", " "}) {
      const auto parsed = parse({option, nothing});
      ASSERT_FALSE(parsed) << option;
      EXPECT_THAT(parsed.error().message,
                  ::testing::HasSubstr(std::string("the value of ") + option + " is empty"));
    }
  }
}

TEST(HeadOptions, HelpShowsExamples) {
  const auto parsed = parse({"--help"});
  ASSERT_TRUE(parsed && parsed->print);
  EXPECT_THAT(*parsed->print, ::testing::HasSubstr("Examples:"));
}

}  // namespace
}  // namespace tide::head
