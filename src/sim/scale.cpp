#include "sim/scale.hpp"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <map>

#include "sim/scale_world.hpp"

namespace tide::sim {
namespace {

using wire::LinkMessage;
using Unit = ScaleRow::Unit;

// Longer than anything that has to happen, shorter than the deadlines that would report trouble.
constexpr std::uint64_t kSettleMs = 5'000;

// Over all daemons of a full tree.
std::uint64_t sum_of_depths(std::uint64_t daemons, std::uint64_t radix) {
  std::uint64_t sum = 0;
  std::uint64_t level = 1;
  for (std::uint64_t depth = 1; daemons > 0; ++depth) {
    level = std::min(level * radix, daemons);
    sum += level * depth;
    daemons -= level;
  }
  return sum;
}

std::string with_unit(std::uint64_t number, Unit unit) {
  if (unit == Unit::kMicroseconds) return fmt::format("{} µs", number);
  if (unit == Unit::kBytes) return fmt::format("{} B", number);
  return std::to_string(number);
}

std::uint64_t heap_bytes() {
  return ::mallinfo2().uordblks;
}

class Measurement {
 public:
  explicit Measurement(const ScaleOptions& options)
      : options_(options),
        n_(options.daemons),
        grown_((options.daemons + 9) / 10),
        depth_(full_depth(options.daemons, options.radix)),
        world_(options.daemons, options.radix, options.latency_us) {}

  ScaleReport run() {
    bring_up();
    tree();
    broadcast();
    job();
    loss();
    grow();
    shed();
    memory();
    return {options_, std::move(rows_)};
  }

 private:
  void row(std::string what, std::uint64_t measured, Unit unit = Unit::kCount) {
    rows_.push_back({std::move(what), measured, 0, {}, unit});
  }
  void row(std::string what, std::uint64_t measured, std::uint64_t expected, std::string formula,
           Unit unit = Unit::kCount) {
    rows_.push_back({std::move(what), measured, expected, std::move(formula), unit});
  }
  Traffic settle() {
    const Traffic before = world_.traffic();
    world_.run_for(kSettleMs);
    return world_.traffic().since(before);
  }

  // Each daemon connects to the head and reports, gets what it has to know, and attaches to its
  // parent.
  void bring_up() {
    world_.start();
    const Traffic traffic = settle();
    row("start: reports", traffic.of(LinkMessage::kReport), n_, "N");
    row("start: snapshots", traffic.of(LinkMessage::kSnapshot), n_, "N");
    row("start: attachments", traffic.of(LinkMessage::kAttach), n_, "N");
    row("start: all messages", traffic.all());
    row("start: bytes sent", traffic.bytes, Unit::kBytes);
    row("start: until ready", world_.ready_us().value_or(0), Unit::kMicroseconds);
    row("start: daemons that are ready", world_.head().roster().nodes().size(), n_, "N");
  }

  void tree() {
    const auto& tree = world_.head().overlay().membership().tree();
    std::uint32_t depth = 0;
    std::uint64_t interior = 0;
    std::uint64_t degree = 0;
    for (std::uint32_t rank = 0; rank <= n_; ++rank) {
      const auto children = rank == 0 ? world_.head().overlay().adopted_children()
                                      : world_.daemon(Rank(rank))->overlay().adopted_children();
      depth = std::max(depth, tree.depth(Rank(rank)));
      degree = std::max<std::uint64_t>(degree, children.size());
      if (!children.empty()) ++interior;
    }
    row("tree: depth", depth, depth_, "least d with 1 + r + … + r^d > N");
    row("tree: widest degree", degree, std::min<std::uint64_t>(options_.radix, n_), "r");
    row("tree: ranks with children", interior, (n_ - 1) / options_.radix + 1, "⌈N / r⌉");
  }

  // Down and up again, one message each over every link.
  void broadcast() {
    const auto begin_us = world_.now_us();
    world_.broadcast();
    const Traffic traffic = settle();
    const auto serial = world_.head().overlay().membership().serial();
    row("broadcast: operations", traffic.of(LinkMessage::kOperation), n_, "N");
    row("broadcast: acknowledgements", traffic.of(LinkMessage::kOperationAck), n_, "N");
    row("broadcast: until all have it", world_.completed_us(serial).value_or(begin_us) - begin_us,
        std::uint64_t{2} * depth_ * options_.latency_us, "2 d · latency", Unit::kMicroseconds);
  }

