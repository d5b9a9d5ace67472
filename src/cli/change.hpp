// What commands that change the nodes of a DVM have in common: the first answer says what has
// begun, the last one how it has ended.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/client_context.hpp"
#include "cli/json_text.hpp"
#include "hosts/host_word.hpp"
#include "wire/client.pb.h"

namespace tide::cli {

// Values of the command line, checked by check_use(); zero or none where they are not given.
std::uint32_t count_of(const CommandLine& line);
std::uint32_t time_of(const CommandLine& line, Option option);
std::vector<hosts::HostWord> words_of(const CommandLine& line);

struct AskedChange {
  wire::ClientRequest request{};
  std::string kind{};  // for programs: "grow"
  bool shrinks = false;
  // What has begun, for people.
  std::function<std::string(const ShownChange&)> first_words{};
};

// What a change that has begun is to whoever releases nodes.
std::string words_of_shrink(const ShownChange& change);

// Those that come or leave with this change itself.
std::vector<std::string> own_nodes(const ShownChange& change);

// Sends the request and follows what comes of it as the command line wants; the exit status.
int change_size(const ClientContext& context, DvmConnection& connection, AskedChange asked);
// In the DVM that the command line means.
int change_size(const ClientContext& context, AskedChange asked);

}  // namespace tide::cli
