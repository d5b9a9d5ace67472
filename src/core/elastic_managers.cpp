// The way back of nodes to the resource managers that granted them.
#include <algorithm>
#include <array>

#include "core/elastic_desk.hpp"
#include "say/campaigns.hpp"
#include "say/elastic.hpp"

namespace tide::core {

namespace {

constexpr std::array kVerdicts = {"taken", "declined", "deferred", "failed"};

}  // namespace

ElasticDesk::Owners ElasticDesk::owners_of(const std::vector<NodeRequest>& nodes) {
  Owners out;
  for (const auto& node : nodes) out.emplace(node.name, node.manager);
  return out;
}

// row:R22 what one of them granted is offered to that one alone, what nobody is known to have
// granted to all
std::vector<std::string> ElasticDesk::share_of(const std::string& manager,
                                               const Owners& owners) const {
  std::vector<std::string> out;
  for (const auto& [node, owner] : owners) {
    const bool known = std::ranges::find(config_.managers, owner) != config_.managers.end();
    if (!known || owner == manager) out.push_back(node);
  }
  return out;
}

// row:C6 every active one is offered its share, and has answered or had its time, before anybody is
// told of the end
void ElasticDesk::give_back(CampaignId id, Campaign& campaign) {
  enter(id, campaign, Phase::kReturning, config_.return_timeout_ms);
  const bool never_joined = campaign.kind == CampaignKind::kGrow;
  for (const auto& manager : config_.managers) {
    campaign.unanswered.insert(manager);
    out_.emplace_back(
        ReturnNodes{id.value(), manager, share_of(manager, campaign.owners), never_joined});
  }
  if (campaign.unanswered.empty()) end(id);
}

// Nodes that nobody wants any more: no change has to do with them.
void ElasticDesk::give_back_at_once(const std::vector<NodeRequest>& nodes) {
  const Owners owners = owners_of(nodes);
  for (const auto& manager : config_.managers) {
    auto share = share_of(manager, owners);
    if (!share.empty()) out_.emplace_back(ReturnNodes{0, manager, std::move(share), true});
  }
}

bool ElasticDesk::is_returning(CampaignId id) const {
  const auto found = campaigns_.find(id);
  return found != campaigns_.end() && found->second.phase == Phase::kReturning;
}

void ElasticDesk::note_not_taken(const std::string& manager, const Campaign& campaign,
                                 std::string_view verdict) {
  const auto share = share_of(manager, campaign.owners);
  if (share.empty()) return;
  const auto text = say::nodes_not_taken_back(manager, share, say::first_line(verdict));
  tell(campaign.asker, text);
  notes_.add(Subsystem::kRas, 0, "{}", text);
  events_.add_of_dvm(EventKind::kReturnFailed, text);
}

// row:C6 what it made of its share changes neither the outcome nor the answer
void ElasticDesk::handle(const ReturnAnswered& event) {
  const CampaignId id{event.number};
  if (!is_returning(id)) return;
  Campaign& campaign = campaigns_.at(id);
  if (campaign.unanswered.erase(event.manager) == 0) return;
  if (event.verdict != ReturnVerdict::kTaken) {
    const std::string_view verdict = kVerdicts.at(static_cast<std::size_t>(event.verdict));
    note_not_taken(event.manager, campaign, event.text.empty() ? verdict : event.text);
  }
  if (campaign.unanswered.empty()) end(id);
}

void ElasticDesk::end_without_answers(CampaignId id, const Campaign& campaign) {
  for (const auto& manager : campaign.unanswered) note_not_taken(manager, campaign, "no answer");
  end(id);
}

}  // namespace tide::core
