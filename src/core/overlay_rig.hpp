// Overlays driven by hand: what one sends the other gets when the test says so, and everything that
// they tell their listeners is written down.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/overlay.hpp"
#include "core/test_support.hpp"

namespace tide::core {

// One overlay with its surroundings.
class OverlayRig : private OverlayListener {
 public:
  explicit OverlayRig(Rank self, std::uint32_t radix)
      : overlay(OverlayConfig{.self = self, .radix = radix}, *this, timers, out) {}

  [[nodiscard]] bool fire(TimerKind kind) {
    return timers.take(firing(seen, kind)) && overlay.handle_timer(kind);
  }
  // Moves what was ordered since into `seen` and returns it.
  Actions collect() {
    Actions fresh = std::exchange(out, {});
    seen.insert(seen.end(), fresh.begin(), fresh.end());
    return fresh;
  }

  TimerBook timers;
  Actions out;
  Actions seen;
  std::vector<std::uint64_t> operations;  // serials applied
  std::vector<std::uint64_t> completed;   // serials
  std::vector<wire::Up> ups;
  std::vector<std::pair<wire::DownEntry, wire::LaunchCommon>> downs;
  std::vector<wire::Reduction> reductions;
  std::vector<std::pair<std::uint32_t, std::string>> suspects;
  std::vector<std::uint32_t> reports;
  std::vector<std::uint32_t> strangers_lost;
  std::vector<std::string> cut_off;
  std::vector<std::pair<std::uint32_t, bool>> departed;  // and whether they were let go
  std::vector<std::string> let_go;
  int path_changes = 0;
  std::size_t forwarded_when_processed = 0;  // operations, when the last one was processed
  bool admit_strangers = true;
  Overlay overlay;

 private:
  void on_operation(const wire::Operation& operation) override {
    operations.push_back(operation.serial());
    forwarded_when_processed = 0;
    for (const auto& message : all_of<Send>(out)) {
      if (message.message.has_operation()) ++forwarded_when_processed;
    }
  }
  void on_departed(Rank rank, bool was_let_go) override {
    departed.emplace_back(rank.value(), was_let_go);
  }
  void on_let_go(const std::string& reason) override { let_go.push_back(reason); }
  void on_operations_complete(Serial serial) override { completed.push_back(serial.value()); }
  void on_up(const wire::Up& up, const Bytes&) override { ups.push_back(up); }
  void on_down(const wire::DownEntry& entry, const wire::LaunchCommon& launch,
               const Bytes&) override {
    downs.emplace_back(entry, launch);
  }
  void on_reduction(const wire::Reduction& reduction) override { reductions.push_back(reduction); }
  void on_path_changed() override { ++path_changes; }
  void on_adopted(Rank) override {}
  void on_suspect(const Suspicion& suspicion) override {
    suspects.emplace_back(suspicion.rank.value(), suspicion.reason);
  }
  void on_report(LinkId, Rank rank, const wire::Report&) override {
    reports.push_back(rank.value());
  }
  bool on_stranger(const LinkUp&) override { return admit_strangers; }
  void on_launch_failed(Rank, const wire::LaunchFailed&) override {}
  void on_left(Rank, bool) override {}
  void on_sent_home(const std::string&) override {}
  void on_stranger_lost(Rank rank, const std::string&, bool) override {
    strangers_lost.push_back(rank.value());
  }
  void on_cut_off(const std::string& reason) override { cut_off.push_back(reason); }
};

// Several of them on a network that carries what is sent, and nothing else by itself.
class OverlayNet {
 public:
  OverlayNet(std::uint32_t daemons, std::uint32_t radix) {
    for (std::uint32_t rank = 0; rank <= daemons; ++rank) {
      rigs_.push_back(std::make_unique<OverlayRig>(Rank(rank), radix));
    }
  }
  OverlayRig& rig(std::uint32_t rank) { return *rigs_.at(rank); }
  OverlayRig& head() { return rig(0); }
  static Incarnation incarnation(std::uint32_t rank) {
    return Incarnation(rank == 0 ? 0 : 1000 + rank);
  }