  // One process on each daemon: the launch is split on its way down, the reports of the start and
  // of the end are merged on their way up.
  void job() {
    const auto begin_us = world_.now_us();
    world_.submit_job();
    const Traffic traffic = settle();
    row("job: launch messages", traffic.launches, n_, "N");
    row("job: messages that forget it", traffic.of(LinkMessage::kDown) - traffic.launches, n_, "N");
    row("job: reductions of the start", traffic.reductions[wire::ReductionId::LAUNCHED], n_, "N");
    row("job: reductions of the end", traffic.reductions[wire::ReductionId::ENDED], n_, "N");
    // The end of its output, and an acknowledgement of each of the two messages down.
    row("job: hops of single messages up", traffic.of(LinkMessage::kUp),
        3 * sum_of_depths(options_.daemons, options_.radix), "3 Σ depth");
    row("job: exit status", static_cast<std::uint64_t>(world_.job_exit_status()), 0, "0");
    row("job: bytes sent", traffic.bytes, Unit::kBytes);
    row("job: until its end is told, without its run",
        world_.job_ended_us().value_or(0) - begin_us - ScaleWorld::kRunUs, Unit::kMicroseconds);
  }

  // Its children hang on the head until the operation comes. Then the first child of each slot on
  // the way down moves up, and the others of that slot follow it there.
  void loss() {
    world_.kill(Rank(1));
    const Traffic traffic = settle();
    row("loss of rank 1: attachments", traffic.of(LinkMessage::kAttach), moves_after_loss(),
        "2 c₁ - 1 + Σ (cₖ - 1); full slots: r + (d - 1) (r - 1)");
    row("loss of rank 1: operations", traffic.of(LinkMessage::kOperation), n_ - 1, "N - 1");
    row("loss of rank 1: acknowledgements", traffic.of(LinkMessage::kOperationAck), n_ - 1,
        "N - 1");
    row("loss of rank 1: all messages", traffic.all());
    row("loss of rank 1: daemons that agree with the head", in_agreement(), n_ - 1, "N - 1");
  }

  // Slots are fixed: the newcomers attach themselves below, and nobody else moves.
  void grow() {
    const std::uint64_t old = n_ - 1;
    const auto repairs = world_.repairs();
    const auto begin_us = world_.now_us();
    world_.grow(static_cast<std::uint32_t>(grown_));
    const Traffic traffic = settle();
    row("grow by G: reports", traffic.of(LinkMessage::kReport), grown_, "G = ⌈N / 10⌉");
    row("grow by G: snapshots", traffic.of(LinkMessage::kSnapshot), grown_, "G");
    row("grow by G: attachments", traffic.of(LinkMessage::kAttach), grown_, "G");
    row("grow by G: operations", traffic.of(LinkMessage::kOperation), old, "N - 1");
    row("grow by G: repairs", world_.repairs() - repairs, 0, "0");
    row("grow by G: all messages", traffic.all());
    row("grow by G: bytes sent", traffic.bytes, Unit::kBytes);
    row("grow by G: until done", world_.changed_us() - begin_us, Unit::kMicroseconds);
    row("grow by G: changes that are done", world_.changes_done(), 1, "1");
    row("grow by G: daemons that agree with the head", in_agreement(), old + grown_, "N - 1 + G");
  }

  // row:S2 The order goes to everybody once; each who leaves is let go once, and whoever stays
  // computes its tree anew once.
  void shed() {
    if (n_ < 2) return;
    std::vector<Rank> branch;
    const auto& tree = world_.head().overlay().membership().tree();
    tree.subtree(Rank(2)).for_each(tree.span(), [&](Rank rank) { branch.push_back(rank); });
    const std::uint64_t all = n_ - 1 + grown_;
    const std::uint64_t stay = all - branch.size();
    const auto at_head = world_.head().overlay().membership().repairs();
    const auto begin_us = world_.now_us();
    std::map<std::uint32_t, std::uint64_t> before;
    for_each_daemon([&](std::uint32_t rank, const auto& daemon) {
      before.emplace(rank, daemon.overlay().membership().repairs());
    });
    world_.shrink(branch);
    const Traffic traffic = settle();
    std::uint64_t repaired_once = 0;
    for_each_daemon([&](std::uint32_t rank, const auto& daemon) {
      const bool once = daemon.overlay().membership().repairs() == before.at(rank) + 1;
      repaired_once += once ? 1U : 0U;
    });
    row("shed the branch of rank 2: m", branch.size(), branch_size(),
        "slots of the branch ≤ N + G");
    row("shed the branch of rank 2: operations", traffic.of(LinkMessage::kOperation), all,
        "N - 1 + G");
    row("shed the branch of rank 2: words that let go", traffic.of(LinkMessage::kLetGo),
        branch.size(), "m");
    row("shed the branch of rank 2: attachments", traffic.of(LinkMessage::kAttach), 0, "0");
    row("shed the branch of rank 2: repairs at the head",
        world_.head().overlay().membership().repairs() - at_head, 1, "1");
    row("shed the branch of rank 2: survivors that repaired once", repaired_once, stay,
        "N - 1 + G - m");
    row("shed the branch of rank 2: all messages", traffic.all());
    row("shed the branch of rank 2: bytes sent", traffic.bytes, Unit::kBytes);
    row("shed the branch of rank 2: until done", world_.changed_us() - begin_us,
        Unit::kMicroseconds);
    row("shed the branch of rank 2: changes that are done", world_.changes_done(), 2, "2");
    row("shed the branch of rank 2: daemons that agree with the head", in_agreement(), stay,
        "N - 1 + G - m");
  }

