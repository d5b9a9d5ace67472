#include "head/check_report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tide::head {
namespace {

TEST(CheckJson, HasEveryHostWithWhatWasFoundOrWhyNot) {
  const CheckedHost good{.name = "n1",
                         .version = "0.1.0",
                         .cores = 2,
                         .hwthreads = 4,
                         .addresses = {"10.0.0.1", "fd00::1"},
                         .address = "fd00::1",
                         .took_ms = 312};
  const CheckedHost again{.name = "n1.cluster", .version = "0.1.0", .same_as = "n1"};
  const CheckedHost bad{.name = "n2", .failure = "no answer\xff\n  try: more"};
  const auto document = nlohmann::json::parse(check_json({good, again, bad}));
  EXPECT_EQ(document["schema_version"], 1);
  EXPECT_EQ(document["usable"], 2);
  EXPECT_EQ(document["unusable"], 1);
  ASSERT_EQ(document["hosts"].size(), 3U);
  const auto& first = document["hosts"][0];
  EXPECT_EQ(first["name"], "n1");
  EXPECT_EQ(first["usable"], true);
  EXPECT_TRUE(first["failure"].is_null());
  EXPECT_EQ(first["version"], "0.1.0");
  EXPECT_EQ(first["addresses"][1], "fd00::1");
  EXPECT_EQ(first["address"], "fd00::1");
  EXPECT_TRUE(document["hosts"][2]["address"].is_null());
  EXPECT_EQ(first["time_ms"], 312);
  EXPECT_EQ(document["hosts"][1]["same_machine_as"], "n1");
  EXPECT_EQ(document["hosts"][2]["usable"], false);
  EXPECT_TRUE(document["hosts"][2]["version"].is_null());
}

TEST(CheckText, HasATableThenTroubleThenTheSum) {
  const CheckedHost good{.name = "n1",
                         .version = "0.1.0",
                         .cores = 1,
                         .addresses = {"10.9.0.1"},
                         .address = "10.0.0.1",
                         .took_ms = 312};
  const CheckedHost again{.name = "n1.cluster",
                          .version = "0.1.0",
                          .cores = 2,
                          .hwthreads = 4,
                          .took_ms = 1500,
                          .same_as = "n1"};
  const CheckedHost bad{.name = "n2", .failure = "no answer\n  try: more"};
  EXPECT_EQ(check_text({good, bad, again}, "not tried: this"),
            "HOST        VERSION  PROCESSORS          ADDRESS   TIME\n"
            "n1          0.1.0    1 core              10.0.0.1  312 ms\n"
            "n1.cluster  0.1.0    2 cores, 4 threads            1.5 s\n"
            "n2 cannot be used: no answer\n"
            "  try: more\n"
            "node n1.cluster is the machine of node n1: they are one node with both names\n"
            "not tried: this\n"
            "3 hosts: 2 can be used, 1 cannot\n");
  EXPECT_EQ(check_text({bad}),
            "n2 cannot be used: no answer\n  try: more\n1 host: 0 can be used, 1 cannot\n");
}

}  // namespace
}  // namespace tide::head
