// How the parts of the head speak to daemons: reliable, in order, one message for many.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "wire/link.pb.h"

namespace tide::core {

class DaemonPort {
 public:
  virtual ~DaemonPort() = default;
  using Slices = std::vector<std::pair<Rank, wire::DownBody>>;
  // `launch` is the common part of launch slices, null for everything else.
  virtual void scatter(Slices slices, std::shared_ptr<const wire::LaunchCommon> launch,
                       Bytes payload) = 0;
  // Everywhere that somebody can be told something, the head included.
  [[nodiscard]] virtual std::set<Rank> everybody() const = 0;
  // Whether this one is among them: what goes to others is lost.
  [[nodiscard]] virtual bool reaches(Rank rank) const = 0;
  // The job has no process on this daemon any more.
  virtual void on_share_ended(Rank rank, const std::string& nspace) = 0;
  // The job waits for nodes that the DVM does not have. Answered by JobBoard::on_extended() or
  // on_not_extended(), which may be before this returns.
  virtual void extend_for(JobId job) = 0;
  // Whether this proves that the scheduler speaks.
  [[nodiscard]] virtual bool is_scheduler(std::string_view key) const = 0;
  // Nothing of the job is left and nobody hears of it again.
  virtual void on_job_gone(const std::string& nspace) = 0;
};

}  // namespace tide::core
