// Where a DVM gets nodes from while it runs, and gives them back to. What is asked is answered
// later, by events.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/actions.hpp"
#include "core/events.hpp"
#include "head/node_places.hpp"
#include "wire/elastic.pb.h"

namespace tide::head {

// A node as its place says, with an incarnation of its own.
core::NodeRequest node_request(const NodePlace& place);

class Supply {
 public:
  // What the DVM knows of its nodes.
  struct View {
    std::set<std::string> staying;  // those it has, or gets, and that are not leaving
    std::set<std::string> known;    // these, and those that it gives back
  };
  struct Dvm {
    std::function<void(core::HeadEvent)> post;
    std::function<View()> view;
    std::function<void(std::string)> note;  // for people, who may read it in the log
  };

  Supply() = default;
  Supply(const Supply&) = delete;
  Supply& operator=(const Supply&) = delete;
  Supply(Supply&&) = delete;
  Supply& operator=(Supply&&) = delete;
  virtual ~Supply() = default;

  // Names of the managers that are active, in the order in which they are asked; the first one has
  // granted the nodes of the start.
  [[nodiscard]] virtual std::vector<std::string> managers() const = 0;
  // Where nodes come from, for people: "Slurm job 17"; empty: whoever started the DVM named them.
  struct Source {
    std::string text{};
    std::uint64_t left_ms = 0;  // they can stay so long; 0: no limit, or none is known
  };
  [[nodiscard]] virtual Source source() const = 0;
  // Once, when the DVM begins to be started.
  virtual void start() = 0;

  virtual void ask(const core::AskForNodes& wanted) = 0;
  virtual void ask(const core::AskForTime& wanted) = 0;
  virtual void cancel(const core::CancelAsk& wanted) = 0;
  // `late`: its change has ended already. What was not taken back in time was free as if lost, and
  // may have been granted anew.
  virtual void give_back(const core::ReturnNodes& order, bool late) = 0;
  virtual void note_started(std::span<const std::string> nodes) = 0;
  // The daemon of this node has ended, and nobody here has ordered that. Whether its manager has
  // taken the node back is posted before `then`, which comes after a bounded time.
  virtual void daemon_ended(const std::string& node, std::function<void()> then) = 0;
  virtual Result<wire::PoolAnswer> carry_out(const wire::PoolOrder& order) = 0;
  // Lets go of all that it got. `then` comes after a bounded time, and nothing else any more.
  virtual void finish(std::function<void()> then) = 0;
  // Whether this child of ours lets go of something, and will do so without us.
  [[nodiscard]] virtual bool lets_go(pid_t pid) const = 0;
};

}  // namespace tide::head
