#include "say/command_line.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace tide::say {

// ---- words and options ----

Error no_command() {
  return invalid("a command is missing");
}

Error unknown_command(std::string_view word, const std::optional<std::string>& near) {
  return invalid("there is no command " + quoted(word) +
                 did_you_mean(near ? std::optional("'tide " + *near + "'") : std::nullopt));
}

Error no_program(std::string_view called_as) {
  return invalid(fmt::format("there is no program to run{}{} -n 4 hostname", kTry, called_as));
}

Error no_program_before_colon() {
  return invalid("there is no program before ':', which stands between the programs of a job");
}

Error no_program_after_colon() {
  return invalid("there is no program after ':', which stands between the programs of a job");
}

Error one_word_too_many(std::string_view word) {
  return invalid(quoted(word) + " is one word too many");
}

Error needs_one_job(std::string_view program) {
  return invalid(
      fmt::format("one job is needed{}{} JOB, with a number that tide jobs lists", kTry, program));
}

Error needs_debug_word() {
  return invalid("one of these is needed: tide debug recorder, tide debug release NAME");
}

Error unknown_option(std::string_view option, const std::optional<std::string>& near) {
  return invalid("there is no option " + one_line(option) + did_you_mean(near));
}

Error unbuilt_option(std::string_view option, std::string_view alternative) {
  std::string text = one_line(option) + " is not built yet";
  if (!alternative.empty()) text += fmt::format("; what there is: {}", alternative);
  return invalid(std::move(text));
}

Error option_without_meaning(std::string_view option, std::string_view why,
                             std::string_view instead) {
  return invalid(fmt::format("{} means nothing: {}{}{}", one_line(option), why, kTry, instead));
}

Error takes_no_value(std::string_view option) {
  return invalid(fmt::format("{} takes no value", option));
}

Error needs_value(std::string_view option, std::string_view value_names) {
  return invalid(fmt::format("{0} needs a value: {0} {1}", option, value_names));
}

Error empty_value(std::string_view option, std::string_view value_name) {
  return invalid(fmt::format("the value of {0} is empty{1}{0} {2}, or leave {0} out", option, kTry,
                             value_name));
}

Error given_twice(std::string_view option) {
  return invalid(fmt::format("{} is given twice and takes one value", option));
}

Error same_option_twice(std::string_view first, std::string_view second) {
  return invalid(
      fmt::format("{} and {} are the same option, which takes one value", first, second));
}

std::string old_spelling(std::string_view option, std::string_view instead) {
  return fmt::format("{} is an old spelling of {}", option, instead);
}

std::string unknown_topic(std::string_view topic, std::string_view topics,
                          const std::optional<std::string>& near) {
  return fmt::format("there is no help on {}{}{}--help with one of {}, or with an option",
                     quoted(topic), did_you_mean(near), kTry, topics);
}

std::string usage(std::string_view called_as, std::string_view message) {
  std::string text(message);
  const bool advises =
      text.find(kTry) != std::string::npos || text.find(kDidYouMean) != std::string::npos;
  if (!advises) text += fmt::format("{}{} --help", kTry, called_as);
  return text;
}

// ---- values ----

Error not_a_number(std::string_view text, std::string_view what) {
  return invalid(fmt::format("{} is no number: {}", quoted(text), what));
}

Error number_out_of_range(std::string_view what, std::uint64_t low, std::uint64_t high,
                          std::string_view given) {
  return invalid(
      fmt::format("{} must be between {} and {}, not {}", what, low, high, one_line(given)));
}

Error unknown_word(std::string_view word, std::string_view what,
                   std::span<const std::string_view> words,
                   const std::optional<std::string>& near) {
  return invalid(fmt::format("{} is no {}; there are {}{}", quoted(word), what,
                             fmt::join(words, ", "), did_you_mean(near)));
}

Error ambiguous_word(std::string_view word, std::string_view what,
                     std::span<const std::string_view> candidates) {
  return invalid(
      fmt::format("{} as {} could be {}", quoted(word), what, fmt::join(candidates, ", ")));
}

Error unbuilt_value(std::string_view option_and_value, std::string_view built) {
  return invalid(fmt::format("{} is not built yet; {}", option_and_value, built));
}

