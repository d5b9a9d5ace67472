#include "pmix/cpusets.hpp"

#include <pmix.h>
#include <pmix_server.h>

#include "pmix/library_text.hpp"

namespace tide::pmix {
namespace {

constexpr const char* kSource = "hwloc:";

class Cpuset {
 public:
  Cpuset() = default;
  ~Cpuset() {
    if (raw_.bitmap != nullptr) PMIx_Cpuset_destruct(&raw_);
  }
  Cpuset(const Cpuset&) = delete;
  Cpuset& operator=(const Cpuset&) = delete;
  pmix_cpuset_t* get() { return &raw_; }

 private:
  pmix_cpuset_t raw_{};
};

// Takes over what libpmix allocated.
std::string take(char* text) {
  const LibraryText owned(text);
  return text != nullptr ? text : "";
}

std::string locality_of(const std::string& cpu_list) {
  Cpuset cpuset;
  std::string text = cpuset_text(cpu_list);  // libpmix 4.2.2 writes into it
  if (PMIx_Parse_cpuset_string(text.data(), cpuset.get()) != PMIX_SUCCESS) return "";
  char* locality = nullptr;
  const pmix_status_t status = PMIx_server_generate_locality_string(cpuset.get(), &locality);
  std::string taken = take(locality);
  return status == PMIX_SUCCESS ? taken : "";
}

}  // namespace

std::string own_cpu_list() {
  if (PMIx_Initialized() == 0) return "";
  Cpuset cpuset;
  if (PMIx_Get_cpuset(cpuset.get(), PMIX_CPUBIND_PROCESS) != PMIX_SUCCESS) return "";
  char* made = nullptr;
  const pmix_status_t status = PMIx_server_generate_cpuset_string(cpuset.get(), &made);
  const std::string text = take(made);
  if (status != PMIX_SUCCESS) return "";
  return text.substr(text.find(':') + 1);
}

const std::string& Localities::of(const std::string& cpu_list) {
  const auto [place, is_new] = known_.try_emplace(cpu_list);
  if (is_new && PMIx_Initialized() != 0) place->second = locality_of(cpu_list);
  return place->second;
}

std::string cpuset_text(const std::string& cpu_list) {
  return kSource + cpu_list;
}

}  // namespace tide::pmix
