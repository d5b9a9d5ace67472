// What --help says: how to call a command, its options from the table, examples; and topics.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/options.hpp"

namespace tide::cli {

// What `tide` alone and `tide --help` say: the commands, one line each.
std::string overview_help();

// Usage, options and examples of one command, called as `program`.
std::string command_help(Command command, std::string_view program);

// A text on one topic: map-by, output, dvm, environment, exit-status, params, or the name of an
// option that `command` takes. Nothing: there is no such topic.
std::optional<std::string> topic_help(Command command, std::string_view topic);

// The topics that have a text of their own, for messages.
std::string topic_names();

// The topic or option that was probably meant; nothing if none is near.
std::optional<std::string> nearest_topic(Command command, std::string_view topic);

}  // namespace tide::cli