Error unbuilt_qualifiers(std::string_view option_and_value) {
  return invalid(fmt::format("{}: qualifiers are not built yet", option_and_value));
}

Error value_missing(std::string_view option_and_value) {
  return invalid(fmt::format("{} needs a value: {}=…", option_and_value, option_and_value));
}

Error signal_cannot_be_forwarded(std::string_view name) {
  return invalid(
      fmt::format("{} cannot be forwarded: no program gets to see it{}tide kill --signal {}", name,
                  kTry, name));
}

Error takes_no_equals(std::string_view option_and_value) {
  return invalid(fmt::format("{} takes no '='", option_and_value));
}

Error neither_yes_nor_no(std::string_view value, std::string_view word) {
  return invalid(fmt::format("{} after {}= is neither yes nor no", quoted(value), word));
}

Error both_oversubscribe_and_not() {
  return invalid("the command line says both OVERSUBSCRIBE and NOOVERSUBSCRIBE; leave one out");
}

Error empty_directory(std::string_view option) {
  return invalid(
      fmt::format("{0} is given an empty directory; leave {0} out to stay here", option));
}

Error no_such_signal(std::string_view text) {
  return invalid(fmt::format(
      "there is no signal {}{}a name such as TERM or SIGUSR1, or a number; kill -l lists them",
      quoted(text), kTry));
}

Error not_a_time(std::string_view option, std::string_view text) {
  return invalid(
      fmt::format("{} {} is no time; write 90, 90s, 500ms, 5m or 2h", option, quoted(text)));
}

Error time_too_long(std::string_view option, std::string_view text, std::uint64_t hours) {
  return invalid(fmt::format("{} {} is too long; the longest is {}h", option, text, hours));
}

Error not_a_job_name(std::string_view text) {
  return invalid(
      fmt::format("{} is neither the number nor the namespace of a job{}tide jobs lists "
                  "both",
                  quoted(text), kTry));
}

Error unknown_parameter_asked_for(std::string_view name, const std::optional<std::string>& near) {
  std::string text = "there is no parameter " + one_line(name);
  if (near) return not_found(text + did_you_mean(near));
  return not_found(fmt::format("{}{}tide params lists them all", text, kTry));
}

// ---- environment ----

Error names_no_variable(std::string_view option, std::string_view value) {
  return invalid(fmt::format("{} {} names no variable", option, quoted(value)));
}

Error variable_without_value(std::string_view option, std::string_view text) {
  return invalid(fmt::format("{} {} has no value: write VAR=VALUE", option, quoted(text)));
}

Error pattern_with_value(std::string_view option, std::string_view pattern,
                         std::string_view value) {
  return invalid(fmt::format(
      "{0} {1} gives one value to a pattern{2}{0} {3} for your values of all "
      "that fit it, or one name with the value",
      option, quoted(fmt::format("{}={}", pattern, value)), kTry, quote_argument(pattern)));
}

Error unclosed_bracket(std::string_view option, std::string_view text) {
  return invalid(fmt::format("{0} {1} has a '[' and no ']' at its end{2}{0} 'PATH[:]' VALUE",
                             option, quoted(text), kTry));
}

std::string no_such_variable(std::string_view name) {
  return fmt::format("-x {0}: you have no such variable, and the processes get none{1}-x {0}=VALUE",
                     one_line(name), kTry);
}

std::string no_variable_fits(std::string_view pattern) {
  return fmt::format("-x {}: no variable of yours fits it", one_line(pattern));
}

// ---- which DVM ----

Error dvm_chosen_twice(std::string_view first, std::string_view second) {
  return invalid(fmt::format("{} and {} both choose the DVM; leave one out", first, second));
}

Error all_and_one_dvm() {
  return invalid("--all and the choice of one DVM exclude each other; leave one out");
}

Error unknown_dvm_form(std::string_view prefix) {
  return invalid(
      fmt::format("--dvm '{}:…' is none of the forms NAME, PID, pid:N, uri:U, file:F and ns:NS",
                  one_line(prefix)));
}

Error empty_namespace() {
  return invalid(
      fmt::format("the namespace of the DVM is empty{}tide status shows it as ID", kTry));
}

}  // namespace tide::say
