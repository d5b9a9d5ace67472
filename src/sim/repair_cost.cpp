#include "sim/repair_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <stdexcept>

#include "sim/scale_world.hpp"

namespace tide::sim {
namespace {

constexpr std::uint32_t kLatencyUs = 50;
constexpr std::uint64_t kStartMs = 5'000;
constexpr std::uint64_t kShrinkMs = 100;  // far longer than it takes: some levels of the tree

double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// Of all slots half the branch of rank 1 has, so twice as many are started, and the rest of the DVM
// is let go before: whoever stands elsewhere would hear of each repair, and change nothing else.
class Branch {
 public:
  explicit Branch(const RepairCostOptions& options)
      : world_(options.radix * (options.most + 2), options.radix, kLatencyUs) {
    world_.start();
    world_.run_for(kStartMs);
    const auto& tree = world_.head().overlay().membership().tree();
    const auto wanted = tree.subtree(Rank(1));
    std::vector<Rank> others;
    tree.living().for_each(tree.span(), [&](Rank rank) {
      if (rank == kHeadRank) return;
      (wanted.contains(rank) ? ranks_ : others).push_back(rank);
    });
    if (!others.empty()) shrink(others);
    base_ = sum();
  }

  [[nodiscard]] std::uint64_t daemons() const { return ranks_.size(); }
  [[nodiscard]] const std::vector<Rank>& ranks() const { return ranks_; }

  void shrink(const std::vector<Rank>& ranks) {
    const auto done = world_.changes_done();
    world_.shrink(ranks);
    const double before = processor_seconds();
    world_.run_for(kShrinkMs);
    seconds_ += processor_seconds() - before;
    if (world_.changes_done() != done + 1) throw std::runtime_error("a shrink was not done");
  }

  // Since the branch is alone.
  [[nodiscard]] RepairCost cost() const {
    RepairCost out = sum();
    out.computations -= base_.computations;
    out.messages -= base_.messages;
    out.bytes -= base_.bytes;
    out.moves -= base_.moves;
    out.seconds -= base_.seconds;
    return out;
  }

 private:
  [[nodiscard]] RepairCost sum() const {
    const Traffic& traffic = world_.traffic();
    return {.computations = world_.repairs(),
            .messages = traffic.all(),
            .bytes = traffic.bytes,
            .moves = traffic.of(wire::LinkMessage::kAttach),
            .seconds = seconds_};
  }