  template <class Look>
  void for_each_daemon(const Look& look) const {
    for (std::uint32_t rank = 1; rank <= n_ + grown_; ++rank) {
      if (const auto* daemon = world_.daemon(Rank(rank))) look(rank, *daemon);
    }
  }

  // That of rank 2 is a full one: no hole is in it.
  [[nodiscard]] std::uint64_t branch_size() const {
    const std::uint64_t last = n_ + grown_;
    std::uint64_t size = 0;
    for (std::uint64_t first = 2, width = 1; first <= last;
         first = first * options_.radix + 1, width *= options_.radix) {
      size += std::min(width, last - first + 1);
    }
    return size;
  }

  [[nodiscard]] std::uint64_t moves_after_loss() const {
    const std::uint64_t radix = options_.radix;
    std::uint64_t moves = 0;
    for (std::uint64_t slot = 1; slot * radix + 1 <= n_; slot = slot * radix + 1) {
      const auto children = std::min(radix, n_ - slot * radix);
      moves += slot == 1 ? 2 * children - 1 : children - 1;
    }
    return moves;
  }

  [[nodiscard]] std::uint64_t in_agreement() const {
    const auto& head = world_.head().overlay().membership();
    std::uint64_t count = 0;
    for_each_daemon([&](std::uint32_t rank, const auto& daemon) {
      const auto& overlay = daemon.overlay();
      const bool agrees = overlay.membership().serial() == head.serial() &&
                          overlay.membership().tree().living() == head.tree().living() &&
                          overlay.parent_peer() == head.tree().parent(Rank(rank));
      if (agrees) ++count;
    });
    return count;
  }

  void memory() {
    std::uint64_t daemons = 0;
    for_each_daemon([&](auto /*rank*/, const auto& /*daemon*/) { ++daemons; });
    const auto full = heap_bytes();
    world_.drop_daemons();
    const auto without_daemons = heap_bytes();
    world_.drop_head();
    row("memory: of a daemon's core",
        (full - without_daemons) / std::max<std::uint64_t>(daemons, 1), Unit::kBytes);
    row("memory: of the head's core, for each daemon",
        (without_daemons - heap_bytes()) / std::max<std::uint64_t>(daemons, 1), Unit::kBytes);
  }

  ScaleOptions options_;
  std::uint64_t n_;
  std::uint64_t grown_;
  std::uint32_t depth_;
  ScaleWorld world_;
  std::vector<ScaleRow> rows_;
};

}  // namespace

std::uint32_t full_depth(std::uint32_t daemons, std::uint32_t radix) {
  std::uint32_t depth = 0;
  std::uint64_t level = 1;
  for (std::uint64_t slots = 1; slots <= daemons; slots += level) {
    level *= radix;
    ++depth;
  }
  return depth;
}

bool ScaleReport::holds() const {
  return std::ranges::all_of(rows, &ScaleRow::holds);
}

std::string to_text(const ScaleReport& report) {
  std::string out = fmt::format(
      "N = {} daemons, r = {} (radix), each message takes {} µs\n\n"
      "| what | measured | by the formula | formula |\n|---|---|---|---|\n",
      report.options.daemons, report.options.radix, report.options.latency_us);
  for (const auto& row : report.rows) {
    const bool bare = row.formula.empty();
    out += fmt::format("| {} | {} | {}{} | {} |\n", row.what, with_unit(row.measured, row.unit),
                       bare ? "" : with_unit(row.expected, row.unit),
                       row.holds() ? "" : " **differs**", row.formula);
  }
  return out;
}

ScaleReport measure_scale(const ScaleOptions& options) {
  return Measurement(options).run();
}

}  // namespace tide::sim
