// Flux: asked by its own command, for it writes no list of nodes into the environment. FLUX_JOB_ID
// is set in processes of a job; those that run at the root of an instance of their own, in
// `flux alloc` and `flux batch`, have FLUX_URI alone, and all that is in the instance is theirs.
#include "base/text.hpp"
#include "rm/flux_resources.hpp"
#include "rm/grant_readers.hpp"
#include "say/granting.hpp"

namespace tide::rm {

Result<GrantedNodes> read_flux(const Surroundings& surroundings) {
  const auto job = variable(surroundings, "FLUX_JOB_ID");
  const std::vector<std::string> argv =
      job ? std::vector<std::string>{"flux", "job", "info", *job, "R"}
          : std::vector<std::string>{"flux", "resource", "R", "-s", "up"};
  const auto document = surroundings.command(argv);
  if (!document) return document.error();
  const std::string source = quote_argv(argv);
  auto hosts = parse_flux_resources(*document, source);
  if (!hosts) return hosts.error();
  return GrantedNodes{std::move(*hosts), source};
}

}  // namespace tide::rm
