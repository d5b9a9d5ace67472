#include "launch/step_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/text.hpp"

namespace tide::launch {
namespace {

constexpr std::size_t kLongestLine = 4096;
constexpr std::string_view kEndOrder = "end ";

struct Form {
  std::string_view word;  // long enough to be in nothing that a scheduler says
  StepWord::What what;
  bool has_number;
};
constexpr std::array kForms = {
    Form{"tide-step-greets ", StepWord::What::kGreets, true},
    Form{"tide-step-joined ", StepWord::What::kJoined, true},
    Form{"tide-step-leaves ", StepWord::What::kLeaves, false},
    Form{"tide-step-says ", StepWord::What::kSays, false},
    Form{"tide-step-ended ", StepWord::What::kEnded, true},
};

std::string_view word_for(StepWord::What what) {
  return std::ranges::find(kForms, what, &Form::what)->word;
}

// A number and the blank behind it, taken away from `text`.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.empty() && text.front() != ' ') return std::nullopt;
  if (!text.empty()) text.remove_prefix(1);
  return value;
}

}  // namespace

std::string step_greeting_text(Rank rank, const Greeting& greeting) {
  return fmt::format("{}{} {} {}\n", word_for(StepWord::What::kGreets), rank.value(),
                     greeting.protocol, greeting.version);
}

std::string step_joined_text(Rank rank, pid_t pid) {
  return fmt::format("{}{} {}\n", word_for(StepWord::What::kJoined), rank.value(), pid);
}

std::string step_leaves_text(Rank rank) {
  return fmt::format("{}{}\n", word_for(StepWord::What::kLeaves), rank.value());
}

std::string step_says_text(Rank rank, std::string_view line) {
  return fmt::format("{}{} {}\n", word_for(StepWord::What::kSays), rank.value(), one_line(line));
}

std::string step_ended_text(Rank rank, int wait_status) {
  return fmt::format("{}{} {}\n", word_for(StepWord::What::kEnded), rank.value(), wait_status);
}

std::optional<StepWord> step_word_of(std::string_view line) {
  for (const Form& form : kForms) {
    const std::size_t begin = line.find(form.word);
    if (begin == std::string_view::npos) continue;
    std::string_view rest = trim(line.substr(begin + form.word.size()));
    const auto rank = take_number(rest);
    if (!rank) return std::nullopt;
    StepWord out{.what = form.what, .rank = Rank(*rank), .number = 0, .text = {}};
    if (form.has_number) {
      const auto number = take_number(rest);
      if (!number) return std::nullopt;
      out.number = *number;
    }
    out.text = one_line(rest);
    return out;
  }
  return std::nullopt;
}

std::string end_order_text(Rank rank) {
  return fmt::format("{}{}\n", kEndOrder, rank.value());
}

std::optional<Rank> end_order_of(std::string_view line) {
  if (!line.starts_with(kEndOrder)) return std::nullopt;
  line.remove_prefix(kEndOrder.size());
  const auto rank = take_number(line);
  return rank && line.empty() ? std::optional(Rank(*rank)) : std::nullopt;
}

LabelledLine without_label(std::string_view line) {
  std::string_view rest = line;
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  std::uint32_t label = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), label);
  if (error != std::errc{}) return {std::nullopt, line};
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  if (!rest.starts_with(": ") && rest != ":") return {std::nullopt, line};
  return {label, trim(rest.substr(1))};
}

void LineReader::feed(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (!too_long_) text_ += text.substr(0, end);
    if (text_.size() > kLongestLine) {
      too_long_ = true;
      text_.clear();
    }
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
    finish();
  }
}

void LineReader::finish() {
  const std::string line = std::exchange(text_, {});
  if (!std::exchange(too_long_, false) && !trim(line).empty()) take_(line);
}

}  // namespace tide::launch
