// What people see of a change of the DVM's size.
#pragma once

#include <cstdint>
#include <string>

#include "wire/client.pb.h"

namespace tide::cli {

// "3, 7"
std::string jobs_listed(const google::protobuf::RepeatedField<std::uint32_t>& jobs);

// `now_ms` is the present on the head's clock, as that of the reply.
std::string change_report_text(const wire::ChangeReport& report, std::uint64_t now_ms);

}  // namespace tide::cli
