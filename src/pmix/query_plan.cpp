#include "pmix/query_plan.hpp"

#include <array>
#include <span>

#include "pmix/values.hpp"

namespace tide::pmix {
namespace {

using What = wire::Question;

struct KnownKey {
  std::string_view key;
  int what;  // wire::Question::What, or kOwn
};
constexpr int kOwn = -1;

constexpr std::array kKnown = {
    KnownKey{PMIX_QUERY_NAMESPACES, What::NAMESPACES},
    KnownKey{PMIX_QUERY_NAMESPACE_INFO, What::JOBS},
    KnownKey{PMIX_QUERY_JOB_STATUS, What::JOB_STATUS},
    KnownKey{PMIX_JOB_SIZE, What::JOB_SIZE},
    KnownKey{PMIX_QUERY_PROC_TABLE, What::PROCESSES},
    KnownKey{PMIX_QUERY_LOCAL_PROC_TABLE, What::LOCAL_PROCESSES},
    KnownKey{PMIX_SERVER_URI, What::SERVER_URI},
    KnownKey{PMIX_QUERY_ALLOC_STATUS, What::ALLOCATION},
#ifdef PMIX_QUERY_ALLOCATION
    KnownKey{PMIX_QUERY_ALLOCATION, What::ALLOCATION},
#endif
    KnownKey{PMIX_ALLOCATED_NODELIST, What::ALLOCATION},
    KnownKey{PMIX_NODE_LIST, What::ALLOCATION},
    KnownKey{PMIX_NUM_NODES, What::ALLOCATION},
    KnownKey{PMIX_NUM_SLOTS, What::ALLOCATION},
    KnownKey{PMIX_TIME_REMAINING, What::TIME_LEFT},
    KnownKey{PMIX_QUERY_GROUP_NAMES, What::GROUPS},
    KnownKey{PMIX_QUERY_NUM_GROUPS, What::GROUPS},
    KnownKey{PMIX_QUERY_GROUP_MEMBERSHIP, What::GROUPS},
    KnownKey{PMIX_QUERY_SUPPORTED_KEYS, kOwn},
    KnownKey{PMIX_QUERY_SPAWN_SUPPORT, kOwn},
};

constexpr std::array<std::string_view, 16> kSpawnKeys = {PMIX_WDIR,
                                                         PMIX_HOST,
                                                         PMIX_ADD_HOST,
                                                         PMIX_MAPBY,
                                                         PMIX_PERSONALITY,
                                                         PMIX_FWD_STDIN,
                                                         PMIX_FWD_STDOUT,
                                                         PMIX_FWD_STDERR,
                                                         PMIX_NOTIFY_COMPLETION,
                                                         PMIX_NOTIFY_JOB_EVENTS,
                                                         PMIX_SET_ENVAR,
                                                         PMIX_UNSET_ENVAR,
                                                         PMIX_ADD_ENVAR,
                                                         PMIX_PREPEND_ENVAR,
                                                         PMIX_APPEND_ENVAR,
                                                         PMIX_TIMEOUT};

template <class Keys>
std::string joined(const Keys& keys) {
  std::string text;
  for (const std::string_view key : keys) {
    if (!text.empty()) text += ',';
    text += key;
  }
  return text;
}

std::optional<int> what_of(std::string_view key) {
  for (const KnownKey& known : kKnown) {
    if (known.key == key) return known.what;
  }
  return std::nullopt;
}

// The nodes of a job instead of those of the DVM, if one is named.
int narrowed(std::string_view key, int what, const std::string& nspace) {
  const bool of_job = key == PMIX_NODE_LIST || key == PMIX_NUM_NODES;
  return of_job && !nspace.empty() ? static_cast<int>(What::PROCESSES) : what;
}

}  // namespace

std::string supported_query_keys() {
  std::vector<std::string_view> keys;
  for (const KnownKey& known : kKnown) keys.push_back(known.key);
  return joined(keys);
}

std::string supported_spawn_keys() {
  return joined(kSpawnKeys);
}

pmix_status_t QueryPlan::read_qualifier(const pmix_info_t& info, Qualifiers& qualifiers) {
  const std::string_view key = key_of(info);
  const auto take_text = [&](std::string& into) {
    const auto text = text_in(info.value);
    if (!text || text->empty()) return PMIX_ERR_BAD_PARAM;
    into = *text;
    return PMIX_SUCCESS;
  };
  if (key == PMIX_NSPACE) return take_text(qualifiers.nspace);
  if (key == PMIX_HOSTNAME) return take_text(qualifiers.node);
  if (key == PMIX_GROUP_ID) return take_text(qualifiers.group);
  if (key == PMIX_NODEID) {
    // The daemons' numbers; whoever answers knows which node that is.
    const auto number = integer_in(info.value);
    if (!number || *number < 0) return PMIX_ERR_BAD_PARAM;
    qualifiers.node = "#" + std::to_string(*number);
    return PMIX_SUCCESS;
  }
  if (key == PMIX_PROCID) {
    qualifiers.proc = proc_in(info.value);
    return qualifiers.proc ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
  }
  const bool harmless = key == PMIX_QUERY_REFRESH_CACHE || !is_required(info);
  return harmless ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED;
}

void QueryPlan::add(const std::string& key, const Qualifiers& qualifiers) {
  const auto what = what_of(key);
  if (!what) {
    some_unknown = true;
    return;
  }
  WantedKey wanted{key, qualifiers.group, std::nullopt};
  if (*what != kOwn) {
    wire::Question question;
    std::string nspace = qualifiers.nspace;
    const bool may_be_of_all = *what == What::JOBS;  // and whoever is named is the one who asks
    if (nspace.empty() && qualifiers.proc && !may_be_of_all) nspace = qualifiers.proc->nspace;
    question.set_what(static_cast<What::What>(narrowed(key, *what, nspace)));
    question.set_nspace(nspace);
    question.set_node(qualifiers.node);
    wanted.question = query.questions_size();
    *query.add_questions() = std::move(question);
  }
  keys.push_back(std::move(wanted));
}

pmix_status_t QueryPlan::read_one(const pmix_query_t& asked) {
  Qualifiers qualifiers;
  if (asked.keys == nullptr || asked.keys[0] == nullptr) return PMIX_ERR_BAD_PARAM;
  if (asked.qualifiers == nullptr && asked.nqual > 0) return PMIX_ERR_BAD_PARAM;
  for (const pmix_info_t& info : std::span(asked.qualifiers, asked.nqual)) {
    const pmix_status_t status = read_qualifier(info, qualifiers);
    if (status != PMIX_SUCCESS) return status;
  }
  for (char** key = asked.keys; *key != nullptr; ++key) add(*key, qualifiers);
  if (qualifiers.proc) who = qualifiers.proc;
  return PMIX_SUCCESS;
}

pmix_status_t QueryPlan::read(const pmix_query_t* queries, std::size_t count) {
  if (queries == nullptr || count == 0) return PMIX_ERR_BAD_PARAM;
  for (const pmix_query_t& asked : std::span(queries, count)) {
    const pmix_status_t status = read_one(asked);
    if (status != PMIX_SUCCESS) return status;
  }
  return keys.empty() ? PMIX_ERR_NOT_SUPPORTED : PMIX_SUCCESS;
}

}  // namespace tide::pmix
