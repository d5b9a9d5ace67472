#include "core/service_desk.hpp"

#include <fmt/format.h>

#include <vector>

namespace tide::core {

ServiceDesk::ServiceDesk(JobServices& jobs, AllocationServices& allocations, DaemonPort& daemons,
                         std::size_t message_limit)
    : jobs_(jobs),
      allocations_(allocations),
      daemons_(daemons),
      limit_(message_limit),
      collectives_(jobs, daemons, message_limit),
      board_(message_limit,
             [this](const Requester& to, const Status& status, const wire::Found& found) {
               wire::ServiceAnswer result;
               *result.mutable_found() = found;
               answer(daemons_, to, status, std::move(result));
             }) {}

void ServiceDesk::on_request(Rank origin, const wire::ServiceRequest& request, const Bytes& data) {
  const Requester from{origin, request.token()};
  switch (request.body_case()) {
    case wire::ServiceRequest::kPublish:
      return answer(daemons_, from, publish(origin, request));
    case wire::ServiceRequest::kUnpublish:
      return unpublish(from, request);
    case wire::ServiceRequest::kLookup:
      return board_.lookup(from, request);
    case wire::ServiceRequest::kSpawn:
      return jobs_.spawn(from, request, tools_.contains(id_of(request.who())));
    case wire::ServiceRequest::kQuery:
      return query(from, request.query());
    case wire::ServiceRequest::kControl:
      return answer(daemons_, from, jobs_.control(request));
    case wire::ServiceRequest::kPull:
      return answer(daemons_, from, jobs_.pull(origin, request));
    case wire::ServiceRequest::kPush:
      return jobs_.push(from, request, data);
    case wire::ServiceRequest::kJobInfo:
      return introduce(from, request.job_info().nspace());
    case wire::ServiceRequest::kAllocation:
      return allocate(from, request);
    case wire::ServiceRequest::kLog:  // is taken care of where it is said
    case wire::ServiceRequest::BODY_NOT_SET:
      return answer(daemons_, from, Error{ErrorCode::kInvalidArgument, "not a request"});
  }
}

// What comes from one whose end is known already would never be taken away.
Status ServiceDesk::publish(Rank origin, const wire::ServiceRequest& request) {
  wire::ProcNames who;
  *who.add_names() = request.who();
  if (!tools_.contains(id_of(request.who())) && !jobs_.hosts_of(who)) {
    return Error{ErrorCode::kNotFound, "who publishes is not known"};
  }
  return board_.publish(origin, request);
}

void ServiceDesk::unpublish(const Requester& from, const wire::ServiceRequest& request) {
  if (request.unpublish().has_ended()) allocations_.on_proc_gone(request.who());
  answer(daemons_, from, board_.unpublish(request));
}

bool ServiceDesk::is_tool_at(Rank daemon, const wire::ProcName& who) const {
  const auto tool = tools_.find(id_of(who));
  return tool != tools_.end() && tool->second == daemon;
}

// The end of a change is told where it was asked for, so that has to be where they are.
void ServiceDesk::allocate(const Requester& from, const wire::ServiceRequest& request) {
  const bool by_tool = is_tool_at(from.daemon, request.who());
  wire::ProcNames who;
  *who.add_names() = request.who();
  const auto hosts = by_tool ? std::nullopt : jobs_.hosts_of(who);
  if (!by_tool && (!hosts || !hosts->contains(from.daemon))) {
    return answer(daemons_, from, Error{ErrorCode::kNotFound, "who asks is not known"});
  }
  const auto& wanted = request.allocation();
  allocations_.allocate({request.who(), from, by_tool, wanted.request_id()}, wanted);
}

void ServiceDesk::on_cancel(Rank origin, const wire::ServiceCancel& cancel) {
  board_.cancel(Requester{origin, cancel.token()});
  jobs_.cancel_spawn(Requester{origin, cancel.token()});
  allocations_.cancel_allocation(Requester{origin, cancel.token()});
}

void ServiceDesk::query(const Requester& from, const wire::Query& query) {
  wire::ServiceAnswer result;
  for (const auto& question : query.questions()) {
    auto* reply = result.mutable_replies()->add_replies();
    if (question.what() == wire::Question::TIME_LEFT) {
      tell_time_left(question, *reply);
      continue;
    }
    if (question.what() != wire::Question::GROUPS) {
      *reply = jobs_.reply_to(from.daemon, question);
      continue;
    }
    reply->set_known(true);
    for (const auto& [name, group] : collectives_.groups()) {
      auto* row = reply->add_groups();
      row->set_name(name);
      *row->mutable_members() = group.members;
      row->set_context(group.context);
    }
  }
  if (result.ByteSizeLong() > limit_) return answer(daemons_, from, too_large("the answer"));
  answer(daemons_, from, ok_status(), std::move(result));
}

// Of a job that of the nodes it is on.
void ServiceDesk::tell_time_left(const wire::Question& question, wire::QueryReply& reply) const {
  std::set<Rank> nodes;
  if (!question.nspace().empty()) {
    wire::ProcNames all;
    all.add_names()->set_nspace(question.nspace());
    all.mutable_names(0)->set_rank(kAllRanks);
    const auto hosts = jobs_.hosts_of(all);
    if (!hosts) return;
    nodes = *hosts;
  }
  const auto left_ms = allocations_.time_left_ms(nodes);
  reply.set_known(left_ms.has_value());
  reply.set_time_left_ms(left_ms.value_or(0));
}

void ServiceDesk::introduce(const Requester& from, const std::string& nspace) {
  const auto particulars = jobs_.particulars_of(nspace);
  if (particulars == nullptr) {
    return answer(daemons_, from, Error{ErrorCode::kNotFound, "no such job: " + nspace});
  }
  guests_[nspace].insert(from.daemon);
  wire::ServiceAnswer result;
  *result.mutable_job() = *particulars;
  answer(daemons_, from, ok_status(), std::move(result));
}

// ---- what processes have put ----

void ServiceDesk::on_modex_request(Rank origin, const wire::ModexRequest& request) {
  const ModexKey key{origin, request.token()};
  wire::ProcNames whose;
  *whose.add_names() = request.whose();
  const auto hosts = jobs_.hosts_of(whose);
  if (!hosts || hosts->size() != 1) {
    answer_modex(key, Error{ErrorCode::kNotFound, "no such process"}, {});
    return;
  }
  if (!daemons_.reaches(*hosts->begin())) {
    return answer_modex(key, Error{ErrorCode::kConnectionLost, "its node was lost"}, {});
  }
  modexes_[key] = Modex{request.whose(), *hosts->begin()};
  wire::DownBody body;
  *body.mutable_modex_request() = request;
  body.mutable_modex_request()->set_origin(origin.value());
  daemons_.scatter({{*hosts->begin(), std::move(body)}}, nullptr, {});
}

void ServiceDesk::on_modex_answer(Rank owner, const wire::ModexAnswer& given, const Bytes& data) {
  const ModexKey key{Rank(given.origin()), given.token()};
  const auto asked = modexes_.find(key);
  if (asked == modexes_.end() || asked->second.owner != owner) return;
  modexes_.erase(asked);
  answer_modex(key, status_of(given), data);
}

void ServiceDesk::answer_modex(const ModexKey& key, const Status& status, const Bytes& data) {
  wire::DownBody body;
  auto* out = body.mutable_modex_answer();
  out->set_origin(key.first.value());
  out->set_token(key.second);
  set_status(*out, status);
  daemons_.scatter({{key.first, std::move(body)}}, nullptr, data);
}

// ---- what one tells others ----

std::set<Rank> ServiceDesk::audience_of(const wire::EventNotice& notice) const {
  wire::ProcNames whom;
  switch (notice.range()) {
    case wire::RANGE_MANAGER:
    case wire::RANGE_LOCAL:
    case wire::RANGE_PROC_LOCAL:
      return {};
    case wire::RANGE_CUSTOM:
      whom = notice.targets();
      break;
    case wire::RANGE_NAMESPACE:
      *whom.add_names() = proc_name(notice.source().nspace(), kAllRanks);
      break;
    default:
      return daemons_.everybody();
  }
  std::set<Rank> out;
  for (const auto& name : whom.names()) {
    wire::ProcNames one;
    *one.add_names() = name;
    if (const auto hosts = jobs_.hosts_of(one)) out.insert(hosts->begin(), hosts->end());
    for (const auto& [tool, daemon] : tools_) {
      const bool meant = name.rank() == kAllRanks || name.rank() == tool.second;
      if (tool.first == name.nspace() && meant) out.insert(daemon);
    }
  }
  return out;
}

void ServiceDesk::on_event(Rank origin, const wire::EventNotice& notice) {
  if (notice.has_warning()) {
    return allocations_.relay_warning(notice.warning(), is_tool_at(origin, notice.source()));
  }
  auto audience = audience_of(notice);
  audience.erase(origin);  // has told its own
  wire::DownBody body;
  *body.mutable_event() = notice;
  DaemonPort::Slices slices;
  for (const Rank rank : audience) slices.emplace_back(rank, body);
  if (!slices.empty()) daemons_.scatter(std::move(slices), nullptr, {});
}

// ---- tools ----

void ServiceDesk::on_tool_joined(Rank origin, const wire::ToolJoined& joined) {
  allocations_.on_tool_joined(joined.tool().nspace());
  tools_[id_of(joined.tool())] = origin;
}

void ServiceDesk::on_tool_left(Rank origin, const wire::ToolLeft& left) {
  const auto tool = tools_.find(id_of(left.tool()));
  if (tool != tools_.end() && tool->second == origin) drop_tool(tool->first);
}

void ServiceDesk::drop_tool(ProcId tool) {
  tools_.erase(tool);
  const auto other = tools_.lower_bound({tool.first, 0});
  if (other == tools_.end() || other->first.first != tool.first) {
    board_.on_nspace_gone(tool.first);
    allocations_.on_nspace_gone(tool.first);
  } else {
    allocations_.on_proc_gone(proc_name(tool.first, tool.second));
  }
  jobs_.on_tool_gone(proc_name(std::move(tool.first), tool.second));
}

// ---- losses ----

void ServiceDesk::on_node_lost(Rank rank, const std::string& node) {
  collectives_.on_node_lost(rank, node);
  board_.on_daemon_lost(rank);
  allocations_.on_daemon_gone(rank);
  for (auto& [nspace, daemons] : guests_) daemons.erase(rank);
  std::vector<ProcId> tools;
  for (const auto& [tool, daemon] : tools_) {
    if (daemon == rank) tools.push_back(tool);
  }
  for (const auto& tool : tools) drop_tool(tool);
  const Status lost = Error{ErrorCode::kConnectionLost, fmt::format("node {} was lost", node)};
  std::vector<ModexKey> unanswered;
  for (const auto& [key, modex] : modexes_) {
    if (modex.owner == rank || key.first == rank) unanswered.push_back(key);
  }
  for (const auto& key : unanswered) {
    modexes_.erase(key);
    if (key.first != rank) answer_modex(key, lost, {});
  }
}

void ServiceDesk::on_job_gone(const std::string& nspace) {
  collectives_.on_job_gone(nspace);
  board_.on_nspace_gone(nspace);
  allocations_.on_nspace_gone(nspace);
  if (const auto guests = guests_.extract(nspace); !guests.empty()) {
    wire::DownBody body;
    body.mutable_forget_guest()->set_nspace(nspace);
    DaemonPort::Slices slices;
    for (const Rank rank : guests.mapped()) slices.emplace_back(rank, body);
    daemons_.scatter(std::move(slices), nullptr, {});
  }
  const Status gone = Error{ErrorCode::kConnectionLost, fmt::format("job {} has ended", nspace)};
  std::vector<ModexKey> unanswered;
  for (const auto& [key, modex] : modexes_) {
    if (modex.whose.nspace() == nspace) unanswered.push_back(key);
  }
  for (const auto& key : unanswered) {
    modexes_.erase(key);
    answer_modex(key, gone, {});
  }
}

}  // namespace tide::core
