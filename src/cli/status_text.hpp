// What people see of a DVM, its jobs and the parameters.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "wire/client.pb.h"

namespace tide::cli {

std::string status_text(const wire::StatusReply& status);

// A table of jobs; with `ended` also how they ended.
std::string jobs_text(const wire::StatusReply& status, bool ended);

// A table of the changes of size that are under way.
std::string campaigns_text(const wire::StatusReply& status);

// "3 of 8 slots used".
std::string slots_summary(const wire::StatusReply& status);

struct ShownParam {
  std::string_view name;
  std::string_view value;
  std::string_view source;
  std::string_view type;
  std::string_view help;
};

std::string params_text(std::span<const ShownParam> params);

// Lines `param:NAME:value:VALUE`, and the same for source and help.
std::string params_parsable(std::span<const ShownParam> params);

}  // namespace tide::cli
