#include "core/local_tools.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/pmix_words.hpp"
#include "core/proc_names.hpp"

namespace tide::core {

// A tool may say what it is called; it need not, and two can't be called the same.
void LocalTools::handle(const ToolArrived& event) {
  wire::ProcName name = event.wish;
  if (name.nspace().empty()) {
    name = proc_name(fmt::format("{}.tool{}.{}", dvm_id_, self_.value(), ++last_tool_), 0);
  }
  if (!tools_.insert(id_of(name)).second) {
    const Error taken{ErrorCode::kAlreadyExists, "a tool of this name is attached here"};
    out_.emplace_back(AnswerTool{event.ticket, taken, {}});
    return;
  }
  out_.emplace_back(AnswerTool{event.ticket, ok_status(), name});
  wire::UpBody body;
  *body.mutable_tool_joined()->mutable_tool() = name;
  head_.send_to_head(std::move(body), {});
}

void LocalTools::handle(const ToolGone& event) {
  if (tools_.erase(id_of(event.tool)) == 0) return;
  requests_.forget_tool(event.tool);
  wire::UpBody body;
  *body.mutable_tool_left()->mutable_tool() = event.tool;
  head_.send_to_head(std::move(body), {});
}

// libpmix has told who raised it that all is well, so only the log can say that it does not travel.
void LocalTools::handle(const EventRaised& event) {
  if (const std::size_t bytes = event.notice.ByteSizeLong(); bytes > limit_) {
    out_.emplace_back(Note{
        Subsystem::kErrmgr, 0,
        fmt::format("an event of {}:{} is not told elsewhere: {} bytes, at most {}",
                    event.notice.source().nspace(), event.notice.source().rank(), bytes, limit_)});
    return;
  }
  wire::UpBody body;
  *body.mutable_event() = event.notice;
  head_.send_to_head(std::move(body), {});
}

void LocalTools::tell_of_end() {
  if (tools_.empty()) return;
  wire::EventNotice notice;
  notice.set_code(kEventJobEnd);
  *notice.mutable_source() = proc_name(dvm_id_, self_.value());
  notice.set_range(wire::RANGE_CUSTOM);
  for (const auto& [nspace, rank] : tools_) {
    *notice.mutable_targets()->add_names() = proc_name(nspace, rank);
  }
  auto* fact = notice.add_facts();
  fact->set_key(kFactNspace);
  fact->set_text(dvm_id_);
  out_.emplace_back(DeliverEvent{std::move(notice)});
}

void LocalTools::on_output(const wire::ToolOutput& output, const Bytes& data) {
  auto& taken = delivering_[++last_delivery_];
  *taken.mutable_source() = output.source();
  taken.set_stream(output.stream());
  taken.set_bytes(static_cast<std::uint32_t>(data.size()));
  out_.emplace_back(DeliverOutput{last_delivery_, output.source(), output.stream(), data});
}

void LocalTools::handle(const OutputDelivered& event) {
  auto taken = delivering_.extract(event.delivery);
  if (taken.empty()) return;
  wire::UpBody body;
  *body.mutable_tool_output_taken() = std::move(taken.mapped());
  head_.send_to_head(std::move(body), {});
}

}  // namespace tide::core
