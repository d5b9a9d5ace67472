#include "pmix/library.hpp"

#include <fcntl.h>
#include <pmix.h>
#include <pmix_server.h>

#include <csignal>
#include <string_view>
#include <utility>

#include "base/private_directory.hpp"
#include "pmix/bridge.hpp"
#include "pmix/convert.hpp"
#include "pmix/scoped_variables.hpp"
#include "pmix/system_server.hpp"
#include "pmix/upcalls.hpp"
#include "pmix/values.hpp"

namespace tide::pmix {
namespace {

const std::string kLongestSuffix(64, 'x');  // that tools get to the server's namespace

Status check_config(const ServerConfig& config) {
  if (!is_nspace(config.nspace + kLongestSuffix) || config.node.empty()) {
    return Error{ErrorCode::kInvalidArgument, "PMIx server: no usable namespace or node name"};
  }
  const auto directory =
      open_private_directory(AT_FDCWD, config.directory.c_str(), config.directory);
  if (!directory) return directory.error();
  return config.system_server ? check_system_server(config.system_directory, config.node)
                              : ok_status();
}

pmix_status_t start_library(std::vector<pmix_info_t>& entries, bool for_tools) {
  ScopedVariables variables;
  // The default store maps shared files and takes 11 ms instead of 3 per client.
  variables.set("PMIX_MCA_gds", "hash");
  // Else lost connections are told a second late, several as one.
  variables.set("PMIX_MCA_pmix_event_caching_window", "0");
  // If libpmix looks at the hardware itself: this part of hwloc opens X displays and can hang.
  variables.set("HWLOC_COMPONENTS", "-gl");
  // A client that is killed while it is written to must not take us along.
  if (std::signal(SIGPIPE, SIG_IGN) == SIG_ERR) return PMIX_ERROR;
  // libpmix itself refuses tools that need a name where nobody gives any.
  if (!for_tools) server_module().tool_connected = nullptr;
  return PMIx_server_init(&server_module(), entries.data(), entries.size());
}

// "v4.2.2" out of "OpenPMIx 4.2.2, repo rev: ...", as tools read it.
std::string release_of_library() {
  const std::string text = PMIx_Get_version();
  const std::size_t begin = text.find_first_of("0123456789");
  if (begin == std::string::npos) return "";
  return "v" + text.substr(begin, text.find_first_of(" ,", begin) - begin);
}

}  // namespace

Library::Library(const ServerConfig& config) : config_(config) {
  topology_.source = topology_source_.data();
  topology_.topology = config.hwloc_topology;
}

Status Library::prepare() {
  if (auto usable = check_config(config_); !usable) return usable;
  InfoList list;
  list.text(PMIX_SERVER_NSPACE, config_.nspace);
  list.rank(PMIX_SERVER_RANK, config_.rank);
  list.text(PMIX_HOSTNAME, config_.node);
  list.text(PMIX_SERVER_TMPDIR, config_.directory);
  add_tools(list);
  list.flag(PMIX_IOF_LOCAL_OUTPUT, false);
  auto array = list.finish();
  if (!array) return array.error();
  owned_ = std::move(array).value();
  entries_.assign(owned_.data(), owned_.data() + owned_.size());
  if (topology_.topology != nullptr) add_topology();
  return ok_status();
}

// Without a directory for the system's server libpmix takes the one in which tools look.
void Library::add_tools(InfoList& list) const {
  if (config_.for_tools) list.flag(PMIX_SERVER_TOOL_SUPPORT, true);
  if (config_.system_server) list.flag(PMIX_SERVER_SYSTEM_SUPPORT, true);
  const std::string& told = config_.system_server ? config_.system_directory : config_.directory;
  if (!told.empty()) list.text(PMIX_SYSTEM_TMPDIR, told);
}

// By hand: libpmix's own functions would copy the topology, or free ours with the array.
void Library::add_topology() {
  pmix_info_t entry{};
  std::string_view(PMIX_TOPOLOGY2).copy(entry.key, PMIX_MAX_KEYLEN);
  entry.value.type = PMIX_TOPO;
  entry.value.data.topo = &topology_;
  entries_.push_back(entry);
}

Status Library::start() {
  directories_.emplace_back(config_.directory);
  if (config_.system_server) {
    directories_.emplace_back(system_server_directory(config_.system_directory));
  }
  const pmix_status_t status = start_library(entries_, config_.for_tools);
  for (const auto& directory : directories_) directory.library_started();
  if (status != PMIX_SUCCESS) return from_pmix(status, "the PMIx server does not start");
  started_ = true;
  uri_ = own_uri();
  guard_.watch(port_in(uri_));
  return ok_status();
}

void Library::stop() {
  if (!std::exchange(started_, false)) return;
  Bridge::finalize_library();
  for (const auto& directory : directories_) directory.library_ended();
}

std::string Library::uri_for_file() const {
  return uri_ + "\n" + release_of_library() + "\n";
}

// As libpmix has it in memory: this does not wait for anybody.
std::string Library::own_uri() const {
  const pmix_proc_t self = to_pmix(ProcName{config_.nspace, config_.rank});
  pmix_value_t* value = nullptr;
  if (PMIx_Get(&self, PMIX_MYSERVER_URI, nullptr, 0, &value) != PMIX_SUCCESS) return "";
  std::string uri = text_in(*value).value_or("");
  PMIX_VALUE_RELEASE(value);
  return uri;
}

}  // namespace tide::pmix
