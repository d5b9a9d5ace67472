#include "cli/json_text.hpp"

#include "cli/allocation_text.hpp"
#include "cli/json_parts.hpp"

namespace tide::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;

Json word_or_null(const std::string& word) {
  return word.empty() ? Json(nullptr) : Json(word);
}

Json dvm_object(const wire::StatusReply& status) {
  return {{"name", status.dvm_name()},
          {"id", status.dvm_id()},
          {"state", status.state()},
          {"age_ms", status.age_ms()},
          {"pid", status.pid()},
          {"uri", status.uri()},
          {"radix", status.radix()},
          {"serial", status.serial()},
          {"span", status.span()},
          {"elastic", status.elastic()},
          {"source", word_or_null(status.source())},
          {"source_left_ms", status.source_left_ms()}};
}

Json nodes_array(const wire::StatusReply& status) {
  Json nodes = Json::array();
  for (const wire::NodeStatus& node : status.nodes()) {
    nodes.push_back({{"name", node.name()},
                     {"rank", node.rank()},
                     {"state", node.state()},
                     {"slots", node.slots()},
                     {"slots_used", node.slots_used()},
                     {"processes", node.processes()},
                     {"pid", node.pid()},
                     {"parent", node.parent()},
                     {"allocation", word_or_null(node.allocation())},
                     {"reservation", word_or_null(node.reservation())},
                     {"manager", word_or_null(node.manager())}});
  }
  return nodes;
}

Json campaigns_array(const wire::StatusReply& status) {
  Json list = Json::array();
  for (const wire::CampaignStatus& one : status.campaigns()) list.push_back(campaign_object(one));
  return list;
}

Json allocations_array(const wire::StatusReply& status) {
  Json list = Json::array();
  for (const wire::AllocationStatus& one : status.allocations()) {
    Json object = allocation_object(one);
    object["reserves"] = names_array(reserved_by(one, status));
    list.push_back(std::move(object));
  }
  return list;
}

Json jobs_array(const wire::StatusReply& status) {
  Json jobs = Json::array();
  for (const wire::JobStatus& job : status.jobs()) {
    jobs.push_back(job_object(job));
  }
  return jobs;
}

}  // namespace

std::string json_document(const Json& members) {
  Json document = {{"schema_version", kSchemaVersion}};
  document.update(members);
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json job_object(const wire::JobStatus& job) {
  Json object = {{"number", job.number()},   {"namespace", job.nspace()},
                 {"state", job.state()},     {"processes", job.processes()},
                 {"running", job.running()}, {"command", job.command()},
                 {"age_ms", job.age_ms()},   {"ended", job.ended()}};
  object["exit_status"] = job.ended() ? Json(job.exit_status()) : Json(nullptr);
  object["messages"] = Json::array();
  for (const std::string& message : job.messages()) object["messages"].push_back(message);
  object["nodes"] = job.nodes();
  object["targets"] = names_array(targets_of(job));
  object["waits_for"] = job.waits_for().empty() ? Json(nullptr) : Json(job.waits_for());
  object["state_age_ms"] = job.ended() ? Json(nullptr) : Json(job.state_age_ms());
  return object;
}

Json campaign_object(const wire::CampaignStatus& one) {
  return {{"number", one.number()},
          {"kind", one.shrinks() ? "shrink" : "grow"},
          {"allocation", one.allocation()},
          {"nodes", names_array(one.nodes())},
          {"phase", one.phase()},
          {"missing", names_array(one.missing())},
          {"managers", names_array(one.managers())},
          {"age_ms", one.age_ms()},
          {"parked_jobs", one.parked_jobs()}};
}

Json allocation_object(const wire::AllocationStatus& one) {
  Json object = {{"id", one.name()},
                 {"nodes", names_array(one.nodes())},
                 {"managers", names_array(one.managers())}};
  object["lease"] = one.has_lease() ? Json({{"left_ms", one.lease().left_ms()},
                                            {"warn_ms", one.lease().warn_ms()},
                                            {"warned", one.lease().warned()}})
                                    : Json(nullptr);
  object["reserved"] = one.reserved();
  object["owner"] = word_or_null(one.owner());
  object["owner_ended"] = one.owner_ended();
  object["owners"] = names_array(one.owners());
  object["derived"] = names_array(one.derived());
  object["inheritance"] = word_or_null(one.inheritance());
  object["request_id"] = word_or_null(one.request_id());
  object["age_ms"] = one.owner().empty() ? Json(nullptr) : Json(one.age_ms());
  return object;
}

Json asks_array(const google::protobuf::RepeatedPtrField<wire::PendingAsk>& asks) {
  Json list = Json::array();
  for (const wire::PendingAsk& ask : asks) {
    list.push_back({{"number", ask.number()},
                    {"text", ask.text()},
                    {"age_ms", ask.age_ms()},
                    {"left_ms", ask.queued().empty() ? Json(ask.left_ms()) : Json(nullptr)},
                    {"queued", word_or_null(ask.queued())},
                    {"request_id", word_or_null(ask.request_id())},
                    {"job", ask.job() == 0 ? Json(nullptr) : Json(ask.job())}});
  }
  return list;
}

std::string status_json(const wire::StatusReply& status) {
  Json counters = Json::object();
  for (const wire::CounterValue& counter : status.counters()) {
    counters[counter.name()] = counter.value();
  }
  return json_document({{"dvm", dvm_object(status)},
                        {"nodes", nodes_array(status)},
                        {"jobs", jobs_array(status)},
                        {"allocations", allocations_array(status)},
                        {"asks", asks_array(status.asks())},
                        {"campaigns", campaigns_array(status)},
                        {"counters", std::move(counters)}});
}

std::string change_json(const ShownChange& change) {
  Json object = {{"kind", change.kind},
                 {"number", change.number == 0 ? Json(nullptr) : Json(change.number)},
                 {"allocation", word_or_null(change.allocation)},
                 {"nodes", names_array(change.nodes)},
                 {"already", names_array(change.already)},
                 {"complete", change.complete},
                 {"lease_ms", change.lease_ms == 0 ? Json(nullptr) : Json(change.lease_ms)},
                 {"lease_cut_by", word_or_null(change.lease_cut_by)},
                 {"outcome", word_or_null(change.outcome)},
                 {"cause", word_or_null(change.cause)},
                 {"text", word_or_null(change.text)}};
  return json_document({{"change", std::move(object)}});
}

std::string allocations_json(const wire::StatusReply& status) {
  return json_document(
      {{"allocations", allocations_array(status)}, {"asks", asks_array(status.asks())}});
}

std::string jobs_json(const wire::StatusReply& status) {
  return json_document({{"jobs", jobs_array(status)}});
}

std::string params_json(std::span<const ShownParam> params) {
  Json list = Json::array();
  for (const ShownParam& param : params) {
    list.push_back({{"name", param.name},
                    {"value", param.value},
                    {"source", param.source},
                    {"type", param.type},
                    {"help", param.help}});
  }
  return json_document({{"params", std::move(list)}});
}

std::string error_json(const Error& error) {
  return json_document(
      {{"error", {{"code", error_code_name(error.code)}, {"message", error.message}}}});
}

}  // namespace tide::cli
