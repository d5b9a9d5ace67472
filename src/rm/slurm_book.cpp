#include "rm/slurm_book.hpp"

#include <algorithm>
#include <utility>

#include "hosts/selection.hpp"
#include "say/pool.hpp"

namespace tide::rm {

SlurmBook::SlurmBook(std::string parent, std::span<const Host> nodes, std::size_t in_use)
    : parent_(std::move(parent)) {
  jobs_[parent_] = {};
  for (const auto& host : nodes) {
    const auto state = order_.size() < in_use ? State::kStarted : State::kFree;
    order_.push_back(host.name);
    nodes_[host.name] = {host, parent_, state};
  }
}

// ---- what is there ----

std::vector<std::string> SlurmBook::children() const {
  std::vector<std::string> out;
  for (const auto& [id, job] : jobs_) {
    if (id != parent_) out.push_back(id);
  }
  return out;
}

bool SlurmBook::is_busy(const std::string& job) const {
  const auto found = jobs_.find(job);
  return found != jobs_.end() && found->second.orders > 0;
}

void SlurmBook::begin_order(const std::string& job) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  ++found->second.orders;
  ++found->second.age;
}

std::uint64_t SlurmBook::age(const std::string& job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? 0 : found->second.age;
}

void SlurmBook::end_order(const std::string& job) {
  const auto found = jobs_.find(job);
  if (found != jobs_.end() && found->second.orders > 0) --found->second.orders;
}

std::optional<std::uint64_t> SlurmBook::ends_s(const std::string& job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? std::nullopt : found->second.ends_s;
}

bool SlurmBook::agrees(const SlurmRow& row) const {
  const auto job = jobs_.find(row.id);
  if (job == jobs_.end()) return false;
  const auto ours = std::ranges::count_if(
      nodes_, [&row](const auto& entry) { return entry.second.job == row.id; });
  const bool same =
      std::ranges::all_of(row.nodes, [&](const auto& name) { return job_of(name) == row.id; });
  return same && static_cast<std::size_t>(ours) == row.nodes.size() &&
         job->second.ends_s == row.ends_s;
}

std::optional<std::string> SlurmBook::find(std::string_view name) const {
  std::vector<hosts::Candidate> candidates;
  for (const auto& known : order_) candidates.push_back({.name = known});
  const auto found = hosts::NameIndex(candidates).find(name);
  if (found.empty()) return std::nullopt;
  return order_[found.front()];
}

std::string SlurmBook::job_of(const std::string& node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? std::string() : found->second.job;
}

std::vector<std::string> SlurmBook::nodes() const {
  return order_;
}

std::vector<std::string> SlurmBook::free_names() const {
  std::vector<std::string> out;
  for (const auto& name : order_) {
    if (nodes_.at(name).state == State::kFree) out.push_back(name);
  }
  return out;
}

bool SlurmBook::is_lost(const std::string& node) const {
  const auto found = nodes_.find(node);
  return found != nodes_.end() && found->second.state == State::kLost;
}

std::vector<std::string> SlurmBook::used_of(const std::string& job) const {
  std::vector<std::string> out;
  for (const auto& name : order_) {
    const Node& node = nodes_.at(name);
    if (node.job == job && is_used(node)) out.push_back(name);
  }
  return out;
}

std::vector<Host> SlurmBook::used_hosts_of(const std::string& job) const {
  std::vector<Host> out;
  for (const auto& name : used_of(job)) out.push_back(nodes_.at(name).host);
  return out;
}

std::uint32_t SlurmBook::count_free_beside(std::span<const hosts::HostWord> named) const {
  auto free = free_names();
  for (const auto& word : named) std::erase(free, find(word.name).value_or(""));
  return static_cast<std::uint32_t>(free.size());
}

// ---- what comes ----

Result<SlurmBook::Share> SlurmBook::grant(std::uint32_t count,
                                          std::span<const hosts::HostWord> named) {
  Share out;
  std::set<std::string> taken;
  for (const auto& word : named) {
    const auto known = find(word.name);
    if (!known) {
      const bool again =
          std::ranges::find(out.named, word.name, &hosts::HostWord::name) != out.named.end();
      if (!again) out.named.push_back(word);
      continue;
    }
    if (!taken.insert(*known).second) continue;
    const Node& node = nodes_.at(*known);
    if (node.state != State::kFree && node.state != State::kLost) {
      return say::pool_node_taken(*known);
    }
    Host host = node.host;
    host.slots = smaller_limit(host.slots, word.slots);
    host.max_slots = smaller_limit(host.max_slots, word.max_slots);
    out.here.push_back(std::move(host));
  }
  for (const auto& name : free_names()) {
    if (count == 0) break;
    if (!taken.insert(name).second) continue;
    out.here.push_back(nodes_.at(name).host);
    --count;
  }
  out.count = count;
  for (const auto& host : out.here) nodes_.at(host.name).state = State::kGranted;
  return out;
}

std::set<std::string> SlurmBook::unuse(std::span<const Host> hosts) {
  std::set<std::string> out;
  for (const auto& host : hosts) {
    const auto found = nodes_.find(host.name);
    if (found == nodes_.end() || !is_used(found->second)) continue;
    found->second.state = State::kFree;
    out.insert(found->second.job);
  }
  return out;
}

