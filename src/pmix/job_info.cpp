#include "pmix/job_info.hpp"

#include <pmix_server.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>
#include <thread>

#include "pmix/convert.hpp"
#include "pmix/cpusets.hpp"
#include "pmix/library_text.hpp"

namespace tide::pmix {
namespace {

using Node = JobDescription::Node;
using App = JobDescription::App;

// A rank's place in the job.
struct Place {
  std::uint32_t node = 0;
  std::uint16_t local_rank = 0;
};

// The CPUs of this node, and what is known of sets of them.
struct Hardware {
  std::string own_cpus;
  Localities localities;
};

constexpr std::size_t kJobEntries = 32;  // more than add_maps(), add_job() and add_local() make

Error invalid(const std::string& what) {
  return Error{ErrorCode::kInvalidArgument, "job for PMIx: " + what};
}

std::uint32_t job_size(const JobDescription& job) {
  return job.apps.back().first_rank + job.apps.back().size;
}

bool is_node_name(std::string_view name) {
  // These separate the names in PMIx's map.
  return !name.empty() && name.find_first_of(std::string_view(",;\0", 3)) == std::string_view::npos;
}

Status check_apps(const JobDescription& job) {
  if (job.apps.empty()) return invalid("no app");
  std::uint64_t next = 0;
  for (const App& app : job.apps) {
    if (app.size == 0) return invalid("an app without processes");
    if (app.first_rank != next) return invalid("ranks of apps are not in a row");
    next += app.size;
  }
  if (next >= PMIX_RANK_VALID) return invalid("too many processes");
  return ok_status();
}

Status check_nodes(const JobDescription& job) {
  std::set<std::string_view> names;
  std::vector<bool> placed(job_size(job), false);
  std::size_t count = 0;
  for (const Node& node : job.nodes) {
    if (!is_node_name(node.name)) return invalid("node name '" + node.name + "'");
    if (!names.insert(node.name).second) return invalid("node " + node.name + " twice");
    if (node.ranks.empty()) return invalid("nothing on node " + node.name);
    if (node.ranks.size() > std::numeric_limits<std::uint16_t>::max()) {
      return invalid("too many processes on node " + node.name);
    }
    if (!node.cpus.empty() && node.cpus.size() != node.ranks.size()) {
      return invalid("CPUs on node " + node.name + " are not those of its ranks");
    }
    if (!std::is_sorted(node.ranks.begin(), node.ranks.end())) {
      return invalid("ranks on node " + node.name + " are not in order");
    }
    for (const std::uint32_t rank : node.ranks) {
      if (rank >= placed.size()) return invalid("no app has rank " + std::to_string(rank));
      if (placed[rank]) return invalid("rank " + std::to_string(rank) + " has two places");
      placed[rank] = true;
      ++count;
    }
  }
  if (count != placed.size()) return invalid("some ranks have no place");
  return ok_status();
}

// Never "0-3": libpmix hands a part of the map on as PMIX_LOCAL_PEERS, and clients split that at
// commas only.
std::string enumeration(const std::vector<std::uint32_t>& ranks) {
  std::string text;
  for (const std::uint32_t rank : ranks) {
    if (!text.empty()) text += ',';
    text += std::to_string(rank);
  }
  return text;
}

std::string command_line(const std::vector<std::string>& argv) {
  std::string text;
  for (const auto& word : argv) {
    if (!text.empty()) text += ' ';
    text += word;
  }
  return text;
}

Status add_maps(InfoList& info, const JobDescription& job) {
  std::string names;
  std::string ranks;
  for (const Node& node : job.nodes) {
    if (!names.empty()) names += ',';
    if (!ranks.empty()) ranks += ';';
    names += node.name;
    ranks += enumeration(node.ranks);
  }
  char* raw = nullptr;
  pmix_status_t status = PMIx_generate_regex(names.c_str(), &raw);
  const LibraryText node_map(raw);
  if (status != PMIX_SUCCESS) return from_pmix(status, "libpmix can't map the nodes");
  raw = nullptr;
  status = PMIx_generate_ppn(ranks.c_str(), &raw);
  const LibraryText proc_map(raw);
  if (status != PMIX_SUCCESS) return from_pmix(status, "libpmix can't map the processes");
  info.regex(PMIX_NODE_MAP, node_map.get());
  info.regex(PMIX_PROC_MAP, proc_map.get());
  return ok_status();
}

void add_job(InfoList& info, const JobDescription& job) {
  const std::uint32_t size = job_size(job);
  info.text(PMIX_JOBID, job.nspace);
  info.u32(PMIX_UNIV_SIZE, std::max(job.universe_size, size));
  info.u32(PMIX_JOB_SIZE, size);
  info.u32(PMIX_MAX_PROCS, std::max(job.universe_size, size));
  info.u32(PMIX_NUM_NODES, static_cast<std::uint32_t>(job.nodes.size()));
  info.u32(PMIX_JOB_NUM_APPS, static_cast<std::uint32_t>(job.apps.size()));
  info.text(PMIX_TMPDIR, job.session_directory);
  info.text(PMIX_NSDIR, job.session_directory);
  info.flag(PMIX_TDIR_RMCLEAN, true);  // directories are ours to remove
  if (job.parent) {
    info.flag(PMIX_SPAWNED, true);
    info.proc(PMIX_PARENT_ID, *job.parent);
  }
}

// libpmix reads it as a rank: all of them.
void add_stop(InfoList& info, wire::StopAt stop) {
  if (stop == wire::STOP_ON_EXEC) info.rank(PMIX_DEBUG_STOP_ON_EXEC, PMIX_RANK_WILDCARD);
  if (stop == wire::STOP_IN_INIT) info.rank(PMIX_DEBUG_STOP_IN_INIT, PMIX_RANK_WILDCARD);
  if (stop == wire::STOP_IN_APP) info.rank(PMIX_DEBUG_STOP_IN_APP, PMIX_RANK_WILDCARD);
}

void add_local(InfoList& info, const Node& node) {
  const auto size = static_cast<std::uint32_t>(node.ranks.size());
  info.u32(PMIX_LOCAL_SIZE, size);
  info.text(PMIX_LOCAL_PEERS, enumeration(node.ranks));
  info.rank(PMIX_LOCALLDR, node.ranks.front());
}

void add_node(InfoList& info, InfoList& entry, const Node& node, std::uint32_t id) {
  entry.text(PMIX_HOSTNAME, node.name);  // says whose the rest is
  entry.u32(PMIX_NODEID, id);
  entry.u32(PMIX_NODE_SIZE, static_cast<std::uint32_t>(node.ranks.size()));
  add_local(entry, node);
  info.array(PMIX_NODE_INFO_ARRAY, entry);
}

void add_app(InfoList& info, InfoList& entry, const App& app, std::uint32_t number) {
  entry.u32(PMIX_APPNUM, number);  // says whose the rest is
  entry.u32(PMIX_APP_SIZE, app.size);
  entry.rank(PMIX_APPLDR, app.first_rank);
  entry.text(PMIX_APP_ARGV, command_line(app.argv));
  entry.text(PMIX_WDIR, app.working_directory);
  info.array(PMIX_APP_INFO_ARRAY, entry);
}

// Empty: nobody knows.
std::string cpus_of(const JobDescription& job, const Place& place, const std::string& own_cpus) {
  const Node& node = job.nodes[place.node];
  const bool own = !node.cpus.empty() && !node.cpus[place.local_rank].empty();
  std::string cpus = own ? node.cpus[place.local_rank] : node.all_cpus;
  if (cpus.empty() && node.name == job.this_node) cpus = own_cpus;
  return cpus;
}

// What everybody may know of a process.
void add_process(InfoList& entry, const JobDescription& job, std::uint32_t number,
                 std::uint32_t rank, const Place& place, const std::string& cpus) {
  entry.rank(PMIX_RANK, rank);  // says whose the rest is
  entry.u32(PMIX_APPNUM, number);
  entry.rank(PMIX_APP_RANK, rank - job.apps[number].first_rank);
  entry.rank(PMIX_GLOBAL_RANK, rank);
  // Both, or MPI_Init fails. We do not know what other jobs have here, and nothing asks.
  entry.u16(PMIX_LOCAL_RANK, place.local_rank);
  entry.u16(PMIX_NODE_RANK, place.local_rank);
  entry.u32(PMIX_NODEID, place.node);
  entry.text(PMIX_HOSTNAME, job.nodes[place.node].name);
  entry.u32(PMIX_REINCARNATION, 0);
  if (job.parent) entry.proc(PMIX_PARENT_ID, *job.parent);  // asked for by process and by job
  if (!cpus.empty()) entry.text(PMIX_CPUSET, cpuset_text(cpus));
}

// Locality is a matter of processes on the same node, and known of this one only.
void add_locality(InfoList& entry, const JobDescription& job, const Place& place,
                  const std::string& cpus, Hardware& hardware) {
  if (cpus.empty() || job.nodes[place.node].name != job.this_node) return;
  const std::string& locality = hardware.localities.of(cpus);
  if (!locality.empty()) entry.text(PMIX_LOCALITY_STRING, locality);
}

std::vector<Place> places(const JobDescription& job) {
  std::vector<Place> result(job_size(job));
  for (std::uint32_t node = 0; node < job.nodes.size(); ++node) {
    std::uint16_t local_rank = 0;
    for (const std::uint32_t rank : job.nodes[node].ranks) {
      result[rank] = Place{node, local_rank++};
    }
  }
  return result;
}

}  // namespace

const Node* find_node(const JobDescription& job, const std::string& name) {
  const auto found = std::find_if(job.nodes.begin(), job.nodes.end(),
                                  [&](const Node& node) { return node.name == name; });
  return found == job.nodes.end() ? nullptr : &*found;
}

Status check_job(const JobDescription& job) {
  if (!is_nspace(job.nspace)) return invalid("namespace '" + job.nspace + "'");
  if (job.parent && !is_nspace(job.parent->nspace)) return invalid("namespace of the parent");
  if (job.session_directory.empty()) return invalid("no session directory");
  if (auto apps = check_apps(job); !apps) return apps;
  return check_nodes(job);
}

Result<InfoArray> job_info(const JobDescription& job) {
  InfoList info;
  InfoList entry;  // one for all: entries are half a kilobyte each, and large jobs have many
  if (const auto maps = add_maps(info, job); !maps) return maps.error();
  info.reserve(job.nodes.size() + job.apps.size() + job_size(job) + kJobEntries);
  add_job(info, job);
  add_stop(info, job.stop_at);
  if (!job.debug_target.empty()) {
    info.proc(PMIX_DEBUG_TARGET, ProcName{job.debug_target, kAllRanks});
  }
  if (const Node* here = find_node(job, job.this_node)) add_local(info, *here);
  for (std::uint32_t id = 0; id < job.nodes.size(); ++id) add_node(info, entry, job.nodes[id], id);
  const std::vector<Place> where = places(job);
  Hardware hardware{own_cpu_list(), {}};
  for (std::uint32_t number = 0; number < job.apps.size(); ++number) {
    const App& app = job.apps[number];
    add_app(info, entry, app, number);
    for (std::uint32_t rank = app.first_rank; rank < app.first_rank + app.size; ++rank) {
      const std::string cpus = cpus_of(job, where[rank], hardware.own_cpus);
      add_process(entry, job, number, rank, where[rank], cpus);
      add_locality(entry, job, where[rank], cpus, hardware);
      info.array(PMIX_PROC_DATA, entry);
    }
  }
  return info.finish();
}

Result<InfoArray> process_info(const JobDescription& job, std::uint32_t rank) {
  const Place place = places(job).at(rank);
  std::uint32_t number = 0;
  while (rank - job.apps[number].first_rank >= job.apps[number].size) ++number;
  InfoList info;
  InfoList entry;
  add_process(entry, job, number, rank, place, cpus_of(job, place, own_cpu_list()));
  info.array(PMIX_PROC_DATA, entry);
  return info.finish();
}

bool is_crowded(const JobDescription& job, bool shared_host) {
  std::size_t on_this_host = 0;
  for (const auto& node : job.nodes) {
    if (shared_host || node.name == job.this_node) on_this_host += node.ranks.size();
  }
  return on_this_host > std::thread::hardware_concurrency();
}

}  // namespace tide::pmix
