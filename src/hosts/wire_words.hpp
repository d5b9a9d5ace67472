// Words that name hosts, as messages between programs.
#pragma once

#include <string_view>

#include "hosts/host_word.hpp"
#include "wire/job.pb.h"

namespace tide::hosts {

// Without the user: nodes of a DVM have theirs already.
wire::HostRequest to_wire(const HostWord& word);

// `option` is named in messages where the request does not say where it comes from.
HostWord from_wire(const wire::HostRequest& request, std::string_view option);

}  // namespace tide::hosts
