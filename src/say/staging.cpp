#include "say/staging.hpp"

#include <fmt/format.h>

#include <cstring>

#include "base/text.hpp"

namespace tide::say {

Error staged_name_leaves(std::string_view name) {
  return invalid(
      fmt::format("{} leads out of the job's directory on the nodes{}a name without '..'; of an "
                  "absolute one only the last part is used there",
                  quoted(name), kTry));
}

Error staged_name_empty(std::string_view option) {
  return invalid(
      fmt::format("{} names no file between two commas{}{} a.dat,b.dat", option, kTry, option));
}

Error staged_file_unreadable(std::string_view path, int errnum) {
  return Error{ErrorCode::kNotFound,
               fmt::format("cannot read {}, which is to be preloaded: {}", quoted(path),
                           std::strerror(errnum))};  // NOLINT(concurrency-mt-unsafe): one thread
}

Error staged_file_is_directory(std::string_view path) {
  return invalid(
      fmt::format("{} is a directory{}tar cf it.tar {}, and --preload-files it.tar: "
                  "archives are unpacked on the nodes",
                  quoted(path), kTry, path));
}

Error staged_file_is_no_file(std::string_view path) {
  return invalid(
      fmt::format("{} is neither a file nor a link to one, and can't be preloaded", quoted(path)));
}

std::string file_has_changed() {
  return "it was changed while it was sent";
}

Error preloaded_program_not_found(std::string_view name) {
  return Error{ErrorCode::kNotFound,
               fmt::format("cannot find {} here, which is to be preloaded{}its path; it is looked "
                           "for in your PATH",
                           quoted(name), kTry)};
}

Error preloaded_program_not_executable(std::string_view path) {
  return invalid(fmt::format("{}, which is to be preloaded, is not executable{}chmod +x {}",
                             quoted(path), kTry, path));
}

Error preloaded_program_not_sent(std::string_view name) {
  return invalid(
      fmt::format("the job runs the preloaded program {} and brings no such file", quoted(name)));
}

Error too_many_staged_files(std::size_t count, std::size_t limit) {
  return invalid(
      fmt::format("{} files are more than the {} that a job can bring{}an archive of them", count,
                  limit, kTry));
}

std::string file_not_staged(std::string_view nspace, std::string_view where, std::string_view file,
                            std::string_view why) {
  if (file.empty()) {
    return fmt::format("job {}: no directory for its files on {}: {}", nspace, where, why);
  }
  return fmt::format("job {}: file {} was not staged on {}: {}", nspace, quoted(file), where, why);
}

std::string file_not_read(std::string_view nspace, std::string_view file, std::string_view why) {
  return fmt::format("job {}: file {} could not be read to the end: {}", nspace, quoted(file), why);
}

std::string files_out_of_order(std::string_view nspace) {
  return fmt::format("job {}: its files came otherwise than they were announced", nspace);
}

std::string files_stalled(std::string_view nspace, std::uint32_t timeout_ms,
                          std::string_view waits_for) {
  return fmt::format(
      "job {}: nothing of its files was taken for {} s: {} does not go on{}tide logs of that node, "
      "or a longer tide_stage_timeout",
      nspace, timeout_ms / 1000, waits_for, kTry);
}

std::string files_missing(std::string_view nspace, std::string_view where) {
  return fmt::format("job {}: {} came after its files were staged{}the job again", nspace, where,
                     kTry);
}

Error staged_file_differs() {
  return Error{ErrorCode::kAlreadyExists, "another file of this name is there already"};
}

Error staged_name_is_no_file() {
  return Error{ErrorCode::kAlreadyExists, "something of this name is there that is no file"};
}

Error staging_was_stopped() {
  return Error{ErrorCode::kUnavailable, "the job is over"};
}

Error unpacking_failed(std::string_view why) {
  return Error{ErrorCode::kInvalidArgument, fmt::format("it can't be unpacked: {}", why)};
}

std::string archive_not_readable(std::string_view why) {
  return fmt::format("it is no whole archive: {}", why);
}

std::string archive_entry_leaves(std::string_view entry) {
  return fmt::format("{} in it leads out of the directory", quoted(entry));
}

std::string archive_entry_of_odd_kind(std::string_view entry) {
  return fmt::format("{} in it is neither a file nor a directory nor a link", quoted(entry));
}

std::string archive_entry_differs(std::string_view entry) {
  return fmt::format("{} in it is another file than the one that is there already", quoted(entry));
}

std::string archive_entry_not_written(std::string_view entry, int errnum) {
  return fmt::format("{} in it can't be written: {}", quoted(entry),
                     std::strerror(errnum));  // NOLINT(concurrency-mt-unsafe): one thread
}

std::string archive_has_too_much(std::size_t entries, std::uint64_t bytes) {
  return fmt::format("it has more than {} entries or {} GiB", entries, bytes >> 30U);
}

}  // namespace tide::say
