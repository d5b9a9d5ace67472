#include "cli/map_text.hpp"

#include <fmt/format.h>

#include "base/next_step.hpp"
#include "cli/text_table.hpp"

namespace tide::cli {

std::string map_text(const wire::JobMap& map) {
  TextTable table({"node", "processes", "ranks"});
  for (const auto& node : map.nodes()) {
    std::uint32_t count = 0;
    std::string ranks;
    for (const auto& range : node.ranks()) {
      count += range.last() - range.first() + 1;
      ranks += ranks.empty() ? "" : ",";
      ranks += range.first() == range.last() ? std::to_string(range.first())
                                             : fmt::format("{}-{}", range.first(), range.last());
    }
    table.add({node.node(), std::to_string(count), std::move(ranks)});
  }
  return fmt::format(
      "job {}: {} on {}\n{}", map.nspace(), say::counted(map.processes(), "process", "processes"),
      say::counted(static_cast<std::size_t>(map.nodes_size()), "node", "nodes"), table.text());
}

}  // namespace tide::cli