  ScaleWorld world_;
  std::vector<Rank> ranks_;  // of the branch, from the top
  double seconds_ = 0;
  RepairCost base_;
};

std::string ratio(double one_by_one, double at_once) {
  return at_once > 0 ? fmt::format("{:.1f}", one_by_one / at_once) : "–";
}

}  // namespace

bool RepairCostReport::holds() const {
  return std::ranges::all_of(rows, &RepairCostRow::holds);
}

RepairCostReport measure_repair_cost(const RepairCostOptions& options) {
  RepairCostReport report{options, 0, {}};
  Branch slow(options);
  report.daemons = slow.daemons();
  std::uint32_t gone = 0;
  for (std::uint32_t m = 1; m <= options.most; m *= 2) {
    Branch fast(options);
    fast.shrink({fast.ranks().begin(), fast.ranks().begin() + m});
    for (; gone < m; ++gone) slow.shrink({slow.ranks()[gone]});
    RepairCostRow row{.departures = m, .at_once = fast.cost(), .one_by_one = slow.cost()};
    const std::uint64_t all = report.daemons + 1;  // and the head
    row.computations_at_once = all;
    row.computations_one_by_one = m * all - std::uint64_t{m} * (m - 1) / 2;
    report.rows.push_back(row);
  }
  return report;
}

std::string to_text(const RepairCostReport& report) {
  std::string out = fmt::format(
      "m of the {} daemons of one branch leave, from its top, radix {}: in one shrink, or in m of "
      "them\n\n"
      "| m | trees computed, once per campaign | once per daemon | messages | | links moved | | "
      "bytes | | processor time, ratio |\n|---|---|---|---|---|---|---|---|---|---|\n",
      report.daemons, report.options.radix);
  for (const auto& row : report.rows) {
    out += fmt::format("| {} | {} | {}{} | {} | {} | {} | {} | {} | {} | {} |\n", row.departures,
                       row.at_once.computations, row.one_by_one.computations,
                       row.holds() ? "" : " **differs**", row.at_once.messages,
                       row.one_by_one.messages, row.at_once.moves, row.one_by_one.moves,
                       row.at_once.bytes, row.one_by_one.bytes,
                       ratio(row.one_by_one.seconds, row.at_once.seconds));
  }
  return out;
}

// ---- the plot ----

namespace {

constexpr double kLeft = 70;
constexpr double kTop = 30;
constexpr double kWide = 480;
constexpr double kHigh = 300;

struct Scale {
  double decades_x = 1;
  double decades_y = 1;
  [[nodiscard]] double x(double value) const {
    return kLeft + kWide * std::log10(value) / decades_x;
  }
  [[nodiscard]] double y(double value) const {
    return kTop + kHigh * (1 - std::log10(std::max(value, 1.0)) / decades_y);
  }
};

using Figure = std::uint64_t RepairCost::*;
struct Curve {
  Figure figure;
  const char* name;
  const char* color;
};
constexpr Curve kCurves[] = {{&RepairCost::messages, "messages", "#1b6ca8"},
                             {&RepairCost::computations, "trees computed", "#c0392b"},
                             {&RepairCost::moves, "links moved", "#2e8b57"}};

std::string axes(const Scale& scale) {
  std::string out = fmt::format(
      "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#444\"/>\n", kLeft,
      kTop, kWide, kHigh);
  for (int decade = 0; decade <= static_cast<int>(scale.decades_y); ++decade) {
    const double at = scale.y(std::pow(10, decade));
    out += fmt::format("<path d=\"M{} {:.1f}h{}\" stroke=\"#ddd\"/>\n", kLeft, at, kWide);
    out += fmt::format(
        "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">10<tspan dy=\"-4\" "
        "font-size=\"9\">{}</tspan></text>\n",
        kLeft - 8, at + 4, decade);
  }
  return out;
}

std::string line_of(const RepairCostReport& report, const Scale& scale, const Curve& curve,
                    RepairCost RepairCostRow::* which, bool dashed) {
  std::string points;
  for (const auto& row : report.rows) {
    points += fmt::format("{:.1f},{:.1f} ", scale.x(row.departures),
                          scale.y(static_cast<double>((row.*which).*(curve.figure))));
  }
  return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{}/>\n",
                     points, curve.color, dashed ? " stroke-dasharray=\"6 4\"" : "");
}

}  // namespace

std::string to_svg(const RepairCostReport& report) {
  std::uint64_t highest = 10;
  for (const auto& row : report.rows) highest = std::max(highest, row.one_by_one.messages);
  const double most = std::max<double>(2, report.rows.back().departures);
  const Scale scale{std::log10(most), std::ceil(std::log10(static_cast<double>(highest)))};
  std::string out =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 740 390\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"740\" height=\"390\" fill=\"#fff\"/>\n";
  out += axes(scale);
  for (const auto& row : report.rows) {
    out += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                       scale.x(row.departures), kTop + kHigh + 18, row.departures);
  }
  out +=
      fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">m, daemons that leave</text>\n",
                  kLeft + kWide / 2, kTop + kHigh + 40);
  double at = kTop + 20;
  for (const auto& curve : kCurves) {
    out += line_of(report, scale, curve, &RepairCostRow::at_once, false);
    out += line_of(report, scale, curve, &RepairCostRow::one_by_one, true);
    out += fmt::format("<text x=\"{}\" y=\"{}\" fill=\"{}\">{}</text>\n", kLeft + kWide + 20, at,
                       curve.color, curve.name);
    at += 20;
  }
  out += fmt::format(
      "<text x=\"{0}\" y=\"{1}\">— once per campaign</text>\n"
      "<text x=\"{0}\" y=\"{2}\">- - once per daemon</text>\n</svg>\n",
      kLeft + kWide + 20, at + 10, at + 30);
  return out;
}

}  // namespace tide::sim
