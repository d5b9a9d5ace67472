// The manager `hosts`: machines that whoever asks names, and that nobody has listed. It has no
// inventory and asks nobody; it gives them for as long as is wished.
#pragma once

#include <map>

#include "rm/manager.hpp"

namespace tide::rm {

class NamedHosts final : public Manager {
 public:
  // `default_slots` are those of hosts for which none are given; 0: as the hardware has.
  explicit NamedHosts(std::uint32_t default_slots) : default_slots_(default_slots) {}

  [[nodiscard]] std::string_view name() const override { return "hosts"; }
  [[nodiscard]] bool supplies(std::string_view) const override { return true; }
  // Names are as after --host at a start; there is nothing to count.
  Result<std::vector<Host>> grant(std::uint32_t count,
                                  std::span<const hosts::HostWord> named) override;
  [[nodiscard]] core::Lease lease(core::Lease wish) const override { return wish; }
  core::ReturnVerdict take_back(std::span<const std::string> names) override;
  void note_started(std::span<const std::string> names) override;
  void free_lost(const std::set<std::string>& known) override;

  [[nodiscard]] std::size_t granted() const { return granted_.size(); }

 private:
  std::uint32_t default_slots_;
  std::map<std::string, bool, std::less<>> granted_;  // and whether a daemon was started there
};

}  // namespace tide::rm
