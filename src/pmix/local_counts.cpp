#include "pmix/local_counts.hpp"

#include <pmix_server.h>

#include "pmix/convert.hpp"

namespace tide::pmix {
namespace {

void nobody_waits(pmix_status_t /*status*/, void* /*data*/) {}

}  // namespace

void LocalCounts::registered(const std::string& nspace, std::size_t processes) {
  const std::lock_guard lock(mutex_);
  jobs_.emplace(nspace, Job{.processes = processes, .its_count = processes});
}

void LocalCounts::deregistered(const std::string& nspace) {
  const std::lock_guard lock(mutex_);
  jobs_.erase(nspace);
}

void LocalCounts::close() {
  const std::lock_guard lock(mutex_);
  jobs_.clear();
}

void LocalCounts::connected(const ProcName& proc) {
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(proc.nspace);
  if (job == jobs_.end()) return;
  const bool is_back = job->second.lost.erase(proc.rank) > 0;
  if (is_back) correct(proc.nspace, job->second);
}

void LocalCounts::lost(const ProcName& proc, bool another_goes_on) {
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(proc.nspace);
  if (found == jobs_.end()) return;
  Job& job = found->second;
  if (job.its_count > 0) --job.its_count;
  if (!another_goes_on) job.lost.insert(proc.rank);
  if (job.corrected || job.its_count != job.processes - job.lost.size()) correct(proc.nspace, job);
}

void LocalCounts::correct(const std::string& nspace, Job& job) {
  job.corrected = true;
  job.its_count = job.processes - job.lost.size();
  tell_(nspace, job.its_count);
}

void tell_library_count(const std::string& nspace, std::size_t processes) {
  static pmix_info_t only_the_count = [] {  // libpmix reads it later
    pmix_info_t made;
    PMIX_INFO_LOAD(&made, PMIX_REGISTER_NODATA, nullptr, PMIX_BOOL);
    return made;
  }();
  const pmix_proc_t name = to_pmix(ProcName{nspace, 0});
  PMIx_server_register_nspace(name.nspace, static_cast<int>(processes), &only_the_count, 1,
                              nobody_waits, nullptr);
}

}  // namespace tide::pmix
