#include "pmix/proc_environment.hpp"

#include <pmix_server.h>

#include <cstdlib>
#include <string_view>

#include "pmix/convert.hpp"

namespace tide::pmix {
namespace {

// Takes over what libpmix allocated: an array of "NAME=value" with a null pointer at its end.
ProcEnvironment::Variables take_variables(char** raw) {
  ProcEnvironment::Variables variables;
  for (char** entry = raw; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t sign = text.find('=');
    if (sign != std::string_view::npos) {
      variables.emplace_back(text.substr(0, sign), text.substr(sign + 1));
    }
    std::free(*entry);  // NOLINT(*-no-malloc)
  }
  std::free(static_cast<void*>(raw));  // NOLINT(*-no-malloc)
  return variables;
}

// Without the first one Open MPI 4.1 takes itself for started without a launcher: every rank its
// own job.
ProcEnvironment::Variables open_mpi_defaults(const Surroundings& surroundings) {
  ProcEnvironment::Variables variables = {{"OMPI_MCA_schizo", "^orte"}};
  // Else who waits spins, and holds the processor that the awaited one needs.
  if (surroundings.crowded) variables.emplace_back("OMPI_MCA_mpi_yield_when_idle", "1");
  if (surroundings.shared_host) {
    // It names segments after host and local rank, which here are the same on several nodes.
    variables.emplace_back("OMPI_MCA_btl_vader_backing_directory", surroundings.session_directory);
    variables.emplace_back("OMPI_MCA_btl_tcp_if_include", "lo");
  }
  return variables;
}

}  // namespace

Result<ProcEnvironment> proc_environment(const ProcName& proc, const Surroundings& surroundings) {
  char** raw = nullptr;
  const pmix_proc_t name = to_pmix(proc);
  const pmix_status_t status = PMIx_server_setup_fork(&name, &raw);
  ProcEnvironment environment;
  environment.required = take_variables(raw);
  if (status != PMIX_SUCCESS) return from_pmix(status, "libpmix gives no environment");
  environment.defaults = open_mpi_defaults(surroundings);
  return environment;
}

}  // namespace tide::pmix
