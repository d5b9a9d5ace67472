#include "core/collective_desk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/message_limit.hpp"
#include "core/pmix_words.hpp"
#include "core/service_status.hpp"

namespace tide::core {

namespace {
constexpr const char* kEndedInstead = "processes that take part have ended instead";
}  // namespace

CollectiveDesk::Open* CollectiveDesk::find_or_open(const CollectiveKey& key) {
  const auto last = concluded_.find(key.first);
  if (last != concluded_.end() && key.second <= last->second) return nullptr;
  const auto known = open_.find(key);
  if (known != open_.end()) return &known->second;
  auto daemons = procs_.hosts_of(names_in(key.first.participants));
  if (!daemons) return nullptr;
  Open& open = open_[key];
  open.daemons = std::move(*daemons);
  return &open;
}

void CollectiveDesk::on_contributions(const wire::Reduction& reduction) {
  const CollectiveKey key = key_of(reduction.id().collective());
  const bool known = open_.contains(key);
  Open* open = find_or_open(key);
  if (open == nullptr) {
    // A job of it has ended. Who hosts another one of the participants must not wait for that.
    if (!procs_.hosts_of(names_in(key.first.participants))) {
      std::set<Rank> origins;
      for (const auto& one : reduction.contributions()) origins.insert(Rank(one.rank()));
      tell(key, origins, Error{ErrorCode::kNotFound, "a job that takes part is not known"}, {}, 0);
    }
    return;
  }
  if (!known && procs_.any_ended(names_in(key.first.participants))) {
    return conclude(key, Error{ErrorCode::kConnectionLost, kEndedInstead});
  }
  take(*open, reduction);
  if (open->bytes > limit_) return conclude(key, too_large("what all contribute"));
  if (open->data.size() == open->daemons.size()) conclude(key, ok_status());
}

void CollectiveDesk::take(Open& open, const wire::Reduction& reduction) {
  for (const auto& one : reduction.contributions()) {
    const Rank rank{one.rank()};
    if (!open.daemons.contains(rank) || !open.data.emplace(rank, one.data()).second) continue;
    open.bytes += one.data().size();
  }
}

void CollectiveDesk::on_failed(Rank origin, const wire::CollectiveFailed& failed) {
  const CollectiveKey key = key_of(failed.id());
  const Open* open = find_or_open(key);
  if (open == nullptr || !open->daemons.contains(origin)) return;
  conclude(key, status_of(failed));
}

void CollectiveDesk::conclude(const CollectiveKey& key, const Status& status) {
  const auto open = open_.extract(key);
  auto& last = concluded_[key.first];
  last = std::max(last, key.second);
  std::string all;
  std::uint64_t context = 0;
  if (status) {
    for (const auto& [rank, data] : open.mapped().data) all += data;
    context = change_groups(key);
  }
  tell(key, open.mapped().daemons, status, Bytes(std::move(all)), context);
}

void CollectiveDesk::conclude_all(const std::vector<CollectiveKey>& keys, const Status& status) {
  for (const auto& key : keys) conclude(key, status);
}

std::uint64_t CollectiveDesk::change_groups(const CollectiveKey& key) {
  if (key.first.kind == wire::CollectiveId::GROUP_DESTRUCT) groups_.erase(key.first.name);
  if (key.first.kind != wire::CollectiveId::GROUP_CONSTRUCT) return 0;
  groups_[key.first.name] = Group{names_in(key.first.participants), ++last_context_};
  return last_context_;
}

void CollectiveDesk::tell(const CollectiveKey& key, const std::set<Rank>& daemons,
                          const Status& status, Bytes data, std::uint64_t context) {
  wire::DownBody body;
  auto* result = body.mutable_collective_result();
  *result->mutable_id() = id_of(key);
  result->set_context(context);
  set_status(*result, status);
  DaemonPort::Slices slices;
  for (const Rank rank : daemons) slices.emplace_back(rank, body);
  daemons_.scatter(std::move(slices), nullptr, std::move(data));
}

std::vector<OpenCollective> CollectiveDesk::open_of(const std::string& nspace) const {
  std::vector<OpenCollective> out;
  for (const auto& [key, open] : open_) {
    if (!involves(key.first.participants, nspace)) continue;
    auto& one = out.emplace_back();
    one.kind = key.first.kind;
    one.name = key.first.name;
    one.participants = names_in(key.first.participants);
    for (const Rank rank : open.daemons) {
      if (!open.data.contains(rank)) one.missing.push_back(rank);
    }
  }
  return out;
}

// ---- losses ----

void CollectiveDesk::on_node_lost(Rank rank, const std::string& node) {
  std::vector<CollectiveKey> broken;
  for (const auto& [key, open] : open_) {
    if (open.daemons.contains(rank)) broken.push_back(key);
  }
  conclude_all(broken, Error{ErrorCode::kConnectionLost, fmt::format("node {} was lost", node)});
}

void CollectiveDesk::on_share_ended(Rank rank, const std::string& nspace) {
  std::vector<CollectiveKey> broken;
  for (const auto& [key, open] : open_) {
    if (open.daemons.contains(rank) && !open.data.contains(rank) &&
        hosts_some(rank, nspace, key.first.participants)) {
      broken.push_back(key);
    }
  }
  conclude_all(broken, Error{ErrorCode::kConnectionLost, kEndedInstead});
}

// Whether participants that are of this job are, or were, on the daemon.
bool CollectiveDesk::hosts_some(Rank rank, const std::string& nspace,
                                const std::string& participants) const {
  wire::ProcNames of_job;
  const auto names = names_in(participants);
  for (const auto& name : names.names()) {
    if (name.nspace() == nspace) *of_job.add_names() = name;
  }
  const auto hosts = procs_.hosts_of(of_job);
  return hosts && hosts->contains(rank);
}

void CollectiveDesk::on_job_gone(const std::string& nspace) {
  std::vector<CollectiveKey> broken;
  for (const auto& [key, open] : open_) {
    if (involves(key.first.participants, nspace)) broken.push_back(key);
  }
  conclude_all(broken, Error{ErrorCode::kConnectionLost, fmt::format("job {} has ended", nspace)});
  std::erase_if(concluded_,
                [&](const auto& entry) { return involves(entry.first.participants, nspace); });
  for (auto at = groups_.begin(); at != groups_.end();) {
    auto& members = *at->second.members.mutable_names();
    const int before = members.size();
    members.erase(std::remove_if(members.begin(), members.end(),
                                 [&](const auto& name) { return name.nspace() == nspace; }),
                  members.end());
    if (members.size() < before) tell_members(at->first, at->second, nspace);
    at = members.empty() ? groups_.erase(at) : std::next(at);
  }
}

// Those that are left hear which of them is not there any more.
void CollectiveDesk::tell_members(const std::string& name, const Group& group,
                                  const std::string& lost) {
  const auto hosts = procs_.hosts_of(group.members);
  if (!hosts) return;
  wire::DownBody body;
  auto& event = *body.mutable_event();
  event.set_code(kEventGroupMemberFailed);
  *event.mutable_source() = proc_name(lost, kAllRanks);
  event.set_range(wire::RANGE_CUSTOM);
  *event.mutable_targets() = group.members;
  auto* fact = event.add_facts();
  fact->set_key(kFactGroup);
  fact->set_text(name);
  fact = event.add_facts();
  fact->set_key(kFactAffectedProc);
  *fact->mutable_proc() = proc_name(lost, kAllRanks);
  DaemonPort::Slices slices;
  for (const Rank rank : *hosts) slices.emplace_back(rank, body);
  daemons_.scatter(std::move(slices), nullptr, {});
}

}  // namespace tide::core
