#include "hosts/hostfile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/test_files.hpp"
#include "base/text.hpp"

namespace tide::hosts {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

// A word as text, with all that is known of it: ^user@name:slots/max, +n3, +e2.
std::string shown(const HostWord& word) {
  std::string out = word.excluded ? "^" : "";
  if (!word.user.empty()) out += word.user + "@";
  if (word.kind == HostWord::Kind::kName) out += word.name;
  if (word.kind == HostWord::Kind::kIndex) out += "+n" + std::to_string(word.number);
  if (word.kind == HostWord::Kind::kEmpty) out += "+e" + std::to_string(word.number);
  if (word.slots > 0) out += " slots " + std::to_string(word.slots);
  if (word.max_slots > 0) out += " max " + std::to_string(word.max_slots);
  return out;
}

std::vector<std::string> shown(const Result<std::vector<HostWord>>& words) {
  if (!words) return {"error: " + words.error().message};
  std::vector<std::string> out;
  for (const auto& word : *words) out.push_back(shown(word));
  return out;
}

std::vector<std::string> file(std::string_view text) {
  return shown(parse_hostfile(text, "F"));
}

std::vector<std::string> list(std::string_view text) {
  return shown(parse_host_list(text, "--host"));
}

std::string file_error(std::string_view text) {
  const auto words = parse_hostfile(text, "F");
  return words ? "no error" : words.error().message;
}

std::string list_error(std::string_view text) {
  const auto words = parse_host_list(text, "--host");
  return words ? "no error" : words.error().message;
}

TEST(Hostfile, AMarkAtTheBeginningOfTheFileIsNoPartOfAName) {
  EXPECT_THAT(file("\xef\xbb\xbfnode1\r\nnode2\r\n"), ElementsAre("node1", "node2"));
}

TEST(Hostfile, OneHostPerLineWithSettings) {
  EXPECT_THAT(file("node1\nnode2 slots=4\nnode3 slots=2 max-slots=8\nnode4 max_slots=3\n"),
              ElementsAre("node1", "node2 slots 4", "node3 slots 2 max 8", "node4 max 3"));
  EXPECT_THAT(file("node1:2\nme@node2\nme@node3:4 max-slots=4"),
              ElementsAre("node1 slots 2", "me@node2", "me@node3 slots 4 max 4"));
  EXPECT_THAT(file("a slots = 4\nb\tslots= 2\tmax-slots =3"),
              ElementsAre("a slots 4", "b slots 2 max 3"));
}

TEST(Hostfile, CommentsBlanksAndLineEndsOfOtherSystems) {
  EXPECT_THAT(file("# all of it\r\n\r\n  \t\n a # the first\r\n\tb:2\t# two\r\nc#x\n#d\r\n"),
              ElementsAre("a", "b slots 2", "c"));
  EXPECT_THAT(file(""), SizeIs(0));
}

TEST(Hostfile, ExclusionAndRelativeNames) {
  EXPECT_THAT(file("^node3\n^node[1-2]\n+n2 slots=2\n+n0:3\n+e\n+e:2\n^+n1\n+e slots=1"),
              ElementsAre("^node3", "^node1", "^node2", "+n2 slots 2", "+n0 slots 3", "+e0", "+e2",
                          "^+n1", "+e0 slots 1"));
}

TEST(HostList, NamesSlotsRangesAndRelativeNames) {
  EXPECT_THAT(list("a,b:2,node[01-03],+n0"),
              ElementsAre("a", "b slots 2", "node01", "node02", "node03", "+n0"));
  EXPECT_THAT(list(" a , b:2 "), ElementsAre("a", "b slots 2"));
  EXPECT_THAT(list("a:*,b:auto"), ElementsAre("a", "b"));
}

TEST(HostList, RangesKeepZerosAndCombine) {
  EXPECT_THAT(list("n[8-11]"), ElementsAre("n8", "n9", "n10", "n11"));
  EXPECT_THAT(list("n[08-10,20]:3"),
              ElementsAre("n08 slots 3", "n09 slots 3", "n10 slots 3", "n20 slots 3"));
  EXPECT_THAT(list("r[1-2]n[01-02]x"), ElementsAre("r1n01x", "r1n02x", "r2n01x", "r2n02x"));
  EXPECT_THAT(list("10.0.0.[1-2]"), ElementsAre("10.0.0.1", "10.0.0.2"));
  EXPECT_THAT(list("u@n[1-2]"), ElementsAre("u@n1", "u@n2"));
  EXPECT_THAT(list("n[1-100000]"), SizeIs(100'000));
}

TEST(HostList, Addresses) {
  EXPECT_THAT(list("10.1.2.3:4,::1,[::1],[fe80::2%eth0]:3,me@[::1]:2,fe80::1:4"),
              ElementsAre("10.1.2.3 slots 4", "::1", "::1", "fe80::2%eth0 slots 3",
                          "me@::1 slots 2", "fe80::1:4"));
  EXPECT_THAT(list_error("300.1.1.1"), HasSubstr("'300.1.1.1' is no address"));
  EXPECT_THAT(list_error("10.0.0.[255-256]"), HasSubstr("is no address"));
  EXPECT_THAT(list_error("[::1]x"), HasSubstr("'[::1]x' is no address"));
  EXPECT_THAT(list_error("[::1"), HasSubstr("is no address"));
  EXPECT_THAT(list_error("a:b:c"), HasSubstr("is no address"));
  EXPECT_THAT(list_error("fe80::1%"), HasSubstr("is no address"));
}

TEST(Hostfile, ErrorsSayWhereAndWhat) {
  EXPECT_THAT(file_error("a\n\n  b slot=2"), StartsWith("F:3:5: 'slot' is no setting of a host; did"
                                                        " you mean slots?\n  try: "));
  EXPECT_THAT(file_error("a b"), StartsWith("F:1:3: 'b' is one word too many"));
  EXPECT_THAT(file_error("a slots"), StartsWith("F:1:3: 'slots' has no value"));
  EXPECT_THAT(file_error("a slots="), StartsWith("F:1:3: 'slots' has no value"));
  EXPECT_THAT(file_error("a slots=0"), StartsWith("F:1:9: '0' is no number of slots"));
  EXPECT_THAT(file_error("a slots=65537"), StartsWith("F:1:9: '65537' is no number"));
  EXPECT_THAT(file_error("a slots=x # 4"), StartsWith("F:1:9: 'x' is no number of slots"));
  EXPECT_THAT(file_error("a slots=1 slots=2"), StartsWith("F:1:11: 'slots' is said twice"));
  EXPECT_THAT(file_error("a:1 slots=2"), StartsWith("F:1:1: 'a:1' is said twice"));
  EXPECT_THAT(file_error("a slots=4 max-slots=2"), StartsWith("F:1:1: 'a' has 4 slots"));
  EXPECT_THAT(file_error("a@b@c"), StartsWith("F:1:1: 'a@b@c' has more than one '@'"));
  EXPECT_THAT(file_error("@b"), StartsWith("F:1:1: '@b' has no user"));
  EXPECT_THAT(file_error("me@"), StartsWith("F:1:4: '' names no host"));
  EXPECT_THAT(file_error("no$de"), StartsWith("F:1:3: '$' is nothing that a name"));
  EXPECT_THAT(file_error("n\xc3\xbc"
                         "de"),
              StartsWith("F:1:2: '\xc3\xbc' is nothing that a name"));
  EXPECT_THAT(file_error("n\xfc"
                         "de"),
              StartsWith("F:1:2: '\\xfc' is nothing that a name"));
  EXPECT_THAT(file_error("\xe2\x80\x8bme@node"), StartsWith("F:1:1: '\xe2\x80\x8b' is nothing"));
  EXPECT_THAT(file_error("m;e@node"), StartsWith("F:1:2: ';' is nothing that a name"));
  EXPECT_THAT(file_error("a,b"), StartsWith("F:1:2: ',' is nothing"));
  EXPECT_THAT(file_error("^a slots=2"), StartsWith("F:1:1: '^a' is excluded and has slots"));
  EXPECT_THAT(file_error("^me@a"), StartsWith("F:1:1: '^me@a' is excluded"));
}

// They would be options of ssh.
TEST(HostList, NothingBeginsWithADash) {
  EXPECT_THAT(list_error("-oProxyCommand"), HasSubstr("column 1: '-oProxyCommand' begins with"));
  EXPECT_THAT(list_error("-o@node"), HasSubstr("column 1: '-o' begins with"));
  EXPECT_THAT(list_error("me@-o"), HasSubstr("column 4: '-o' begins with"));
}

TEST(HostList, ErrorsSayWhereAndWhat) {
  EXPECT_THAT(list_error(""), StartsWith("--host, column 1: '' names no host"));
  EXPECT_THAT(list_error("a,,b"), StartsWith("--host, column 3: '' names no host"));
  EXPECT_THAT(list_error("a,"), StartsWith("--host, column 3: '' names no host"));
  EXPECT_THAT(list_error("a:"), StartsWith("--host, column 3: '' is no number of slots"));
  EXPECT_THAT(list_error("b,n[01-"), StartsWith("--host, column 4: '[01-' has a '['"));
  EXPECT_THAT(list_error("n]"), StartsWith("--host, column 2: ']' has a ']'"));
  EXPECT_THAT(list_error("n[3-1]"), StartsWith("--host, column 3: '3-1' is no range"));
  EXPECT_THAT(list_error("n[]"), StartsWith("--host, column 3: '' is no range"));
  EXPECT_THAT(list_error("n[1,,2]"), StartsWith("--host, column 3: '1,,2' is no range"));
  EXPECT_THAT(list_error("n[a-c]"), StartsWith("--host, column 3: 'a-c' is no range"));
  EXPECT_THAT(list_error("n[1-100001]"), HasSubstr("makes more than 100000 hosts"));
  EXPECT_THAT(list_error("x,n[1-100000]"), HasSubstr("makes more than 100000 hosts"));
  EXPECT_THAT(list_error("n[1-400][1-400]"), HasSubstr("makes more than 100000 hosts"));
  EXPECT_THAT(list_error("n[1-999999999999999999][1-999999999999999999]"),
              HasSubstr("makes more than 100000 hosts"));
  EXPECT_THAT(list_error("n[1-9999999999999999999]"), HasSubstr("is no range"));
  EXPECT_THAT(list_error(std::string(254, 'a')), HasSubstr("longer than a name"));
  EXPECT_THAT(list_error("+x"), StartsWith("--host, column 1: '+x' is no relative name"));
  EXPECT_THAT(list_error("+n"), HasSubstr("is no relative name"));
  EXPECT_THAT(list_error("+n-1"), HasSubstr("is no relative name"));
  EXPECT_THAT(list_error("+n99999999999"), HasSubstr("is no relative name"));
  EXPECT_THAT(list_error("+e:0"), StartsWith("--host, column 4: '0' is no number of empty"));
  EXPECT_THAT(list_error("^+e"), HasSubstr("can't be excluded"));
  EXPECT_THAT(list_error("me@+n0"), HasSubstr("'+' is nothing that a name"));
  EXPECT_THAT(list_error("+n0@me"), HasSubstr("has a user"));
}

TEST(ReadHostfiles, SeveralFilesAreOneList) {
  const tide::testing::TemporaryDirectory directory;
  const std::string a = directory.file("a");
  const std::string b = directory.file("b");
  const std::string none = directory.file("none");
  tide::testing::write_text(a, "n1\n");
  tide::testing::write_text(b, "n2:2\n");
  tide::testing::write_text(none, "# nobody\n");
  const auto read = [](std::vector<std::string> files) { return shown(read_hostfiles(files)); };
  EXPECT_THAT(read({a, b}), ElementsAre("n1", "n2 slots 2"));
  EXPECT_THAT(read({a + "," + b}), ElementsAre("n1", "n2 slots 2"));
  EXPECT_THAT(read({none}), ElementsAre(HasSubstr("names no host")));
  EXPECT_THAT(read({directory.path()}), ElementsAre(HasSubstr("can't be read: Is a directory")));
  EXPECT_THAT(read({directory.file("absent")}), ElementsAre(HasSubstr("can't be read: No such")));
}

// ---- whatever the text, there is an answer ----

// Texts out of the pieces that mean something, where the corners are.
rc::Gen<std::string> texts() {
  static const std::vector<std::string> kPieces = {"node",     "a",     "01",
                                                   "9",        "-",     "[",
                                                   "]",        ",",     ":",
                                                   "@",        "^",     "+n",
                                                   "+e",       "+",     "\n",
                                                   " ",        "\t",    "\r",
                                                   "#",        "slots", "max-slots",
                                                   "=",        "::",    "1",
                                                   ".",        "%",     "0",
                                                   "\\",       "ü",     "[1-3]",
                                                   "10.0.0.1", "[::1]", "99999999999999999999",
                                                   "[1-99999]"};
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(kPieces)),
                      [](const std::vector<std::string>& pieces) { return join(pieces, ""); });
}

void check_error(const std::string& message, std::string_view source, std::string_view text) {
  RC_ASSERT(message.starts_with(source));
  RC_ASSERT(message.find("\n  try: ") != std::string::npos);
  std::uint32_t line = 1;
  std::uint32_t column = 0;
  const bool of_list = std::sscanf(message.c_str(), "--host, column %u:", &column) == 1;
  RC_ASSERT(of_list || std::sscanf(message.c_str(), "F:%u:%u:", &line, &column) == 2);
  const auto lines = of_list ? std::vector{std::string(text)} : split(text, '\n');
  RC_ASSERT(line >= 1 && line <= lines.size());
  RC_ASSERT(column >= 1 && column <= lines[line - 1].size() + 1);
}

void check_words(const std::vector<HostWord>& words) {
  for (const auto& word : words) {
    const bool named = word.kind == HostWord::Kind::kName;
    RC_ASSERT(named == !word.name.empty());
    RC_ASSERT(word.name.empty() || word.name[0] != '-');
    RC_ASSERT(word.user.empty() || word.user[0] != '-');
    RC_ASSERT(word.name.find_first_of(" \t\r\n,;$`'\"\\[]@^+") == std::string::npos);
    RC_ASSERT(word.slots <= kMaxSlotsPerHost);
  }
}

RC_GTEST_PROP(HostfileProperty, IsWordsOrAnErrorWithAPlace, ()) {
  const auto text = *texts();
  const auto words = parse_hostfile(text, "F");
  if (!words) return check_error(words.error().message, "F:", text);
  check_words(*words);
}

RC_GTEST_PROP(HostListProperty, IsWordsOrAnErrorWithAPlace, ()) {
  const auto text = *texts();
  const auto words = parse_host_list(text, "--host");
  if (!words) return check_error(words.error().message, "--host, column ", text);
  RC_ASSERT(!words->empty());
  check_words(*words);
}

RC_GTEST_PROP(HostListProperty, AnyBytesAreAnswered, (const std::string& text)) {
  if (const auto words = parse_hostfile(text, "F")) check_words(*words);
  if (const auto words = parse_host_list(text, "--host")) check_words(*words);
}

}  // namespace
}  // namespace tide::hosts
