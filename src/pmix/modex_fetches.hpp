// What processes here have put, for other daemons.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "pmix/bridge.hpp"
#include "pmix/info_list.hpp"
#include "pmix/server.hpp"

namespace tide::pmix {

class ModexFetches {
 public:
  using Done = std::function<void(Result<std::string>)>;

  explicit ModexFetches(Bridge& bridge) : bridge_(bridge) {}

  // Of a process of a registered job here.
  void fetch(const ProcName& whose, Done done);
  // With these keys of it (process_info()). libpmix can't be told any of a job of which no process
  // has connected; unless `told_of_clients`, on_client() has to come first.
  void fetch(const ProcName& whose, InfoArray keys, bool told_of_clients, Done done);
  // The job has a process that has connected.
  void on_client(const std::string& nspace);
  // kAllRanks: of every process of the job. libpmix never answers for one that ended before it
  // committed.
  void fail(const ProcName& whose, const Error& why);

 private:
  struct Fetch {
    ProcName whose;
    Done done;
    std::shared_ptr<const InfoArray> held = nullptr;  // until a client of the job has connected
  };

  std::uint64_t add(const ProcName& whose, Done done);
  void tell_keys(const ProcName& whose, const std::shared_ptr<const InfoArray>& keys);
  void ask(std::uint64_t number, const ProcName& whose);
  void fetched(std::uint64_t number, Result<std::string> result);

  Bridge& bridge_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, Fetch> fetches_;
};

}  // namespace tide::pmix
