#include "pmix/query_reply.hpp"

#include <pmix.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "pmix/asking.hpp"
#include "pmix/convert.hpp"

namespace tide::pmix {
namespace {

template <class Items, class Text>
std::string joined(const Items& items, const Text& text_of) {
  std::string text;
  for (const auto& item : items) {
    if (!text.empty()) text += ',';
    text += text_of(item);
  }
  return text;
}

// libpmix frees it, with the array that it becomes part of.
char* library_text(const std::string& text) {
  return text.empty() ? nullptr : ::strdup(text.c_str());
}

void add_processes(InfoList& info, const char* key, const wire::QueryReply& reply) {
  const auto count = static_cast<std::size_t>(reply.processes_size());
  auto* rows = static_cast<pmix_proc_info_t*>(info.new_array(key, count, PMIX_PROC_INFO));
  for (const wire::ProcRow& process : reply.processes()) {
    rows->proc = to_pmix(from_wire(process.name()));
    rows->hostname = library_text(process.node());
    rows->executable_name = library_text(process.executable());
    rows->pid = static_cast<pid_t>(process.pid());
    rows->exit_code = process.exit_code();
    rows->state = process_state(process.state());
    ++rows;
  }
}

void add_jobs(InfoList& info, const char* key, const wire::QueryReply& reply) {
  InfoList all;
  InfoList one;
  for (const wire::JobRow& job : reply.jobs()) {
    one.text(PMIX_NSPACE, job.nspace());
    one.text(PMIX_CMD_LINE, job.command());
    one.u32(PMIX_JOB_SIZE, job.size());
    one.status(PMIX_QUERY_JOB_STATUS, job_status(job.state()));
    if (job.has_parent() && !job.parent().nspace().empty()) {
      one.proc(PMIX_PARENT_ID, from_wire(job.parent()));
    }
    all.array(PMIX_JOB_INFO_ARRAY, one);
  }
  info.array(key, all);
}

#ifdef PMIX_QUERY_ALLOCATION
void add_allocation(InfoList& info, const char* key, const wire::QueryReply& reply) {
  InfoList all;
  InfoList one;
  for (const wire::NodeRow& node : reply.nodes()) {
    one.text(PMIX_HOSTNAME, node.name());
    one.u32(PMIX_NODEID, node.rank());
    one.u32(PMIX_NUM_SLOTS, node.slots());
    all.array(PMIX_NODE_INFO_ARRAY, one);
  }
  info.array(key, all);
}
#endif

std::vector<std::string> node_names(const wire::QueryReply& reply) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const wire::NodeRow& node : reply.nodes()) add(node.name());
  for (const wire::ProcRow& process : reply.processes()) add(process.node());
  return names;
}

std::uint32_t slots_of(const wire::QueryReply& reply) {
  std::uint32_t slots = 0;
  for (const wire::NodeRow& node : reply.nodes()) slots += node.slots();
  return slots;
}

// The form is ours: PMIx wants a text and does not say which.
std::string allocation_text(const wire::QueryReply& reply) {
  return joined(reply.nodes(), [](const wire::NodeRow& node) {
    return node.name() + ":" + std::to_string(node.slots()) + ":" +
           std::to_string(node.slots_used());
  });
}

void add_group_names(InfoList& info, const char* key, const wire::QueryReply& reply) {
  const auto count = static_cast<std::size_t>(reply.groups_size());
  auto* names = static_cast<char**>(info.new_array(key, count, PMIX_STRING));
  for (const wire::GroupRow& group : reply.groups()) *names++ = ::strdup(group.name().c_str());
}

bool add_group_members(InfoList& info, const char* key, const wire::QueryReply& reply,
                       const std::string& name) {
  for (const wire::GroupRow& group : reply.groups()) {
    if (group.name() != name) continue;
    const auto count = static_cast<std::size_t>(group.members().names_size());
    auto* members = static_cast<pmix_proc_t*>(info.new_array(key, count, PMIX_PROC));
    for (const wire::ProcName& member : group.members().names()) {
      *members++ = to_pmix(from_wire(member));
    }
    return true;
  }
  return false;
}

bool add_about_groups(InfoList& info, const WantedKey& wanted, const wire::QueryReply& reply) {
  const char* key = wanted.key.c_str();
  if (wanted.key == PMIX_QUERY_GROUP_MEMBERSHIP) {
    return add_group_members(info, key, reply, wanted.group);
  }
  if (wanted.key == PMIX_QUERY_GROUP_NAMES) {
    add_group_names(info, key, reply);
  } else {
    info.size(key, static_cast<std::size_t>(reply.groups_size()));
  }
  return true;
}

bool add_about_nodes(InfoList& info, const WantedKey& wanted, const wire::QueryReply& reply) {
  const char* key = wanted.key.c_str();
  if (wanted.key == PMIX_QUERY_ALLOC_STATUS) {
    info.text(key, allocation_text(reply));
  } else if (wanted.key == PMIX_NUM_SLOTS) {
    info.u32(key, slots_of(reply));
  } else if (wanted.key == PMIX_NUM_NODES) {
    info.u32(key, static_cast<std::uint32_t>(node_names(reply).size()));
#ifdef PMIX_QUERY_ALLOCATION
  } else if (wanted.key == PMIX_QUERY_ALLOCATION) {
    add_allocation(info, key, reply);
#endif
  } else {
    info.text(key, joined(node_names(reply), [](const std::string& name) { return name; }));
  }
  return true;
}

