// Output of processes to tools, and input from them.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "pmix/asking.hpp"
#include "pmix/convert.hpp"
#include "pmix/upcalls_tools.hpp"
#include "pmix/values.hpp"

namespace tide::pmix {
namespace {

constexpr std::size_t kPieceBytes = 32768;  // must fit into a message of the DVM
constexpr std::size_t kMostBytes = std::size_t{16} << 20U;

bool has_flag(const pmix_info_t info[], std::size_t count, std::string_view key) {
  return std::any_of(info, info + count, [&](const pmix_info_t& entry) {
    return key_of(entry) == key && flag_in(entry.value).value_or(false);
  });
}

}  // namespace

// libpmix 4.2.2 says neither who wants the output nor, later, which of its requests is over; it
// gives the output to the right tools itself. It is told at once that all is well: an answer that
// comes later is one to memory that it has freed.
pmix_status_t output_pulled(const pmix_proc_t procs[], size_t proc_count, const pmix_info_t info[],
                            size_t info_count, pmix_iof_channel_t channels,
                            pmix_op_cbfunc_t /*done*/, void* /*done_data*/) {
#ifdef PMIX_IOF_STOP
  if (has_flag(info, info_count, PMIX_IOF_STOP)) return PMIX_OPERATION_SUCCEEDED;
#endif
  if (channels == PMIX_FWD_NO_CHANNELS) return PMIX_OPERATION_SUCCEEDED;
  for (std::size_t index = 0; index < info_count; ++index) {
    // Those of libpmix itself: how it keeps and writes what it has got.
    const bool own = key_of(info[index]).substr(0, 9) == "pmix.iof.";
    if (is_required(info[index]) && !own) return PMIX_ERR_NOT_SUPPORTED;
  }
  auto sources = wire_names(procs, proc_count);
  if (!sources || sources->names().empty()) return PMIX_ERR_BAD_PARAM;
  wire::ServiceRequest request;
  *request.mutable_pull()->mutable_sources() = std::move(*sources);
  request.mutable_pull()->set_stdout((channels & PMIX_FWD_STDOUT_CHANNEL) != 0);
  request.mutable_pull()->set_stderr((channels & PMIX_FWD_STDERR_CHANNEL) != 0);
  const pmix_status_t status =
      ask(ProcName{}, std::move(request), {}, [](pmix_status_t, const wire::ServiceAnswer&) {});
  return status == PMIX_SUCCESS ? PMIX_OPERATION_SUCCEEDED : status;
}

// No bytes are the end, with or without a word about it. Many bytes are sent in pieces.
pmix_status_t input_pushed(const pmix_proc_t* proc, const pmix_proc_t targets[],
                           size_t target_count, const pmix_info_t info[], size_t info_count,
                           const pmix_byte_object_t* bytes, pmix_op_cbfunc_t done,
                           void* done_data) {
  const auto who = proc != nullptr ? from_pmix(*proc) : std::nullopt;
  const auto names = wire_names(targets, target_count);
  if (!who || !names || names->names().empty()) return PMIX_ERR_BAD_PARAM;
  const bool any = bytes != nullptr && bytes->bytes != nullptr;
  const std::string data = any ? std::string(bytes->bytes, bytes->size) : std::string();
  if (data.size() > kMostBytes) return PMIX_ERR_OUT_OF_RESOURCE;
  const bool eof = data.empty() || has_flag(info, info_count, PMIX_IOF_COMPLETE);
  const std::size_t pieces = data.empty() ? 1 : (data.size() + kPieceBytes - 1) / kPieceBytes;
  const auto all = std::make_shared<Gathered>(pieces, [done, done_data](pmix_status_t status) {
    if (done != nullptr) done(status, done_data);
  });
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    wire::ServiceRequest request;
    *request.mutable_push()->mutable_targets() = *names;
    request.mutable_push()->set_eof(eof && piece + 1 == pieces);
    const pmix_status_t status =
        ask(*who, std::move(request), data.substr(piece * kPieceBytes, kPieceBytes), step_of(all));
    // Only for the first: the bridge closes for good, and answers all that it has.
    if (status != PMIX_SUCCESS && piece == 0) return status;
  }
  return PMIX_SUCCESS;
}

}  // namespace tide::pmix
