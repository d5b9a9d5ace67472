// Messages to people who ask for allocations (tide alloc), look at them, and aim jobs at
// reservations. What the head refuses is in allocations.hpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/messages.hpp"

namespace tide::say {

// ---- tide alloc: refused before anybody is asked ----
Error needs_alloc_word();
Error only_for_alloc(std::string_view option, std::string_view word,
                     std::span<const std::string> words);
Error extension_of_what();
Error release_of_what();
Error extended_by_nothing();
Error extended_by_nodes_and_time(std::string_view nodes, std::string_view time);
Error which_request();

// ---- tide alloc: what has begun ----
// `nodes`: those that come; `already`: those that the DVM has or gets, which are reserved as well.
std::string nodes_being_reserved(std::span<const std::string> nodes,
                                 std::span<const std::string> already, std::string_view allocation);
// Without a daemon to be started.
std::string nodes_are_reserved(std::span<const std::string> nodes, std::string_view allocation);
std::string nodes_are_shared(std::span<const std::string> nodes, std::string_view allocation);
std::string allocation_gets_nodes(std::string_view allocation, std::span<const std::string> nodes,
                                  std::span<const std::string> already);
std::string allocation_has_nodes(std::string_view allocation, std::span<const std::string> nodes);
// Given up by the reservation that they were in.
std::string nodes_are_everybodys(std::span<const std::string> nodes);
std::string terms_are_changed(std::string_view allocation);
std::string request_is_taken_back(std::string_view request);

// ---- what is seen of an allocation ----
std::string no_allocations();
// `request`: the owner's name for it; empty: none.
std::string made_for(bool reserved, std::string_view owner, std::string_view request,
                     std::uint64_t age_ms);
std::string may_be_used_by(std::span<const std::string> owners);
std::string comes_of_owner(std::span<const std::string> derived);
// `inheritance`: "none", "child", "default" or "child-default".
std::string what_becomes_of_it(std::string_view inheritance, bool reserved, bool owner_ended);

// ---- jobs that are aimed at reservations ----
std::string may_use_sessions(std::span<const std::string> allocations, bool default_session);
Error target_without_name(std::string_view option, std::string_view text);
Error no_reservation_of_request(std::string_view request);
Error request_is_shared(std::string_view request, std::string_view allocation);
Error several_reservations_of_request(std::string_view request, std::span<const std::string> ids);

}  // namespace tide::say
