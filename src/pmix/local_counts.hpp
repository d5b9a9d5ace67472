// How many processes of a job libpmix waits for in a collective of all that are on this node.
//
// libpmix 4.2.2 counts one less with each connection that is lost, and never one more: not if
// another process of the same rank goes on (a program that it started called PMIx_Init), and not if
// the rank connects again (a script that runs one program after the other). It then waits for ever,
// or not for all. So it is told the right number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "pmix/server.hpp"

namespace tide::pmix {

// All functions may be called by any thread.
class LocalCounts {
 public:
  // Tells libpmix, which does it later but before anything that it hears of from now on. Called on
  // its thread, with a lock held: a job is not told of again when deregistered() has returned.
  using Tell = std::function<void(const std::string& nspace, std::size_t processes)>;
  explicit LocalCounts(Tell tell) : tell_(std::move(tell)) {}

  void registered(const std::string& nspace, std::size_t processes);
  void deregistered(const std::string& nspace);
  void close();  // the same for all

  // In the order in which libpmix tells of it.
  void connected(const ProcName& proc);
  void lost(const ProcName& proc, bool another_goes_on);  // a process of the same rank

 private:
  struct Job {
    std::size_t processes = 0;
    std::size_t its_count = 0;  // libpmix's, with all losses that it has told of
    bool corrected = false;     // it may be about to tell of one that this took back
    std::set<std::uint32_t> lost = {};
  };
  void correct(const std::string& nspace, Job& job);

  Tell tell_;
  std::mutex mutex_;
  std::map<std::string, Job> jobs_;
};

// By a second registration that brings nothing but the number.
void tell_library_count(const std::string& nspace, std::size_t processes);

}  // namespace tide::pmix
