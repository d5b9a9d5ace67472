#include "rm/dvm_hosts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hosts/hostfile.hpp"

namespace tide::rm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<hosts::HostWord> words(std::string_view text, std::string_view file) {
  auto parsed = hosts::parse_hostfile(text, file);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return *parsed;
}

struct Texts {
  std::string_view default_hostfile = {};
  std::string_view hostfile = {};
  std::string_view list = {};
};

// user@name:slots/max
std::vector<std::string> hosts_of(const Texts& texts) {
  HostSources sources{words(texts.default_hostfile, "D"), words(texts.hostfile, "F"), {}};
  if (!texts.list.empty()) {
    auto parsed = hosts::parse_host_list(texts.list, "--host");
    EXPECT_TRUE(parsed) << parsed.error().message;
    sources.host_list = *parsed;
  }
  const auto found = choose_hosts(sources);
  if (!found) return {"error: " + found.error().message};
  std::vector<std::string> out;
  for (const auto& host : *found) {
    out.push_back((host.user.empty() ? "" : host.user + "@") + host.name + ":" +
                  std::to_string(host.slots) + "/" + std::to_string(host.max_slots));
  }
  return out;
}

TEST(DvmHosts, NothingGivenIsNoHosts) {
  EXPECT_THAT(hosts_of({}), ElementsAre());
}

TEST(DvmHosts, AFileAListOrADefaultSaysWhatThereIs) {
  EXPECT_THAT(hosts_of({.hostfile = "b slots=2 max-slots=4\nme@a\n"}),
              ElementsAre("b:2/4", "me@a:0/0"));
  EXPECT_THAT(hosts_of({.list = "b:2,a"}), ElementsAre("b:2/0", "a:0/0"));
  EXPECT_THAT(hosts_of({.default_hostfile = "c"}), ElementsAre("c:0/0"));
}

TEST(DvmHosts, RepeatedNamesAddUp) {
  EXPECT_THAT(hosts_of({.hostfile = "a\na\nb slots=2\nb\na\nc slots=4 max-slots=5\nc slots=4\n"}),
              ElementsAre("a:3/0", "b:3/0", "c:5/5"));
  EXPECT_THAT(hosts_of({.hostfile = "me@a\na\n"}), ElementsAre("me@a:2/0"));
  EXPECT_THAT(hosts_of({.hostfile = "me@a\nyou@a\n"}), ElementsAre(HasSubstr("F:2:1: 'you@a'")));
}

TEST(DvmHosts, ExcludedHostsAreLeftOut) {
  EXPECT_THAT(hosts_of({.hostfile = "n[1-4]\n^n[2-3]\n^elsewhere\n"}),
              ElementsAre("n1:0/0", "n4:0/0"));
  EXPECT_THAT(hosts_of({.hostfile = "a\n^a\n"}), ElementsAre(HasSubstr("no host is left: F")));
}

TEST(DvmHosts, LaterSourcesChooseAmongTheFirst) {
  EXPECT_THAT(hosts_of({.hostfile = "a slots=4\nb\nc\n", .list = "c:2,a:9"}),
              ElementsAre("a:4/0", "c:2/0"));
  EXPECT_THAT(hosts_of({.default_hostfile = "a slots=4\nb\nc\n",
                        .hostfile = "me@a max-slots=3\nb\n",
                        .list = "a:2"}),
              ElementsAre("me@a:2/3"));
  EXPECT_THAT(hosts_of({.hostfile = "a\nb\n", .list = "^b"}), ElementsAre("a:0/0"));
  EXPECT_THAT(hosts_of({.hostfile = "a\nb\n", .list = "elsewhere"}),
              ElementsAre(HasSubstr(
                  "--host, column 1: 'elsewhere' is not in the hostfile, which has a, b")));
  EXPECT_THAT(hosts_of({.default_hostfile = "a\nb\n", .hostfile = "a\n", .list = "b"}),
              ElementsAre(HasSubstr("'b' stands for b, which the hostfile leaves out")));
}

TEST(DvmHosts, RelativeNamesCountInTheFirstList) {
  EXPECT_THAT(hosts_of({.hostfile = "a\nb\nc\n", .list = "+n2,+e:1"}),
              ElementsAre("a:0/0", "c:0/0"));
  EXPECT_THAT(hosts_of({.default_hostfile = "a\nb\nc\n", .hostfile = "b\nc\n", .list = "+n1"}),
              ElementsAre("b:0/0"));
  EXPECT_THAT(hosts_of({.default_hostfile = "a\nb\n", .hostfile = "+n0 slots=2\n"}),
              ElementsAre("a:2/0"));
  EXPECT_THAT(hosts_of({.hostfile = "a\nb\n", .list = "+n2"}),
              ElementsAre(HasSubstr("there is no '+n2' in the hostfile, which has 2 nodes")));
  EXPECT_THAT(hosts_of({.list = "+n0"}), ElementsAre(HasSubstr("and there is no list")));
  EXPECT_THAT(hosts_of({.hostfile = "a\n+e\n"}), ElementsAre(HasSubstr("F:2:1: '+e'")));
}

}  // namespace
}  // namespace tide::rm
