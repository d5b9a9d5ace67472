// Where a DVM gets nodes from while it runs, and gives them back to: its resource managers, asked
// as one. The pool, in place of a scheduler; for a DVM of machines also `hosts`, for those that
// whoever asks names.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/actions.hpp"
#include "head/node_places.hpp"
#include "head/options.hpp"
#include "head/supply.hpp"
#include "rm/pool.hpp"
#include "wire/elastic.pb.h"

namespace tide::head {

class NodeSupply {
 public:
  using View = Supply::View;

  struct Granted {
    std::vector<core::NodeRequest> nodes;
    core::Lease lease;
    std::string cut_by{};  // the manager that grants less time than is wished; empty: none
  };
  struct MoreTime {
    std::uint32_t time_ms = 0;
    std::string cut_by{};  // as above
  };

  // Hosts that are named later are added to `places`, which has to stay.
  NodeSupply(const HeadOptions& options, NodePlaces& places);

  // Names of the managers that are active, in the order in which they are asked.
  [[nodiscard]] std::vector<std::string> managers() const;

  // A request may need several managers; all grant their part, or nothing is granted.
  Result<Granted> grant(const core::AskForNodes& ask, const View& view);
  Result<Granted> push(const wire::PoolOrder& order, const View& view);
  [[nodiscard]] Result<std::vector<std::string>> reclaim(const wire::PoolOrder& order,
                                                         const View& view) const;
  // How much longer the nodes of these managers may stay: as long as each of them allows.
  [[nodiscard]] MoreTime more_time(const core::AskForTime& ask) const;
  void note_started(std::span<const std::string> nodes);
  core::ReturnVerdict take_back(const core::ReturnNodes& order);

 private:
  using Words = std::vector<hosts::HostWord>;

  using Parts = std::vector<std::pair<rm::Manager*, std::vector<rm::Host>>>;

  Result<Granted> grant(std::uint32_t count, const Words& words, core::Lease wish);
  Result<Parts> parts_of(std::uint32_t count, const Words& words);
  [[nodiscard]] Result<std::vector<Words>> shares_of(const Words& words) const;
  [[nodiscard]] std::uint32_t count_free_beside(const Words& words) const;
  [[nodiscard]] Error not_to_be_had(std::string_view host) const;
  [[nodiscard]] rm::Manager* find(std::string_view name) const;
  void free_lost(const View& view);

  NodePlaces& places_;
  std::vector<std::unique_ptr<rm::Manager>> managers_;
  rm::Pool& pool_;   // the first of them
  std::string job_;  // of a scheduler, whose nodes they are; empty: of none
};

}  // namespace tide::head
