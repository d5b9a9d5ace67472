// Messages about reservations: who may use them, what happens to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/messages.hpp"

namespace tide::say {

// ---- to whoever aims a job at one ----
// `shared`: there is an allocation of this name, and its nodes are everybody's.
Error no_such_reservation(std::string_view id, bool shared);
Error reservation_of_others(std::string_view id);
// To a job that was held: what it was aimed at is over.
std::string reservations_are_over();

// ---- to whoever asks for one ----
Error target_by_process();
Error no_such_owner(std::string_view nspace);
Error not_the_scheduler();
Error unknown_inheritance(std::uint32_t number);
Error extend_by_nodes_or_time();
Error extend_by_nothing();
// Of a request that waits for a manager: how it can be taken back.
std::string asked_by_name(std::string_view what, std::string_view request);
Error allocation_has_ended(std::string_view id);

// ---- what a scheduler proves itself by ----
Error no_scheduler_key(std::string_view path, int error);
Error scheduler_key_is_open(std::string_view path);
Error scheduler_key_is_no_key(std::string_view path, std::size_t least, std::size_t most);

// ---- news ----
// `what`: one of those below. The owner of one that a manager pushes is nobody.
std::string allocation_news(std::string_view id, bool shared, std::string_view owner,
                            std::string_view what);
std::string by_request();
std::string by_scheduler();
std::string by_inheritance();
std::string by_failure();
std::string by_teardown();
std::string used_by_job(std::string_view nspace);
std::string asked_by_inheritance(std::string_view allocation);
std::string nobody_to_warn();
std::string warning_not_relayed(std::string_view allocation, std::string_view why);

}  // namespace tide::say
