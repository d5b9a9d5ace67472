// What a caller of PMIx_Query_info wants to know, in our terms.
#pragma once

#include <pmix_common.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pmix/server.hpp"

namespace tide::pmix {

// One key that was asked for.
struct WantedKey {
  std::string key;
  std::string group;  // whose members are wanted
  // Which of the questions it is part of the answer to; nothing: it is answered without asking.
  std::optional<int> question;
};

struct QueryPlan {
  std::optional<ProcName> who;  // who asks, if it says so
  std::vector<WantedKey> keys;
  wire::Query query;
  bool some_unknown = false;  // there were others, which nobody knows

  // PMIX_ERR_BAD_PARAM for values of wrong types, PMIX_ERR_NOT_SUPPORTED for what is unknown and
  // required, or if all is unknown.
  pmix_status_t read(const pmix_query_t* queries, std::size_t count);

 private:
  struct Qualifiers {
    std::string nspace;
    std::string node;
    std::string group;
    std::optional<ProcName> proc;
  };
  static pmix_status_t read_qualifier(const pmix_info_t& info, Qualifiers& qualifiers);
  pmix_status_t read_one(const pmix_query_t& query);
  void add(const std::string& key, const Qualifiers& qualifiers);
};

// The keys that can be asked for, with commas between them.
std::string supported_query_keys();
// The attributes that PMIx_Spawn takes here, likewise.
std::string supported_spawn_keys();

}  // namespace tide::pmix
