#include "sim/size_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/journal.hpp"

namespace tide::sim {

namespace {

using core::CampaignKind;
using core::JobState;
using core::NodeState;

[[noreturn]] void broken(std::string_view promise, const std::string& what) {
  throw BrokenPromise(promise, what);
}

std::string job_text(JobId id) {
  return fmt::format("job {}", id.value());
}

std::string node_text(Rank rank, const Sight::Node& node) {
  return fmt::format("rank {} on {}", rank.value(), node.name);
}

}  // namespace

bool Sight::shrinks() const {
  return std::ranges::any_of(
      open, [](const auto& entry) { return entry.second == CampaignKind::kShrink; });
}

bool Sight::is_up(Rank rank) const {
  const auto found = nodes.find(rank);
  return found != nodes.end() && core::is_up(found->second.state);
}

Sight look_at(const core::HeadCore& head, const Sight* before) {
  Sight out;
  const auto& fence = head.jobs().fence();
  out.open = fence.campaigns();
  for (const auto& [rank, node] : head.roster().nodes()) {
    out.nodes.emplace(rank, Sight::Node{node.name, node.state, node.campaign, node.order});
  }
  const auto& membership = head.overlay().membership();
  out.living = membership.tree().living();
  out.repairs = membership.repairs();
  out.rollbacks = head.elastic().counts().rollbacks;
  for (const JobId id : head.jobs().unended_jobs()) {
    auto glance = *head.jobs().glance(id);
    out.jobs.emplace(id, Sight::Job{.state = glance.state,
                                    .mapped = std::move(glance.mapped),
                                    .processes = glance.processes,
                                    .parked = fence.parks(id),
                                    .awaited = fence.awaited_by(id),
                                    .parent = glance.parent});
  }
  // Whom a shrink names is what it names in the beginning; who it is does not change.
  wire::StatusReply status;
  const bool same = before != nullptr && before->open == out.open;
  if (same) {
    out.leavers = before->leavers;
    return out;
  }
  head.elastic().describe(status, 0);
  for (const auto& row : status.campaigns()) {
    const CampaignId id{row.number()};
    if (!row.shrinks() || !out.open.contains(id)) continue;
    const bool known = before != nullptr && before->leavers.contains(id);
    auto& ranks = out.leavers[id];
    if (known) ranks = before->leavers.at(id);
    for (const auto& name : row.nodes()) {
      const auto* node = known ? nullptr : head.roster().find(name);
      if (node != nullptr) ranks.insert(node->rank);
    }
  }
  return out;
}

// ---- every step ----

void SizeChecks::take(Sight now) {
  check_parked(now);
  check_nodes(now);
  if (before_) {
    check_held(now);
    check_released(now);
    check_ended(now);
    check_maps(now);
    check_departed(now);
    check_rolled_back(now);
    check_repairs(now);
  }
  remember(now);
  before_ = std::move(now);
}

void SizeChecks::rest() {
  before_.reset();
  accounts_.clear();
  of_jobs_.clear();
  admitted_.clear();
}

std::set<CampaignId> SizeChecks::closed(const Sight& now) const {
  std::set<CampaignId> out;
  for (const auto& [id, kind] : before_->open) {
    if (!now.open.contains(id)) out.insert(id);
  }
  return out;
}

std::set<CampaignId> SizeChecks::failed(const Sight& now) const {
  if (now.rollbacks == before_->rollbacks) return {};
  auto out = closed(now);
  std::erase_if(out, [this](CampaignId id) { return before_->open.at(id) != CampaignKind::kGrow; });
  // If more of them ended in one step nobody can tell from here which of them failed.
  return out.size() == now.rollbacks - before_->rollbacks ? out : std::set<CampaignId>{};
}

const Sight::Job* SizeChecks::earlier(JobId id) const {
  const auto found = before_->jobs.find(id);
  return found == before_->jobs.end() ? nullptr : &found->second;
}

bool SizeChecks::goes_with(JobId job, const std::set<CampaignId>& grows) const {
  const auto found = accounts_.find(job);
  return found != accounts_.end() &&
         std::ranges::any_of(found->second, [&](CampaignId grow) { return grows.contains(grow); });
}

bool SizeChecks::ends_with_its_parent(const Sight::Job& job, const Sight& now) {
  if (!job.parent) return false;
  const auto parent = now.jobs.find(*job.parent);
  return parent == now.jobs.end() || !parent->second.lives();
}

// row:E14 row:E16 row:E10 row:E3
void SizeChecks::check_parked(const Sight& now) const {
  for (const auto& [id, job] : now.jobs) {
    if (job.parked != (job.state == JobState::kWaitingForDaemons)) {
      broken("who is held is shown as waiting, and nobody else", job_text(id));
    }
    if (!job.parked) continue;
    if (job.awaited.empty()) broken("nobody is held for nothing", job_text(id));
    const bool for_grow = std::ranges::any_of(job.awaited, [&](CampaignId campaign) {
      const auto found = now.open.find(campaign);
      return found == now.open.end() || found->second == CampaignKind::kGrow;
    });
    if (job.waits_for_launch() && for_grow) {
      broken("a grow holds no job that is mapped", job_text(id));
    }
    if (job.sent || (job.somewhere && job.waits_for_map() && !admitted_.contains(id))) {
      broken("of a job that is held nothing is anywhere", job_text(id));
    }
    const auto* before = before_ ? earlier(id) : nullptr;
    const bool passed = before != nullptr && before->lives() && !before->parked && !before->asks();
    if (passed && job.waits_for_map() && admitted_.contains(id)) {
      broken("a job is admitted once", job_text(id));
    }
  }
}

// row:E2 row:E9 nobody passes the first boundary while a change goes on that went on before
void SizeChecks::check_held(const Sight& now) const {
  const bool goes_on = std::ranges::any_of(
      before_->open, [&](const auto& entry) { return now.open.contains(entry.first); });
  if (!goes_on) return;
  for (const auto& [id, job] : now.jobs) {
    if (!job.lives() || job.parked || job.asks()) continue;
    const auto* before = earlier(id);
    if (before == nullptr || before->waits_for_map() || before->asks()) {
      broken("no job is admitted while the size changes", job_text(id));
    }
  }
}

// row:E11 when the last shrink has ended
void SizeChecks::check_released(const Sight& now) const {
  for (const auto& [id, job] : before_->jobs) {
    const auto found = now.jobs.find(id);
    if (!job.waits_for_launch() || found == now.jobs.end() || !found->second.lives()) continue;
    const Sight::Job& after = found->second;
    const bool kept = std::ranges::all_of(job.mapped, [&](Rank rank) { return now.is_up(rank); });
    if (!after.parked && (after.mapped != job.mapped || !kept) && !now.open.empty()) {
      broken("only a map that is whole is launched", job_text(id));
    }
    if (!now.shrinks() && after.parked && kept) {
      broken("a map that is whole is launched when no shrink is left", job_text(id));
    }
    if (!now.shrinks() && after.waits_for_launch() && !kept) {
      broken("a map that lost a node is given up", job_text(id));
    }
  }
}

// row:E6 row:E8 who is held ends with a grow on whose account it is held, and with no other change
// and no loss
void SizeChecks::check_ended(const Sight& now) const {
  const auto grows = failed(now);
  const bool admits = now.open.empty() || (before_->shrinks() && !now.shrinks());
  // row:E17 one that a job asked for takes along who came before that, and spares who came after.
  const bool spares =
      std::ranges::any_of(grows, [this](CampaignId id) { return of_jobs_.contains(id); });
  const bool unclear = spares || (now.rollbacks != before_->rollbacks && grows.empty());
  for (const auto& [id, job] : before_->jobs) {
    if (!job.parked) continue;
    const auto found = now.jobs.find(id);
    const bool lives = found != now.jobs.end() && found->second.lives();
    const bool taken_along = job.waits_for_map() && goes_with(id, grows);
    if (lives && taken_along && !unclear)
      broken("a grow that fails ends who waits for it", job_text(id));
    const bool of_its_own = now.of_a_job || ends_with_its_parent(job, now);
    if (!lives && !taken_along && !admits && !of_its_own && !unclear) {
      broken("who is held ends for a reason of its own only", job_text(id));
    }
  }
}

// row:E19 row:E4
void SizeChecks::check_maps(const Sight& now) const {
  for (const auto& [id, job] : now.jobs) {
    const auto* before = earlier(id);
    for (const Rank rank : job.mapped) {
      const bool fresh = before == nullptr || !before->mapped.contains(rank);
      if (!fresh || !job.lives() || now.is_up(rank)) continue;
      broken("nothing is mapped onto a node that is not, or no longer, in",
             fmt::format("{} on rank {}", job_text(id), rank.value()));
    }
  }
}

// row:E20 row:S9
void SizeChecks::check_nodes(const Sight& now) const {
  std::set<std::string_view> names;
  for (const auto& [rank, node] : now.nodes) {
    if (!names.insert(node.name).second) broken("a node has one daemon", node_text(rank, node));
    if (node.state >= NodeState::kLeaving && now.open.contains(node.campaign)) {
      broken("nobody leaves before it has come", node_text(rank, node));
    }
  }
}

// row:E12 row:E13 who has left is gone from book, membership and maps when the fence falls
void SizeChecks::check_departed(const Sight& now) const {
  for (const CampaignId id : closed(now)) {
    const auto leavers = before_->leavers.find(id);
    if (leavers == before_->leavers.end() || now.orders_fail) continue;
    for (const Rank rank : leavers->second) {
      if (now.nodes.contains(rank) || now.living.contains(rank)) {
        broken("a shrink is over when its daemons are gone", fmt::format("rank {}", rank.value()));
      }
    }
  }
  if (!now.open.empty() || before_->open.empty()) return;
  for (const auto& [rank, node] : now.nodes) {
    if (node.state >= NodeState::kLeaving || !now.living.contains(rank)) {
      broken("jobs are admitted when who leaves is gone", node_text(rank, node));
    }
  }
  now.living.for_each(now.living.highest().value() + 1, [&](Rank rank) {
    if (rank == kHeadRank || now.nodes.contains(rank)) return;
    broken("jobs are admitted when who leaves is gone", fmt::format("rank {}", rank.value()));
  });
}

// row:E5 row:E7 of a grow that failed nothing is left in the book, and of all else nothing is gone
void SizeChecks::check_rolled_back(const Sight& now) const {
  const auto grows = failed(now);
  if (grows.empty()) return;
  for (const auto& [rank, node] : before_->nodes) {
    const bool meant = grows.contains(node.campaign);
    const bool there = now.nodes.contains(rank);
    if (meant && (there || now.living.contains(rank))) {
      broken("a grow that fails leaves nothing", node_text(rank, node));
    }
    if (!meant && !there && node.state < NodeState::kLeaving && !now.of_a_loss) {
      broken("a rollback touches its own nodes only", node_text(rank, node));
    }
  }
}

// row:S2 one for all who are ordered together, one for all who are lost together, one for a
// rollback; who leaves and is gone costs none
void SizeChecks::check_repairs(const Sight& now) const {
  std::set<Serial> orders;
  bool lost = false;
  for (const auto& [rank, node] : now.nodes) {
    const auto before = before_->nodes.find(rank);
    const bool ordered =
        node.state == NodeState::kDeparting &&
        (before == before_->nodes.end() || before->second.state != NodeState::kDeparting);
    if (ordered) orders.insert(node.order);
  }
  for (const auto& [rank, node] : before_->nodes) {
    const bool stays = now.nodes.contains(rank);
    if (!stays && node.state >= NodeState::kWiring && node.state < NodeState::kDeparting) {
      lost = true;
    }
  }
  const auto allowed = orders.size() + (lost ? 1 : 0) + (now.rollbacks - before_->rollbacks);
  if (now.repairs - before_->repairs > allowed) {
    broken("a shrink costs one repair",
           fmt::format("{} repairs, not {}", now.repairs - before_->repairs, allowed));
  }
}

// A job that asked for nodes is held in the step in which they are granted.
bool SizeChecks::one_got_its_nodes(const Sight& now) const {
  return std::ranges::any_of(now.jobs, [this](const auto& entry) {
    const auto* before = before_ ? earlier(entry.first) : nullptr;
    return entry.second.parked && (!before_ || (before != nullptr && before->asks()));
  });
}

void SizeChecks::remember(const Sight& now) {
  const bool for_a_job = one_got_its_nodes(now);
  for (const auto& [campaign, kind] : now.open) {
    const bool begins = !before_ || !before_->open.contains(campaign);
    if (begins && for_a_job) of_jobs_.insert(campaign);
  }
  for (const auto& [id, job] : now.jobs) {
    const auto* before = before_ ? earlier(id) : nullptr;
    if (!job.parked && job.lives() && !job.asks()) admitted_.insert(id);
    if (job.waits_for_launch()) admitted_.insert(id);
    if (!job.waits_for_map()) continue;
    const bool lost_its_map = before != nullptr && before->waits_for_launch();
    if (lost_its_map) accounts_[id].clear();  // and waits for whatever goes on, on no account
    if (accounts_.contains(id)) continue;
    auto& account = accounts_[id];
    for (const auto& [campaign, kind] : now.open) {
      if (kind == CampaignKind::kGrow) account.insert(campaign);
    }
  }
}

}  // namespace tide::sim
