// The head as whoever watches sees it: questions about jobs, and what is told of daemons and tools.
#include <fmt/format.h>

#include <utility>

#include "core/head_core.hpp"

namespace tide::core {

void HeadCore::on_node_reported(CampaignId campaign, const Node& node) {
  events_.add_of_node(EventKind::kNodeUp, node.name, "");
  elastic_.on_node_reported(campaign, node);
}

void HeadCore::handle_watcher(const ClientMessage& event) {
  const auto& request = event.request;
  if (request.has_events()) return events_.ask(event.client, request.request(), request.events());
  wire::ClientReply reply;
  reply.set_request(request.request());
  if (request.has_explain()) {
    auto explained = explain(request.explain());
    if (!explained) return answer(event.client, request.request(), explained.error());
    *reply.mutable_explain() = std::move(*explained);
  } else {
    auto listed = jobs_.processes(request.procs());
    if (!listed) return answer(event.client, request.request(), listed.error());
    *reply.mutable_procs() = std::move(*listed);
  }
  out_.emplace_back(Reply{event.client, std::move(reply), {}});
}

Result<wire::ExplainReply> HeadCore::explain(const wire::ExplainQuery& query) const {
  if (query.has_job()) return explain(query.job());
  wire::ExplainReply out;
  out.set_now_ms(now_ms_);
  out.set_start_ms(events_.start_ms());
  if (query.change() != 0) {
    auto change = elastic_.explain_change(query.change());
    if (!change) return change.error();
    *out.mutable_change() = std::move(*change);
  } else {
    auto allocation = elastic_.explain_allocation(query.allocation());
    if (!allocation) return allocation.error();
    *out.mutable_allocation() = std::move(*allocation);
  }
  return out;
}

Result<wire::ExplainReply> HeadCore::explain(const wire::JobRef& job) const {
  auto out = jobs_.explain(job, services_.collectives());
  if (!out) return out;
  elastic_.explain(JobId(out->job().number()), *out);
  elastic_.explain(jobs_.fence().awaited_by(JobId(out->job().number())), *out);
  return out;
}

void HeadCore::note_tool(Rank origin, const wire::ProcName& tool) {
  const auto node = roster_.nodes().find(origin);
  events_.add_of_node(EventKind::kToolAttached,
                      node == roster_.nodes().end() ? "" : node->second.name,
                      fmt::format("{}:{}", tool.nspace(), tool.rank()));
}

}  // namespace tide::core
