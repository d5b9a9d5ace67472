// The manager `pool`: the nodes that a DVM can get without a scheduler, an inventory and what of it
// is in use. Pure. A request is granted as a whole or not at all.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hosts/selection.hpp"
#include "rm/manager.hpp"

namespace tide::rm {

class Pool final : public Manager {
 public:
  // The first `in_use` hosts are what the DVM is started with: they can be given back, and had
  // again. What comes later stays no longer than `limit` says, and is warned of as it says where
  // nothing is wished.
  Pool(const std::vector<Host>& inventory, std::size_t in_use, core::Lease limit = {});

  [[nodiscard]] std::string_view name() const override { return "pool"; }
  [[nodiscard]] bool supplies(std::string_view host) const override;

  // So many that are free, in the order of the inventory, and the named ones; their slots limit
  // those of the inventory.
  Result<std::vector<Host>> grant(std::uint32_t count,
                                  std::span<const hosts::HostWord> named) override;
  [[nodiscard]] core::Lease lease(core::Lease wish) const override;

  // What to ask back of the DVM: so many, the last granted first, or the named ones. `there` are
  // the nodes that it has and that are not leaving. Nothing changes until they are taken back.
  [[nodiscard]] Result<std::vector<std::string>> reclaim(std::uint32_t count,
                                                         std::span<const std::string> named,
                                                         const std::set<std::string>& there) const;

  // Those that were in use are free again.
  core::ReturnVerdict take_back(std::span<const std::string> names) override;
  void note_started(std::span<const std::string> names) override;
  void free_lost(const std::set<std::string>& known) override;

  [[nodiscard]] std::vector<std::string> free_names() const;
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  enum class State : std::uint8_t { kFree, kGranted, kStarted };
  struct Entry {
    Host host;
    State state = State::kFree;
    std::uint64_t turn = 0;  // the grant that it went with; the higher the later; 0: none
  };

  [[nodiscard]] Result<std::vector<Host>> choose_by_name(
      std::span<const hosts::HostWord> named) const;
  [[nodiscard]] Entry* find(std::string_view name);
  [[nodiscard]] const Entry* find(std::string_view name) const;

  std::vector<Entry> entries_;
  std::map<std::string, std::size_t, std::less<>> index_;  // by name
  hosts::NameIndex spellings_;
  std::uint64_t last_turn_ = 0;
  core::Lease limit_;
};

}  // namespace tide::rm
