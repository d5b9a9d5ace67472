#include "cli/watch_json.hpp"

#include "cli/allocation_text.hpp"
#include "cli/json_parts.hpp"
#include "cli/watch_text.hpp"

namespace tide::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string line_of(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json points_array(const google::protobuf::RepeatedPtrField<wire::JobPoint>& points) {
  Json list = Json::array();
  for (const wire::JobPoint& point : points) {
    Json object = {{"kind", point.kind()}, {"text", point.text()}};
    object["nodes"] = names_array(point.nodes());
    object["more_nodes"] = point.more_nodes();
    object["jobs"] = Json::array();
    for (const std::uint32_t job : point.jobs()) object["jobs"].push_back(job);
    list.push_back(std::move(object));
  }
  return list;
}

// Since the start of the DVM: the head's own clock begins anywhere.
std::uint64_t since_start(std::uint64_t at_ms, std::uint64_t start_ms) {
  return at_ms > start_ms ? at_ms - start_ms : 0;
}

Json way_array(const wire::ExplainReply& reply) {
  Json list = Json::array();
  for (const wire::JobPassage& one : reply.passages()) {
    list.push_back({{"state", one.state()},
                    {"at_ms", since_start(one.at_ms(), reply.start_ms())},
                    {"cause", one.cause()}});
  }
  return list;
}

Json change_object(const wire::ChangeReport& report, std::uint64_t start_ms) {
  Json object = campaign_object(report.campaign());
  object["phase_age_ms"] = report.ended() ? Json(nullptr) : Json(report.phase_age_ms());
  object["phase_left_ms"] =
      report.phase_left_ms() == 0 || report.ended() ? Json(nullptr) : Json(report.phase_left_ms());
  object["phase_then"] =
      report.then().empty() || report.ended() ? Json(nullptr) : Json(report.then());
  object["asked_by"] = report.asked_by();
  object["asked"] = report.asked();
  object["parked"] = Json::array();
  for (const std::uint32_t job : report.parked()) object["parked"].push_back(job);
  object["ended"] = report.ended();
  const bool failed = report.ended() && !report.end().done();
  object["outcome"] = !report.ended() ? Json(nullptr) : Json(failed ? "failed" : "done");
  object["cause"] = failed ? Json(report.end().cause()) : Json(nullptr);
  object["text"] = report.ended() ? Json(report.end().text()) : Json(nullptr);
  object["waits_for"] = points_array(report.waits());
  object["way"] = Json::array();
  for (const wire::JobPassage& step : report.way()) {
    object["way"].push_back(
        {{"phase", step.state()}, {"at_ms", since_start(step.at_ms(), start_ms)}});
  }
  return object;
}

Json process_object(const wire::JobProcs& job, const wire::ListedProc& row) {
  const std::string* node = node_of(job, row);
  const std::string* state = state_of(job, row);
  Json object = {{"job", job.number()}, {"namespace", job.nspace()}, {"rank", row.rank()}};
  object["node"] = node == nullptr ? Json(nullptr) : Json(*node);
  object["pid"] = row.pid() == 0 ? Json(nullptr) : Json(row.pid());
  object["state"] = state == nullptr ? Json(nullptr) : Json(*state);
  object["ended"] = row.ended();
  object["exit_code"] = row.ended() && row.signal() == 0 ? Json(row.exit_code()) : Json(nullptr);
  object["signal"] = row.signal() == 0 ? Json(nullptr) : Json(row.signal());
  return object;
}

}  // namespace

std::string explain_json(const wire::ExplainReply& reply) {
  const std::uint64_t now_ms = since_start(reply.now_ms(), reply.start_ms());
  if (reply.has_change()) {
    return json_document(
        {{"change", change_object(reply.change(), reply.start_ms())}, {"now_ms", now_ms}});
  }
  if (reply.has_allocation()) {
    Json jobs = Json::array();
    for (const std::uint32_t job : reply.allocation().jobs()) jobs.push_back(job);
    Json leaving = Json::array();
    for (const std::string& node : leaving_of(reply.allocation())) leaving.push_back(node);
    Json changes = Json::array();
    for (const wire::ChangeReport& one : reply.allocation().changes()) {
      changes.push_back(change_object(one, reply.start_ms()));
    }
    return json_document({{"allocation", allocation_object(reply.allocation().allocation())},
                          {"there", names_array(reply.allocation().there())},
                          {"reserves", names_array(reply.allocation().reserves())},
                          {"leaving", std::move(leaving)},
                          {"jobs", std::move(jobs)},
                          {"asks", asks_array(reply.allocation().asks())},
                          {"changes", std::move(changes)},
                          {"now_ms", now_ms}});
  }
  return json_document({{"job", job_object(reply.job())},
                        {"waits_for", points_array(reply.waits())},
                        {"facts", points_array(reply.facts())},
                        {"way", way_array(reply)},
                        {"now_ms", now_ms}});
}

std::string procs_json(std::span<const wire::JobProcs> pieces) {
  Json list = Json::array();
  for (const wire::JobProcs& piece : pieces) {
    for (const wire::ListedProc& row : piece.rows()) list.push_back(process_object(piece, row));
  }
  return json_document({{"processes", std::move(list)}});
}

std::string events_json(const wire::EventsReply& reply, std::uint64_t unix_ms) {
  std::string text;
  if (reply.dropped() > 0) {
    text += line_of({{"kind", "events-dropped"}, {"dropped", reply.dropped()}});
  }
  for (const wire::DvmEvent& event : reply.events()) {
    Json object = {{"kind", event.kind()},
                   {"number", event.number()},
                   {"at_ms", since_start(event.at_ms(), reply.start_ms())},
                   {"unix_ms", unix_time_of(event.at_ms(), reply.now_ms(), unix_ms)}};
    if (event.job() != 0) object["job"] = event.job();
    if (!event.node().empty()) object["node"] = event.node();
    if (event.processes() != 0) object["processes"] = event.processes();
    if (!event.state().empty()) {
      object["state"] = event.state();
      object["exit_status"] = event.exit_status();
    }
    if (!event.detail().empty()) object["detail"] = event.detail();
    text += line_of(object);
  }
  return text;
}

std::string log_line_json(std::string_view node, std::string_view line) {
  return line_of({{"node", node}, {"line", line}});
}

std::string recorder_json(const wire::RecorderReply& reply) {
  std::string text;
  for (const std::string& line : reply.lines()) text += line_of({{"line", line}});
  return text;
}

}  // namespace tide::cli
