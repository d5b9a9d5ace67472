// Jobs and the files they bring: between VM_READY and MAP they go to the nodes, at the end away
// from them.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/relative_name.hpp"
#include "core/job_board.hpp"
#include "core/placing.hpp"
#include "say/staging.hpp"
#include "wire/exit_status.hpp"
#include "wire/limits.hpp"

namespace tide::core {

namespace {

// Which nodes are empty is another answer at each asking.
bool chooses_empty_nodes(const wire::JobSpec& spec) {
  const auto is_empty_word = [](const wire::HostRequest& word) {
    return word.kind() == wire::HostRequest::EMPTY;
  };
  return std::ranges::any_of(spec.apps(), [&](const wire::AppSpec& app) {
    return std::ranges::any_of(app.hosts(), is_empty_word) ||
           std::ranges::any_of(app.hostfile(), is_empty_word);
  });
}

bool is_free(const wire::AppSpec& app) {
  return app.hosts().empty() && app.hostfile().empty();
}

}  // namespace

bool brings_files(const wire::JobSpec& spec) {
  return !spec.files().empty() || std::ranges::any_of(spec.apps(), [](const wire::AppSpec& app) {
    return app.in_job_directory();
  });
}

Status JobBoard::check_files(const wire::JobSpec& spec) {
  if (spec.files_size() > static_cast<int>(kMaxFilesPerJob)) {
    return say::too_many_staged_files(static_cast<std::size_t>(spec.files_size()), kMaxFilesPerJob);
  }
  for (const auto& file : spec.files()) {
    if (!stays_below(file.name())) return say::staged_name_leaves(file.name());
  }
  for (const auto& app : spec.apps()) {
    const auto is_it = [&](const wire::StagedFile& file) { return file.name() == app.preloaded(); };
    if (!app.preloaded().empty() && std::ranges::none_of(spec.files(), is_it)) {
      return say::preloaded_program_not_sent(app.preloaded());
    }
  }
  return ok_status();
}

// All that mapping may choose. A job that chooses what does not exist hears it from there.
std::set<Rank> JobBoard::nodes_to_stage(const Job& job) const {
  const auto nodes = nodes_to_map(job);
  std::set<Rank> all;
  for (const auto& node : nodes) all.insert(node.rank);
  if (chooses_empty_nodes(job.spec) || std::ranges::any_of(job.spec.apps(), is_free)) return all;
  wire::JobSpec chosen = job.spec;
  if (!choose_nodes(chosen, nodes, Suspects::kAlways)) return {};
  std::set<std::string_view> names;
  for (const auto& app : chosen.apps()) {
    for (const auto& host : app.hosts()) names.insert(host.node());
  }
  std::set<Rank> out;
  for (const auto& node : nodes) {
    if (names.contains(node.name)) out.insert(node.rank);
  }
  return out;
}

void JobBoard::admit_to_mapping(const Job& job) {
  if (is_held_before_map(job)) return;
  const bool is_launched = !job.spec.runtime().do_not_launch();
  if (!brings_files(job.spec) || !is_launched) return go(job, JobState::kMap, "admitted");
  auto daemons = nodes_to_stage(job);
  if (daemons.empty()) return go(job, JobState::kMap, "no node for its files");
  notes_.add(Subsystem::kPlm, 1, "job {}: {} files for {} nodes", job.nspace, job.spec.files_size(),
             daemons.size());
  files_.begin({job.id,
                job.nspace,
                job.owner.value_or(ClientId{}),
                job.request,
                {job.spec.files().begin(), job.spec.files().end()},
                std::move(daemons)});
}

void JobBoard::file_chunk(ClientId client, const wire::ClientFileChunk& chunk, const Bytes& data) {
  files_.take(client, chunk, data);
  run_transitions();
}

// Its client has the files.
bool JobBoard::waits_for_files(const Job& job) {
  return job.state == JobState::kVmReady && brings_files(job.spec);
}

void JobBoard::on_files_failed(Rank daemon, const wire::FilesFailed& failed) {
  files_.on_failed(daemon, failed);
  run_transitions();
}

void JobBoard::on_files_staged(JobId id, std::string what) {
  if (const Job* job = find(id)) go(*job, JobState::kMap, std::move(what));
}

void JobBoard::on_files_failed(JobId id, std::string message) {
  if (Job* job = find(id)) fail(*job, JobState::kFilesPosnFailed, kExitFilesFailed, message, 0);
}

void JobBoard::on_files_removed(JobId id) {
  if (Job* job = find(id)) check_complete(*job);
}

// A node that joins between staging and mapping has none of them: whoever lets nodes join then has
// to stage again, or to map without it.
bool JobBoard::has_its_files(Job& job) {
  if (!brings_files(job.spec) || job.spec.runtime().do_not_launch()) return true;
  for (const auto& placement : job.placements) {
    if (files_.has_all(job.id, placement.daemon)) continue;
    const auto why = say::files_missing(job.nspace, place(placement.daemon));
    job.placements.clear();
    fail(job, JobState::kFilesPosnFailed, kExitFilesFailed, why, 0);
    return false;
  }
  return true;
}

}  // namespace tide::core
