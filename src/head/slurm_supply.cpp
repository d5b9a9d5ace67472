#include "head/slurm_supply.hpp"

#include <unistd.h>

#include <algorithm>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <utility>

#include "base/text.hpp"
#include "hosts/wire_words.hpp"
#include "launch/ssh_agent.hpp"
#include "say/granting.hpp"
#include "say/slurm.hpp"

namespace tide::head {

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kName = "slurm";

rm::SlurmClock clock_of(asio::io_context& io, SlurmSupply::Timers& timers) {
  return {.now_ms =
              [] {
                const auto now = std::chrono::system_clock::now().time_since_epoch();
                return static_cast<std::uint64_t>(
                    std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
              },
          .after =
              [&io, &timers](std::uint32_t after_ms, std::function<void()> then) {
                auto timer = std::make_shared<asio::steady_timer>(io);
                timers.insert(timer);
                timer->expires_after(std::chrono::milliseconds(after_ms));
                timer->async_wait(
                    [&timers, timer, then = std::move(then)](const asio::error_code& error) {
                      if (timers.erase(timer) > 0 && !error) then();
                    });
              }};
}

// Those of the start, and behind them what else is granted.
rm::SlurmBook book_of(const HeadOptions& options) {
  std::vector<rm::Host> all = options.hosts;
  for (const auto& host : options.grant->hosts) {
    if (std::ranges::find(all, host.name, &rm::Host::name) == all.end()) all.push_back(host);
  }
  return {options.grant->job, all, options.hosts.size()};
}

rm::SlurmCommandsConfig commands_config(const Params& params) {
  return {.timeout_ms = params.get_duration_ms("ras_slurm_timeout"),
          .salloc_args = launch::split_words(params.get_string("ras_slurm_args"))
                             .value_or(std::vector<std::string>())};
}

rm::SlurmSettings settings_of(const Params& params, const std::string& job_name) {
  return {.job_name = job_name,
          .first_look_ms = params.get_duration_ms("ras_slurm_first_look"),
          .last_look_ms = params.get_duration_ms("ras_slurm_last_look"),
          .silence_ms = params.get_duration_ms("ras_slurm_timeout")};
}

std::vector<hosts::HostWord> words_of(const std::vector<wire::HostRequest>& hosts,
                                      std::string_view option) {
  std::vector<hosts::HostWord> out;
  for (const auto& host : hosts) out.push_back(hosts::from_wire(host, option));
  return out;
}

}  // namespace

SlurmSupply::SlurmSupply(asio::io_context& io, const Params& params, const HeadOptions& options,
                         NodePlaces& places, const std::string& dvm_name, Dvm dvm)
    : places_(places),
      job_(options.grant->job),
      job_name_("tide-" + dvm_name),
      end_grace_ms_(params.get_duration_ms("plm_step_grace")),
      dvm_(std::move(dvm)),
      commands_(io, commands_config(params)),
      manager_(commands_, clock_of(io, timers_), *this, book_of(options),
               settings_of(params, job_name_)) {}

std::vector<std::string> SlurmSupply::managers() const {
  return {kName};
}

Supply::Source SlurmSupply::source() const {
  Source out{.text = say::scheduler_job(kName, job_)};
  if (!ends_) return out;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*ends_ - Clock::now());
  out.left_ms = static_cast<std::uint64_t>(std::max(left.count(), std::int64_t{1}));
  return out;
}

// ---- to Slurm ----

void SlurmSupply::ask(const core::AskForNodes& wanted) {
  const auto named = words_of(wanted.hosts, "--host");
  const auto idle = words_of(wanted.listed, "--activate");
  manager_.ask(wanted, named, idle, dvm_.view().known);
}

void SlurmSupply::give_back(const core::ReturnNodes& order, bool late) {
  // At the end of the DVM all jobs that were made for it go, see finish(). The one that it was
  // started in stays with whoever started it.
  if (order.number == 0 && !order.never_joined) return;
  if (late) return on_returned(order.number, core::ReturnVerdict::kDeclined, "");
  manager_.give_back(order);
}

Result<wire::PoolAnswer> SlurmSupply::carry_out(const wire::PoolOrder& /*order*/) {
  return say::slurm_is_no_pool();
}

void SlurmSupply::finish(std::function<void()> then) {
  manager_.finish([this, then = std::move(then)](bool all_back) {
    if (!all_back) dvm_.note(say::slurm_jobs_may_be_left(job_name_));
    for (const auto& timer : std::exchange(timers_, {})) timer->cancel();  // the head ends
    then();
  });
}

// ---- from Slurm ----

std::vector<core::NodeRequest> SlurmSupply::requests_for(const std::vector<rm::Host>& hosts) {
  std::vector<core::NodeRequest> out;
  for (const auto& host : hosts) {
    out.push_back(node_request(places_.add(host, manager_.job_of(host.name))));
    out.back().manager = kName;
  }
  return out;
}

void SlurmSupply::on_granted(std::uint32_t ask, Grant grant) {
  dvm_.post(core::NodesGranted{ask, requests_for(grant.hosts), grant.lease,
                               grant.cut ? kName : std::string()});
}

void SlurmSupply::on_time_granted(std::uint32_t ask, std::uint32_t time_ms, bool cut) {
  dvm_.post(core::TimeGranted{ask, time_ms, cut ? kName : std::string()});
}

void SlurmSupply::on_refused(std::uint32_t ask, Error why) {
  dvm_.post(core::NodesRefused{ask, std::move(why)});
}

void SlurmSupply::on_queued(std::uint32_t ask, std::string text) {
  dvm_.post(core::NodesQueued{ask, std::move(text)});
}

void SlurmSupply::on_pushed(Grant grant) {
  dvm_.post(core::NodesPushed{requests_for(grant.hosts), grant.lease});
}

void SlurmSupply::on_reclaimed(std::vector<std::string> nodes, std::string reason) {
  dvm_.post(core::NodesReclaimed{std::move(nodes), std::move(reason)});
}

void SlurmSupply::on_lease_moved(std::vector<std::string> nodes, std::uint32_t time_ms) {
  dvm_.post(core::LeaseMoved{std::move(nodes), time_ms});
}

void SlurmSupply::on_returned(std::uint32_t number, core::ReturnVerdict verdict, std::string why) {
  dvm_.post(core::ReturnAnswered{number, kName, verdict, std::move(why)});
}

void SlurmSupply::on_parent_over(std::string reason) {
  dvm_.post(core::EndRequested{std::move(reason), end_grace_ms_});
}

void SlurmSupply::on_parent_limit(std::uint64_t left_ms) {
  ends_.reset();
  if (left_ms > 0) ends_ = Clock::now() + std::chrono::milliseconds(left_ms);
  dvm_.post(core::SourceLimit{left_ms});
}

void SlurmSupply::on_note(std::string text) {
  dvm_.note(std::move(text));
}

}  // namespace tide::head
