// Messages about command lines: options, their values, and the words after them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/messages.hpp"

namespace tide::say {

// ---- words and options ----
Error no_command();
Error unknown_command(std::string_view word, const std::optional<std::string>& near);
Error no_program(std::string_view called_as);
Error no_program_before_colon();
Error no_program_after_colon();
Error one_word_too_many(std::string_view word);
Error needs_one_job(std::string_view program);
Error needs_debug_word();
Error unknown_option(std::string_view option, const std::optional<std::string>& near);
Error unbuilt_option(std::string_view option, std::string_view alternative);
// Known elsewhere; nothing here that it could stand for.
Error option_without_meaning(std::string_view option, std::string_view why,
                             std::string_view instead);
Error takes_no_value(std::string_view option);
Error needs_value(std::string_view option, std::string_view value_names);
// Given, and nothing in it.
Error empty_value(std::string_view option, std::string_view value_name);
Error given_twice(std::string_view option);
Error same_option_twice(std::string_view first, std::string_view second);
std::string old_spelling(std::string_view option, std::string_view instead);
std::string unknown_topic(std::string_view topic, std::string_view topics,
                          const std::optional<std::string>& near);
// The last word on a command line that makes no sense; keeps advice that is there already.
std::string usage(std::string_view called_as, std::string_view message);

// ---- values; `what` names the value: "the number of nodes" ----
Error not_a_number(std::string_view text, std::string_view what);
Error number_out_of_range(std::string_view what, std::uint64_t low, std::uint64_t high,
                          std::string_view given);
Error unknown_word(std::string_view word, std::string_view what,
                   std::span<const std::string_view> words, const std::optional<std::string>& near);
Error ambiguous_word(std::string_view word, std::string_view what,
                     std::span<const std::string_view> candidates);
Error unbuilt_value(std::string_view option_and_value, std::string_view built);
Error unbuilt_qualifiers(std::string_view option_and_value);
Error value_missing(std::string_view option_and_value);
Error signal_cannot_be_forwarded(std::string_view name);
Error takes_no_equals(std::string_view option_and_value);
Error neither_yes_nor_no(std::string_view value, std::string_view word);
Error both_oversubscribe_and_not();
Error empty_directory(std::string_view option);
Error no_such_signal(std::string_view text);
Error not_a_time(std::string_view option, std::string_view text);
Error time_too_long(std::string_view option, std::string_view text, std::uint64_t hours);
Error not_a_job_name(std::string_view text);
Error unknown_parameter_asked_for(std::string_view name, const std::optional<std::string>& near);

// ---- environment ----
Error names_no_variable(std::string_view option, std::string_view value);
Error variable_without_value(std::string_view option, std::string_view text);
Error pattern_with_value(std::string_view option, std::string_view pattern, std::string_view value);
Error unclosed_bracket(std::string_view option, std::string_view text);
std::string no_such_variable(std::string_view name);
std::string no_variable_fits(std::string_view pattern);

// ---- which DVM ----
Error dvm_chosen_twice(std::string_view first, std::string_view second);
Error all_and_one_dvm();
Error unknown_dvm_form(std::string_view prefix);
Error empty_namespace();

}  // namespace tide::say
