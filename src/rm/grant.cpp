#include "rm/grant.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.hpp"
#include "base/text.hpp"
#include "rm/grant_readers.hpp"
#include "say/granting.hpp"

namespace tide::rm {

namespace {

using Names = std::array<std::string_view, 2>;

struct Reader {
  std::string_view manager;
  Names marks;             // one of these is set where it is around
  std::string_view needs;  // and this; empty: nothing
  Names ids;               // which of the variables have the id of the job
  Result<GrantedNodes> (*read)(const Surroundings&);
};

// The innermost first.
constexpr std::array kReaders = {
    Reader{"flux", {"FLUX_JOB_ID", "FLUX_URI"}, "", {"FLUX_JOB_ID"}, read_flux},
    Reader{
        "slurm", {"SLURM_JOB_ID", "SLURM_JOBID"}, "", {"SLURM_JOB_ID", "SLURM_JOBID"}, read_slurm},
    Reader{
        "pals", {"PALS_APID", "PALS_NODEID"}, "PBS_NODEFILE", {"PBS_JOBID", "PALS_APID"}, read_pbs},
    Reader{"pbs", {"PBS_JOBID", "PBS_NODEFILE"}, "", {"PBS_JOBID"}, read_pbs},
    Reader{"lsf", {"LSB_JOBID"}, "", {"LSB_JOBID"}, read_lsf},
    Reader{"gridengine", {"PE_HOSTFILE"}, "", {"JOB_ID"}, read_gridengine}};

constexpr std::size_t kMaxJobIdLength = 255;

std::optional<std::string> first_of(const Surroundings& surroundings, const Names& names) {
  for (const auto name : names) {
    if (name.empty()) continue;
    if (auto value = variable(surroundings, name)) return value;
  }
  return std::nullopt;
}

// The variable that is missing where the scheduler is not around; empty: it is.
std::string_view missing(const Reader& reader, const Surroundings& surroundings) {
  if (!first_of(surroundings, reader.marks)) return reader.marks[0];
  if (!reader.needs.empty() && !variable(surroundings, reader.needs)) return reader.needs;
  return {};
}

// It is shown, and given to commands.
bool is_job_id(std::string_view text) {
  return text.size() <= kMaxJobIdLength && !text.starts_with('-') && one_line(text) == text &&
         std::ranges::none_of(text, [](char c) { return c == ' '; });
}

Result<std::optional<Grant>> read(const Reader& reader, const Surroundings& surroundings) {
  const auto job = first_of(surroundings, reader.ids).value_or("");
  const std::string_view manager = reader.manager;
  if (!is_job_id(job)) return say::grant_not_understood(manager, "", say::bad_job_id(job));
  auto nodes = reader.read(surroundings);
  if (!nodes) return say::grant_not_understood(manager, job, nodes.error());
  return std::optional(Grant{std::string(manager), job, std::move(nodes->hosts), nodes->source});
}

const Reader* innermost(const Surroundings& surroundings) {
  const auto* const found = std::ranges::find_if(kReaders, [&surroundings](const auto& reader) {
    return missing(reader, surroundings).empty();
  });
  return found == kReaders.end() ? nullptr : found;
}

}  // namespace

std::optional<std::string> variable(const Surroundings& surroundings, std::string_view name) {
  const auto value = surroundings.variable(name);
  const auto text = value ? trim(*value) : std::string_view();
  return text.empty() ? std::nullopt : std::optional<std::string>(text);
}

Result<GrantedFile> file_in(const Surroundings& surroundings, std::string_view name) {
  const auto path = variable(surroundings, name);
  if (!path) return say::grant_variable_missing(name);
  auto text = surroundings.file(*path);
  if (!text) return say::grant_file_in_variable(name, text.error());
  return GrantedFile{fmt::format("{} {}", name, *path), std::move(*text)};
}

Result<std::optional<Grant>> find_grant(std::string_view wanted, const Surroundings& surroundings) {
  if (wanted == "none") return std::optional<Grant>();
  if (wanted == "auto") {
    const auto* const found = innermost(surroundings);
    return found == nullptr ? std::optional<Grant>() : read(*found, surroundings);
  }
  const auto* const named = std::ranges::find(kReaders, wanted, &Reader::manager);
  TIDE_CHECK(named != kReaders.end());
  const auto gap = missing(*named, surroundings);
  return gap.empty() ? read(*named, surroundings) : say::not_in_a_job(wanted, gap);
}

std::optional<JobAround> find_job_around(std::string_view wanted,
                                         const Surroundings& surroundings) {
  if (wanted == "none") return std::nullopt;
  const auto* const found = wanted == "auto"
                                ? innermost(surroundings)
                                : std::ranges::find(kReaders, wanted, &Reader::manager);
  if (found == nullptr || !missing(*found, surroundings).empty()) return std::nullopt;
  auto job = first_of(surroundings, found->ids).value_or("");
  if (!is_job_id(job)) return std::nullopt;
  return JobAround{std::string(found->manager), std::move(job)};
}

}  // namespace tide::rm
