// A daemon that has the key and says what is not true.
#include "sim/world.hpp"

namespace tide::sim {

void World::lie_at(std::uint64_t at_ms, Rank rank) {
  at(at_ms, [this, rank] {
    std::vector<LinkId> links;
    for (const auto& [id, end] : ends_) {
      const auto other = ends_.find(end.other);
      if (end.owner == rank && other != ends_.end() && other->second.owner == kHeadRank)
        links.push_back(end.other);
    }
    const auto& tree = head_core_->overlay().membership().tree();
    const Rank victim{static_cast<std::uint32_t>(random(config_.nodes + 2))};
    if (tree.is_ancestor_or_self(rank, victim)) return;
    for (const LinkId link : links) {
      for (std::uint64_t seq = 1; seq <= 30; ++seq) {
        post_link_event(kHeadRank, core::MessageIn{link, false_word(victim, seq), Bytes("lie")});
      }
      post_link_event(kHeadRank, core::MessageIn{link, false_contribution(victim), {}});
    }
  });
}

// Whichever number the head waits for is among the thirty.
wire::LinkMessage World::false_word(Rank victim, std::uint64_t seq) {
  wire::LinkMessage out;
  auto* up = out.mutable_up();
  up->set_origin(victim.value());
  up->set_seq(seq);
  up->set_control_ack(random(100));
  up->set_bulk_ack(random(100));
  up->set_resync(random(2) == 0);
  const auto job = static_cast<std::uint32_t>(1 + random(outcomes_.size() + 1));
  switch (random(4)) {
    case 0:
      up->mutable_body()->mutable_output_complete()->set_job(job);
      break;
    case 1:
      up->mutable_body()->mutable_stream()->set_job(job);
      break;
    case 2:
      up->mutable_body()->mutable_proc_failed()->set_job(job);
      up->mutable_body()->mutable_proc_failed()->set_exit_code(1);
      break;
    default:
      up->mutable_body()->mutable_input_credit()->set_job(job);
  }
  return out;
}

wire::LinkMessage World::false_contribution(Rank victim) {
  wire::LinkMessage out;
  auto* reduction = out.mutable_reduction();
  reduction->mutable_id()->set_kind(wire::ReductionId::ENDED);
  reduction->mutable_id()->set_job(static_cast<std::uint32_t>(1 + random(outcomes_.size() + 1)));
  reduction->add_contributions()->set_rank(victim.value());
  return out;
}

}  // namespace tide::sim
