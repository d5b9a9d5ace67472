#include "core/genealogy.hpp"

namespace tide::core {

void Genealogy::born(const std::string& nspace, const std::string& parent) {
  const auto [one, fresh] = living_.try_emplace(nspace);
  const auto above = living_.find(parent);
  if (!fresh || above == living_.end()) return;
  one->second.ancestors = above->second.ancestors;
  one->second.ancestors.insert(parent);
  for (const auto& ancestor : one->second.ancestors) {
    living_.at(ancestor).descendants.insert(nspace);
  }
}

void Genealogy::gone(const std::string& nspace) {
  const auto one = living_.find(nspace);
  if (one == living_.end()) return;
  for (const auto& ancestor : one->second.ancestors) {
    living_.at(ancestor).descendants.erase(nspace);
  }
  for (const auto& descendant : one->second.descendants) {
    living_.at(descendant).ancestors.erase(nspace);
  }
  living_.erase(one);
}

const std::set<std::string>& Genealogy::descendants(const std::string& nspace) const {
  static const std::set<std::string> kNobody;
  const auto one = living_.find(nspace);
  return one == living_.end() ? kNobody : one->second.descendants;
}

}  // namespace tide::core
