// Messages about files that a job brings to its nodes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/messages.hpp"

namespace tide::say {

// ---- what is asked for ----
Error staged_name_leaves(std::string_view name);
Error staged_name_empty(std::string_view option);
Error staged_file_unreadable(std::string_view path, int errnum);
Error staged_file_is_directory(std::string_view path);
Error staged_file_is_no_file(std::string_view path);
// Why one could not be read to its end.
std::string file_has_changed();
Error preloaded_program_not_found(std::string_view name);
Error preloaded_program_not_executable(std::string_view path);
Error preloaded_program_not_sent(std::string_view name);
Error too_many_staged_files(std::size_t count, std::size_t limit);

// ---- how a job fails; `where`: "node v1" ----
std::string file_not_staged(std::string_view nspace, std::string_view where, std::string_view file,
                            std::string_view why);
std::string file_not_read(std::string_view nspace, std::string_view file, std::string_view why);
std::string files_out_of_order(std::string_view nspace);
std::string files_stalled(std::string_view nspace, std::uint32_t timeout_ms,
                          std::string_view waits_for);
std::string files_missing(std::string_view nspace, std::string_view where);

// ---- reasons, at a node ----
Error staged_file_differs();
Error staged_name_is_no_file();
Error staging_was_stopped();
Error unpacking_failed(std::string_view why);
std::string archive_not_readable(std::string_view why);
std::string archive_entry_leaves(std::string_view entry);
std::string archive_entry_of_odd_kind(std::string_view entry);
std::string archive_entry_differs(std::string_view entry);
std::string archive_entry_not_written(std::string_view entry, int errnum);
std::string archive_has_too_much(std::size_t entries, std::uint64_t bytes);

}  // namespace tide::say
