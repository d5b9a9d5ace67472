#include "cli/json_text.hpp"

#include <nlohmann/json.hpp>

namespace tide::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;

// Command lines may hold bytes that are no UTF-8: these become replacement characters.
std::string dump(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json dvm_object(const wire::StatusReply& status) {
  return {{"name", status.dvm_name()}, {"id", status.dvm_id()},     {"state", status.state()},
          {"age_ms", status.age_ms()}, {"pid", status.pid()},       {"uri", status.uri()},
          {"radix", status.radix()},   {"serial", status.serial()}, {"span", status.span()}};
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
                     {"parent", node.parent()}});
  }
  return nodes;
}

Json jobs_array(const wire::StatusReply& status) {
  Json jobs = Json::array();
  for (const wire::JobStatus& job : status.jobs()) {
    Json object = {{"number", job.number()},   {"namespace", job.nspace()},
                   {"state", job.state()},     {"processes", job.processes()},
                   {"running", job.running()}, {"command", job.command()},
                   {"age_ms", job.age_ms()},   {"ended", job.ended()}};
    object["exit_status"] = job.ended() ? Json(job.exit_status()) : Json(nullptr);
    object["messages"] = Json::array();
    for (const std::string& message : job.messages()) object["messages"].push_back(message);
    jobs.push_back(std::move(object));
  }
  return jobs;
}

}  // namespace

std::string status_json(const wire::StatusReply& status) {
  Json counters = Json::object();
  for (const wire::CounterValue& counter : status.counters()) {
    counters[counter.name()] = counter.value();
  }
  return dump({{"schema_version", kSchemaVersion},
               {"dvm", dvm_object(status)},
               {"nodes", nodes_array(status)},
               {"jobs", jobs_array(status)},
               {"counters", std::move(counters)}});
}

std::string jobs_json(const wire::StatusReply& status) {
  return dump({{"schema_version", kSchemaVersion}, {"jobs", jobs_array(status)}});
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
  return dump({{"schema_version", kSchemaVersion}, {"params", std::move(list)}});
}

std::string error_json(const Error& error) {
  return dump({{"schema_version", kSchemaVersion},
               {"error", {{"code", error_code_name(error.code)}, {"message", error.message}}}});
}

}  // namespace tide::cli
