// libpmix itself: what it is told at the start, its start and its end.
#pragma once

#include <pmix_common.h>

#include <string>
#include <vector>

#include "base/result.hpp"
#include "pmix/directory_keeper.hpp"
#include "pmix/handshake_guard.hpp"
#include "pmix/info_list.hpp"
#include "pmix/server.hpp"

namespace tide::pmix {

class Library {
 public:
  // The configuration outlives it.
  explicit Library(const ServerConfig& config);
  ~Library() { stop(); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  // Whether it could be started; nothing happens before start().
  Status prepare();
  Status start();
  // Ends libpmix's thread: no upcall follows.
  void stop();

  [[nodiscard]] const std::string& uri() const { return uri_; }
  [[nodiscard]] std::string uri_for_file() const;
  [[nodiscard]] const HandshakeGuard& guard() const { return guard_; }

 private:
  void add_tools(InfoList& list) const;
  void add_topology();
  [[nodiscard]] std::string own_uri() const;

  const ServerConfig& config_;
  bool started_ = false;
  std::string uri_;
  HandshakeGuard guard_;
  std::vector<DirectoryKeeper> directories_;
  // libpmix may look at these as long as it runs.
  std::string topology_source_ = "hwloc";
  pmix_topology_t topology_{};
  InfoArray owned_;
  std::vector<pmix_info_t> entries_;  // what they point to is in owned_
};

}  // namespace tide::pmix
