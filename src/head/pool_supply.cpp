#include "head/pool_supply.hpp"

#include <utility>

#include "say/granting.hpp"
#include "say/pool.hpp"

namespace tide::head {

Supply::Source PoolSupply::source() const {
  return {.text = grant_ ? say::scheduler_job(grant_->manager, grant_->job) : std::string()};
}

void PoolSupply::ask(const core::AskForNodes& wanted) {
  auto granted = supply_.grant(wanted, dvm_.view());
  if (!granted) return dvm_.post(core::NodesRefused{wanted.ask, granted.error()});
  dvm_.post(core::NodesGranted{wanted.ask, std::move(granted->nodes), granted->lease,
                               std::move(granted->cut_by)});
}

void PoolSupply::ask(const core::AskForTime& wanted) {
  const auto more = supply_.more_time(wanted);
  dvm_.post(core::TimeGranted{wanted.ask, more.time_ms, more.cut_by});
}

void PoolSupply::give_back(const core::ReturnNodes& order, bool late) {
  const auto verdict = late ? core::ReturnVerdict::kDeclined : supply_.take_back(order);
  dvm_.post(core::ReturnAnswered{order.number, order.manager, verdict});
}

Result<wire::PoolAnswer> PoolSupply::carry_out(const wire::PoolOrder& order) {
  wire::PoolAnswer out;
  if (order.reclaim()) {
    auto nodes = supply_.reclaim(order, dvm_.view());
    if (!nodes) return nodes.error();
    for (const auto& name : *nodes) out.add_nodes(name);
    dvm_.post(core::NodesReclaimed{std::move(*nodes), say::reclaimed_by_pool()});
  } else {
    auto nodes = supply_.push(order, dvm_.view());
    if (!nodes) return nodes.error();
    for (const auto& node : nodes->nodes) out.add_nodes(node.name);
    out.set_lease_ms(nodes->lease.time_ms);
    dvm_.post(core::NodesPushed{std::move(nodes->nodes), nodes->lease});
  }
  return out;
}

}  // namespace tide::head
