// Who comes of whom: namespaces that live, and by whom they were spawned, over any number of
// generations, also where those between have ended.
#pragma once

#include <map>
#include <set>
#include <string>

namespace tide::core {

class Genealogy {
 public:
  // A parent that does not live is none.
  void born(const std::string& nspace, const std::string& parent);
  void gone(const std::string& nspace);

  [[nodiscard]] bool lives(const std::string& nspace) const { return living_.contains(nspace); }
  // Those that live.
  [[nodiscard]] const std::set<std::string>& descendants(const std::string& nspace) const;
  [[nodiscard]] std::size_t size() const { return living_.size(); }

 private:
  struct Relations {
    std::set<std::string> ancestors{};    // that live
    std::set<std::string> descendants{};  // that live
  };
  std::map<std::string, Relations> living_;
};

}  // namespace tide::core
