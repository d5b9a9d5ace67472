// Who of a step is where, from what its command and its daemons say.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "launch/step_words.hpp"

namespace tide::launch {

struct StepMember {
  Rank rank;
  std::string host;  // as the scheduler calls it
};

// Bounded: of each daemon and of the command itself it keeps some lines only.
class StepBook {
 public:
  enum class State : std::uint8_t { kSilent, kGreeted, kJoined, kOver };

  explicit StepBook(const std::vector<StepMember>& members);

  // A line of standard output; what a daemon says that takes it further, and is to be told. It is
  // over by its own words only when told so by `over`.
  std::optional<StepWord> heard(std::string_view line);
  // A line of standard error.
  void complained(std::string_view line);
  // Those that have not joined and of which the command says that they failed, each once. Their own
  // words may still be on their way.
  std::set<Rank> take_suspects();
  [[nodiscard]] bool has_suspects() const { return !suspects_.empty(); }

  void over(Rank rank);
  [[nodiscard]] bool contains(Rank rank) const { return members_.contains(rank); }
  [[nodiscard]] State state(Rank rank) const { return members_.at(rank).state; }
  [[nodiscard]] const std::string& host(Rank rank) const { return members_.at(rank).host; }
  [[nodiscard]] std::size_t count(State state) const {
    return counts_.at(static_cast<std::size_t>(state));
  }
  [[nodiscard]] std::size_t size() const { return members_.size(); }
  // In order.
  [[nodiscard]] std::vector<Rank> in_state(State state) const;
  [[nodiscard]] std::vector<Rank> living() const;

  // What was said about it that tells most: its own words, else those of its task and those that
  // name its host, else the command's own.
  [[nodiscard]] std::vector<std::string> words_of(Rank rank) const;
  // The same when it ends with the command: why that ends comes first, which may be about another.
  [[nodiscard]] std::vector<std::string> words_at_the_end(Rank rank) const;

 private:
  struct Member {
    std::string host;
    State state = State::kSilent;
    std::optional<std::uint32_t> label;  // of its lines
    std::vector<std::string> said;       // by itself, and meant for us
    std::vector<std::string> about;      // by the command, with its name
  };

  void enter(Member& member, State state);
  void note_about(Rank rank, std::string_view text);
  [[nodiscard]] std::set<Rank> named_in(std::string_view text) const;

  std::map<Rank, Member> members_;
  std::map<std::string, Rank, std::less<>> by_host_;
  std::map<std::uint32_t, std::vector<std::string>> by_label_;  // standard error of the tasks
  std::vector<std::string> general_;
  std::string first_trouble_;            // that the command told, of whomever
  std::array<std::size_t, 4> counts_{};  // of members, by state
  std::set<Rank> suspects_;
};

}  // namespace tide::launch