bool add_about_job(InfoList& info, const WantedKey& wanted, const wire::JobRow& job) {
  if (wanted.key == PMIX_JOB_SIZE) {
    info.u32(PMIX_JOB_SIZE, job.size());
  } else {
    info.status(PMIX_QUERY_JOB_STATUS, job_status(job.state()));
  }
  return true;
}

std::uint32_t whole_seconds(std::uint64_t time_ms) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(time_ms / 1000, UINT32_MAX));
}

// False: the reply does not tell.
bool add_reply(InfoList& info, const WantedKey& wanted, const wire::Question& question,
               const wire::QueryReply& reply) {
  const char* key = wanted.key.c_str();
  const bool of_nodes = wanted.key == PMIX_NODE_LIST || wanted.key == PMIX_NUM_NODES;
  if (!reply.known()) return false;
  if (of_nodes) return add_about_nodes(info, wanted, reply);
  switch (question.what()) {
    case wire::Question::NAMESPACES:
      info.text(key, joined(reply.jobs(), [](const auto& job) { return job.nspace(); }));
      return true;
    case wire::Question::JOBS:
      add_jobs(info, key, reply);
      return true;
    case wire::Question::JOB_STATUS:
    case wire::Question::JOB_SIZE:
      return !reply.jobs().empty() && add_about_job(info, wanted, reply.jobs(0));
    case wire::Question::PROCESSES:
    case wire::Question::LOCAL_PROCESSES:
      add_processes(info, key, reply);
      return true;
    case wire::Question::ALLOCATION:
      return add_about_nodes(info, wanted, reply);
    case wire::Question::SERVER_URI:
      if (reply.nodes().empty() || reply.nodes(0).uri().empty()) return false;
      info.text(key, reply.nodes(0).uri());
      return true;
    case wire::Question::TIME_LEFT:
      info.u32(key, whole_seconds(reply.time_left_ms()));
      return true;
    case wire::Question::GROUPS:
      return add_about_groups(info, wanted, reply);
    default:
      return false;
  }
}

bool add_key(InfoList& info, const WantedKey& wanted, const QueryPlan& plan,
             const wire::QueryReplies& replies) {
  if (!wanted.question) {
    const bool keys = wanted.key == PMIX_QUERY_SUPPORTED_KEYS;
    info.text(wanted.key.c_str(), keys ? supported_query_keys() : supported_spawn_keys());
    return true;
  }
  if (*wanted.question >= replies.replies_size()) return false;
  return add_reply(info, wanted, plan.query.questions(*wanted.question),
                   replies.replies(*wanted.question));
}

}  // namespace

pmix_proc_state_t process_state(std::uint32_t state) {
  switch (state) {
    case 1:  // PRTE_PROC_STATE_INIT
      return PMIX_PROC_STATE_PREPPED;
    case 4:  // RUNNING
    case 9:  // READY_FOR_DEBUG
      return PMIX_PROC_STATE_RUNNING;
    case 5:  // REGISTERED
      return PMIX_PROC_STATE_CONNECTED;
    case 6:  // IOF_COMPLETE: one of two things that happen at its end
    case 7:  // WAITPID_FIRED
      return PMIX_PROC_STATE_TERMINATE;
    case 20:  // TERMINATED
      return PMIX_PROC_STATE_TERMINATED;
    case 51:  // KILLED_BY_CMD
      return PMIX_PROC_STATE_KILLED_BY_CMD;
    case 52:  // ABORTED
      return PMIX_PROC_STATE_ABORTED;
    case 53:  // FAILED_TO_START
      return PMIX_PROC_STATE_FAILED_TO_START;
    case 56:  // COMM_FAILED
      return PMIX_PROC_STATE_COMM_FAILED;
    default:
      return state >= 50 ? PMIX_PROC_STATE_ERROR : PMIX_PROC_STATE_UNDEF;
  }
}

pmix_status_t job_status(std::uint32_t state) {
  constexpr std::uint32_t kUnterminated = 30;  // PRTE_JOB_STATE_UNTERMINATED
  constexpr std::uint32_t kError = 50;         // PRTE_JOB_STATE_ERROR
  if (state < kUnterminated) return PMIX_OPERATION_IN_PROGRESS;
  if (state < kError) return PMIX_SUCCESS;
  switch (state) {
    case 51:  // KILLED_BY_CMD
    case 64:  // FORCED_EXIT
      return PMIX_ERR_JOB_KILLED_BY_CMD;
    case 52:  // ABORTED
      return PMIX_ERR_JOB_ABORTED;
    case 68:  // ALLOC_FAILED
      return PMIX_ERR_JOB_ALLOC_FAILED;
    case 69:  // MAP_FAILED
      return PMIX_ERR_JOB_FAILED_TO_MAP;
    default:
      return PMIX_ERR_JOB_FAILED_TO_LAUNCH;
  }
}

QueryResult query_result(const QueryPlan& plan, const wire::QueryReplies& replies) {
  InfoList info;
  std::size_t found = 0;
  for (const WantedKey& wanted : plan.keys) {
    if (add_key(info, wanted, plan, replies)) ++found;
  }
  QueryResult result;
  if (found == 0) {
    result.status = PMIX_ERR_NOT_FOUND;
    return result;
  }
  auto made = info.finish();
  if (!made) {
    result.status = PMIX_ERROR;
    return result;
  }
  result.info = std::move(made).value();
  const bool all = found == plan.keys.size() && !plan.some_unknown;
  result.status = all ? PMIX_SUCCESS : PMIX_QUERY_PARTIAL_SUCCESS;
  return result;
}

}  // namespace tide::pmix