  // A link from one to the other, as if the Connect had worked. Both ends have the same number.
  LinkId connect(std::uint32_t from, std::uint32_t to) {
    const LinkId link{next_link_++};
    ends_[link] = {from, to};
    rig(to).overlay.handle(LinkUp{link, Rank(from), incarnation(from), 1, false});
    rig(from).overlay.handle(LinkUp{link, Rank(to), incarnation(to), 1, true});
    return link;
  }
  // Its process is gone: whoever had a link to it hears so.
  void end(std::uint32_t rank) {
    rig(rank).collect();
    unreachable.insert(rank);
    ended.push_back(rank);
    const auto links = ends_;
    for (const auto& [link, ends] : links) {
      if (ends.first != rank && ends.second != rank) continue;
      ends_.erase(link);
      const auto other = ends.first == rank ? ends.second : ends.first;
      rig(other).overlay.handle(LinkDown{link, LinkEnd::kClosed, "ended"});
    }
  }
  void order_to_leave(const std::vector<std::uint32_t>& ranks) {
    wire::Operation operation;
    RankSet left;
    for (const auto rank : ranks) left.insert(Rank(rank));
    *operation.mutable_membership()->mutable_left() = left.to_wire();
    operation.mutable_membership()->set_orderly(true);
    head().overlay.keep_for(Serial(head().overlay.membership().serial().value() + 1));
    head().overlay.broadcast(operation);
  }
  // Both ends hear that the link is gone.
  void cut(LinkId link, const std::string& text = "cut") {
    const auto [from, to] = ends_.at(link);
    ends_.erase(link);
    rig(from).overlay.handle(LinkDown{link, LinkEnd::kClosed, text});
    rig(to).overlay.handle(LinkDown{link, LinkEnd::kClosed, text});
  }
  // Carries messages and closings until nobody says anything; connects who wants to, unless the
  // other one is unreachable. `withheld` do not get to send.
  void settle(const std::set<std::uint32_t>& withheld = {}) {
    for (bool busy = true; busy;) {
      busy = false;
      for (std::uint32_t rank = 0; rank < rigs_.size(); ++rank) {
        if (withheld.contains(rank) || std::ranges::find(ended, rank) != ended.end()) continue;
        for (const auto& action : rig(rank).collect()) busy = carry(rank, action) || busy;
        if (!rig(rank).let_go.empty()) {
          end(rank);
          busy = true;
        }
      }
    }
  }
  // Everybody joins, the head makes them members, everybody attaches.
  void start() {
    RankSet joined;
    for (std::uint32_t rank = 1; rank < rigs_.size(); ++rank) {
      rig(rank).overlay.join({}, {});
      joined.insert(Rank(rank));
      head().overlay.learn(Rank(rank), {incarnation(rank), {}});
    }
    settle();
    wire::Operation operation;
    *operation.mutable_membership()->mutable_joined() = joined.to_wire();
    head().overlay.broadcast(operation);
    for (const auto& [link, ends] : ends_) head().overlay.welcome(link);
    settle();
  }
  void declare_dead(std::uint32_t rank) {
    wire::Operation operation;
    *operation.mutable_membership()->mutable_left() = RankSet(Rank(rank)).to_wire();
    head().overlay.broadcast(operation);
  }
  // The link by which `child` hangs on its parent.
  LinkId up_link(std::uint32_t child) {
    for (const auto& [link, ends] : ends_) {
      if (ends.first == child && rig(child).overlay.parent_peer() == Rank(ends.second)) return link;
    }
    return LinkId(0);
  }

  std::set<std::uint32_t> unreachable;
  std::vector<std::uint32_t> ended;  // in this order

 private:
  bool carry(std::uint32_t from, const Action& action) {
    if (const auto* message = std::get_if<Send>(&action)) {
      const auto found = ends_.find(message->link);
      if (found == ends_.end()) return false;
      const auto to = found->second.first == from ? found->second.second : found->second.first;
      rig(to).overlay.handle(MessageIn{message->link, message->message, message->payload});
      return true;
    }
    if (const auto* closing = std::get_if<CloseLink>(&action)) {
      const auto found = ends_.find(closing->link);
      if (found == ends_.end()) return false;
      const auto to = found->second.first == from ? found->second.second : found->second.first;
      ends_.erase(found);
      const auto end = closing->reason == wire::GOODBYE_DECLARED_DEAD ? LinkEnd::kDeclaredDead
                       : closing->reason == wire::GOODBYE_MOVED       ? LinkEnd::kMoved
                                                                      : LinkEnd::kRefused;
      rig(to).overlay.handle(LinkDown{closing->link, end, closing->text});
      return true;
    }
    if (const auto* wish = std::get_if<Connect>(&action)) {
      if (unreachable.contains(wish->peer.value())) {
        rig(from).overlay.handle(ConnectFailed{wish->peer, true, "refused"});
      } else {
        connect(from, wish->peer.value());
      }
      return true;
    }
    return false;
  }

  std::vector<std::unique_ptr<OverlayRig>> rigs_;
  std::map<LinkId, std::pair<std::uint32_t, std::uint32_t>> ends_;
  std::uint64_t next_link_ = 1;
};

}  // namespace tide::core