void SlurmBook::promise(const std::string& node, std::optional<std::uint64_t> until_ms) {
  if (const auto found = nodes_.find(node); found != nodes_.end()) {
    found->second.promised_ms = until_ms;
  }
}

std::optional<std::uint64_t> SlurmBook::promised_ms(const std::string& node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? std::nullopt : found->second.promised_ms;
}

void SlurmBook::add_child(const SlurmJob& job) {
  jobs_[job.id] = {.ends_s = job.ends_s, .batch_host = job.batch_host};
  update(job, true);
}

SlurmBook::News SlurmBook::update(const SlurmJob& job, bool wanted) {
  News out;
  const auto known = jobs_.find(job.id);
  if (known == jobs_.end()) return out;
  const bool moves = known->second.ends_s != job.ends_s;
  known->second.ends_s = job.ends_s;
  known->second.batch_host = job.batch_host;
  std::set<std::string> there;
  for (const auto& host : job.nodes) {
    there.insert(host.name);
    const auto [entry, is_new] = nodes_.try_emplace(host.name);
    if (!is_new) continue;
    order_.push_back(host.name);
    entry->second = {host, job.id, wanted ? State::kGranted : State::kFree};
    if (wanted) out.come.push_back(host);
  }
  std::erase_if(order_, [&](const auto& name) {
    const Node& node = nodes_.at(name);
    if (node.job != job.id || there.contains(name)) return false;
    if (is_used(node)) out.gone.push_back(name);
    nodes_.erase(name);
    return true;
  });
  if (moves) out.moved = used_of(job.id);
  return out;
}

std::vector<std::string> SlurmBook::remove(const std::string& job) {
  if (job == parent_) return update({.id = job, .ends_s = ends_s(job)}, false).gone;
  auto out = update({.id = job}, false).gone;
  jobs_.erase(job);
  return out;
}

void SlurmBook::note_started(std::span<const std::string> names) {
  for (const auto& name : names) {
    const auto found = nodes_.find(name);
    if (found != nodes_.end() && found->second.state == State::kGranted) {
      found->second.state = State::kStarted;
    }
  }
}

// ---- what goes back ----

std::set<std::string> SlurmBook::free_lost(const std::set<std::string>& known) {
  std::set<std::string> out;
  for (auto& [name, node] : nodes_) {
    if (node.state != State::kStarted || known.contains(name)) continue;
    node.state = State::kLost;
    out.insert(node.job);
  }
  return out;
}

void SlurmBook::set_back(Node& node) {
  node.state = jobs_.at(node.job).can_shrink ? State::kGoesBack : State::kFree;
}

std::set<std::string> SlurmBook::give_back(std::span<const std::string> names, bool never_joined) {
  std::set<std::string> out;
  for (const auto& name : names) {
    const auto found = nodes_.find(name);
    if (found == nodes_.end() || !is_used(found->second)) continue;
    if (never_joined && found->second.job == parent_) {
      found->second.state = State::kFree;
    } else {
      set_back(found->second);
    }
    out.insert(found->second.job);
  }
  return out;
}

// A script of the parent's runs on its first node, which can't go before it; and a job without
// nodes there is none.
SlurmBook::Order SlurmBook::order_for(const std::string& job) const {
  const auto known = jobs_.find(job);
  if (known == jobs_.end() || known->second.orders > 0) return {};
  Order out;
  bool used = false;
  for (const auto& name : order_) {
    const Node& node = nodes_.at(name);
    if (node.job != job) continue;
    used = used || is_used(node);
    const bool wants = node.state == State::kGoesBack;
    const bool goes = wants && name != known->second.batch_host;
    (goes ? out.leaving : out.staying).push_back(name);
    if (wants && !goes) out.kept.push_back(name);
  }
  if (job != parent_ && !used) return {.what = Order::What::kCancel};
  if (out.leaving.empty() && out.kept.empty()) return {};
  if (out.staying.empty()) {
    out.kept.push_back(out.leaving.front());
    out.staying.push_back(out.leaving.front());
    out.leaving.erase(out.leaving.begin());
  }
  out.what = out.leaving.empty() ? Order::What::kKeep : Order::What::kResize;
  return out;
}

void SlurmBook::was_resized(const std::string& job, const Order& order) {
  for (const auto& name : order.leaving) {
    if (job_of(name) != job) continue;
    nodes_.erase(name);
    std::erase(order_, name);
  }
  for (const auto& name : order.kept) {
    const auto found = nodes_.find(name);
    if (found != nodes_.end() && found->second.state == State::kGoesBack) {
      found->second.state = State::kFree;
    }
  }
}

bool SlurmBook::can_shrink(const std::string& job) const {
  const auto known = jobs_.find(job);
  return known == jobs_.end() || known->second.can_shrink;
}

void SlurmBook::cannot_resize(const std::string& job) {
  const auto known = jobs_.find(job);
  if (known == jobs_.end()) return;
  known->second.can_shrink = false;
  for (auto& [name, node] : nodes_) {
    if (node.job == job && node.state == State::kGoesBack) node.state = State::kFree;
  }
}

}  // namespace tide::rm
