#include "say/reservations.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace tide::say {

// ---- to whoever aims a job at one ----

Error no_such_reservation(std::string_view id, bool shared) {
  if (shared) {
    return Error{ErrorCode::kNotFound,
                 fmt::format("allocation {} is no reservation: its nodes are in the default "
                             "session{}without it as a target",
                             quoted(id), kTry)};
  }
  return Error{ErrorCode::kNotFound,
               fmt::format("there is no reservation {}{}tide alloc list", quoted(id), kTry)};
}

Error reservation_of_others(std::string_view id) {
  return Error{ErrorCode::kPermissionDenied,
               fmt::format("reservation {} belongs to others: its owners are in tide alloc list",
                           quoted(id))};
}

std::string reservations_are_over() {
  return "the reservation that the job was aimed at is over";
}

// ---- to whoever asks for one ----

Error target_by_process() {
  return Error{ErrorCode::kPermissionDenied,
               "a process of a job asks for nodes for itself; only a tool names another owner"};
}

Error no_such_owner(std::string_view nspace) {
  return Error{ErrorCode::kNotFound,
               fmt::format("no job or tool {} is there that could own an allocation{}tide jobs",
                           quoted(nspace), kTry)};
}

Error not_the_scheduler() {
  return Error{
      ErrorCode::kPermissionDenied,
      fmt::format("the request says that it is the scheduler's, and does not prove it{}the "
                  "key in the file that the parameter tide_scheduler_key_file names",
                  kTry)};
}

Error unknown_inheritance(std::uint32_t number) {
  return Error{
      ErrorCode::kNotSupported,
      fmt::format("{} does not say what becomes of an allocation{}1 to 4, as PMIx has them", number,
                  kTry)};
}

Error extend_by_nodes_or_time() {
  return invalid(fmt::format(
      "an allocation is extended by nodes or by time, not by both at once{}one after the other",
      kTry));
}

Error extend_by_nothing() {
  return invalid(fmt::format(
      "an allocation is to be extended, but not said by what{}nodes, time, what becomes of it, or "
      "when to warn",
      kTry));
}

std::string asked_by_name(std::string_view what, std::string_view request) {
  return fmt::format("{}, as request {}", what, quoted(request));
}

Error allocation_has_ended(std::string_view id) {
  return Error{ErrorCode::kNotFound, fmt::format("allocation {} has ended meanwhile", quoted(id))};
}

// ---- what a scheduler proves itself by ----

Error no_scheduler_key(std::string_view path, int error) {
  return system_error(
      fmt::format("the key of the scheduler (tide_scheduler_key_file) can't be read from {}",
                  quoted(path)),
      error);
}

Error scheduler_key_is_open(std::string_view path) {
  return invalid(fmt::format(
      "{} (tide_scheduler_key_file) may be read or written by others, so it proves nothing{}a file "
      "of your own with mode 600",
      quoted(path), kTry));
}

Error scheduler_key_is_no_key(std::string_view path, std::size_t least, std::size_t most) {
  return invalid(fmt::format(
      "{} (tide_scheduler_key_file) has no key: that is text of {} to {} bytes{}head -c 24 "
      "/dev/urandom | base64 > {}",
      quoted(path), least, most, kTry, path));
}

// ---- news ----

std::string allocation_news(std::string_view id, bool shared, std::string_view owner,
                            std::string_view what) {
  return fmt::format("{} ({} {}): {}", id, shared ? "shared by" : "reserved for", owner, what);
}

std::string by_request() {
  return "it was asked for";
}

std::string by_scheduler() {
  return "the scheduler wants it so";
}

std::string by_inheritance() {
  return "its owner has ended";
}

std::string by_failure() {
  return "its nodes could not be had";
}

std::string by_teardown() {
  return "the DVM ends";
}

std::string used_by_job(std::string_view nspace) {
  return fmt::format("job {} uses it", nspace);
}

std::string asked_by_inheritance(std::string_view allocation) {
  return fmt::format("the owner of {} has ended", allocation);
}

std::string nobody_to_warn() {
  return "nobody has asked for it, or is there any more";
}

std::string warning_not_relayed(std::string_view allocation, std::string_view why) {
  return fmt::format("a warning about allocation {} is not passed on: {}", quoted(allocation), why);
}

}  // namespace tide::say
