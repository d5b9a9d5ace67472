// Nodes and jobs for tests of the mapper and of its advice.
#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/mapper.hpp"

namespace tide::core {

inline std::vector<MapNode> three_nodes() {
  return {{Rank(1), "v1", 2, 0}, {Rank(2), "v2", 3, 0}, {Rank(3), "v3", 2, 0}};
}

inline wire::JobSpec job(std::uint32_t processes, wire::JobSpec::MapBy by = wire::JobSpec::SLOT) {
  wire::JobSpec out;
  out.set_map_by(by);
  auto* app = out.add_apps();
  app->add_argv("prog");
  app->set_processes(processes);
  return out;
}

inline wire::AppSpec& add_app(wire::JobSpec& spec, std::uint32_t processes) {
  auto* app = spec.add_apps();
  app->add_argv("other");
  app->set_processes(processes);
  return *app;
}

inline void ask_host(wire::AppSpec& app, const std::string& node, std::uint32_t slots = 0) {
  auto* host = app.add_hosts();
  host->set_node(node);
  host->set_slots(slots);
}

inline std::vector<MapNode> any_nodes() {
  std::vector<MapNode> out;
  const auto count = *rc::gen::inRange<std::uint32_t>(1, 8);
  for (std::uint32_t i = 1; i <= count; ++i) {
    const auto slots = *rc::gen::inRange<std::uint32_t>(0, 6);
    out.push_back({Rank(i), "v" + std::to_string(i), slots, *rc::gen::inRange(0U, slots + 3)});
    if (*rc::gen::inRange(0, 4) == 0) out.back().max_slots = *rc::gen::inRange(1U, slots + 4);
  }
  return out;
}

inline wire::JobSpec any_job(const std::vector<MapNode>& nodes) {
  wire::JobSpec out;
  out.set_map_by(*rc::gen::element(wire::JobSpec::SLOT, wire::JobSpec::NODE));
  const auto apps = *rc::gen::inRange(1, 4);
  for (int i = 0; i < apps; ++i) {
    auto& app = add_app(out, *rc::gen::inRange(0U, 12U));
    const auto hosts = *rc::gen::inRange(0, 3);
    for (int host = 0; host < hosts; ++host) {
      const auto pick = *rc::gen::inRange<std::size_t>(0, nodes.size());
      ask_host(app, nodes[pick].name, *rc::gen::inRange(0U, 4U));
    }
  }
  return out;
}

}  // namespace tide::core
