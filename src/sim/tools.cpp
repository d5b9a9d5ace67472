#include "sim/tools.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/pmix_words.hpp"
#include "core/proc_names.hpp"
#include "sim/clients.hpp"
#include "sim/processes.hpp"
#include "sim/services.hpp"
#include "sim/session_sight.hpp"
#include "sim/world.hpp"

namespace tide::sim {

namespace {

constexpr std::uint64_t kPurpose = 0x746F6F6C;
constexpr std::uint64_t kReadUs = 500;
constexpr std::uint64_t kSlowUs = 200'000;
constexpr std::uint64_t kRestUs = 3'000;
constexpr std::uint64_t kThinksUs = 400'000;
constexpr std::uint64_t kFirstWish = 2'000;

[[noreturn]] void broken(const std::string& promise, std::size_t tool, const std::string& what) {
  throw BrokenPromise(promise, fmt::format("tool {}: {}", tool, what));
}

std::int32_t fact_of(const wire::EventNotice& notice, const char* key) {
  for (const auto& fact : notice.facts()) {
    if (fact.key() == key) return fact.status();
  }
  return 0;
}

}  // namespace

void Tools::plan_all() {
  World& world = services_.world();
  for (const auto& plan : world.scenario().tools) {
    const std::size_t index = tools_.size();
    tools_.emplace_back().plan = plan;
    world.schedule().at_ms(plan.at_ms, What{What::Kind::kDeadline, kHeadHost, kPurpose + index},
                           [this, index] { arrive(index); });
  }
}

void Tools::arrive(std::size_t index) {
  World& world = services_.world();
  Tool& tool = tools_[index];
  tool.host = tool.plan.place == 0 ? kHeadHost : world.pick_host(tool.plan.place);
  if (world.head_exited()) return;
  ++world.journal().counts.tools;
  Chance chance = world.chance(kPurpose).of(index);
  core::ToolArrived event;
  // Who owns something has a name that nobody has had before.
  if (chance.percent(30) && tool.plan.wishes == 0)
    event.wish = core::proc_name(fmt::format("wish.{}", tool.host), 7);
  event.ticket = services_.ticket(tool.host, /*must=*/true,
                                  [this, index](const Given& given) { on_attached(index, given); });
  world.tell(tool.host, event);
  if (tool.plan.stay_ms == 0) return;
  world.schedule().after(tool.plan.stay_ms * 1000,
                         What{What::Kind::kDeadline, tool.host, kPurpose + index},
                         [this, index] { leave(index); });
}

// Two of one name can't be on one host.
void Tools::on_attached(std::size_t index, const Given& given) {
  Tool& tool = tools_[index];
  if (!given.status) {
    tool.gone = true;
    const bool excused = std::ranges::any_of(tools_, [&](const Tool& other) {
      return &other != &tool && other.host == tool.host && other.name.rank() == 7;
    });
    if (!excused) broken("a tool is let in", index, given.status.error().message);
    return;
  }
  tool.attached = true;
  tool.name = given.name;
  if (tool.wants_to_leave) return leave(index);
  tool.wishes_left = tool.plan.wishes;
  if (tool.plan.wishes > 0) wish(index, 0);
  for (std::uint64_t i = 0; i < tool.plan.jobs && tool.plan.wishes == 0; ++i) spawn(index, i);
  look_around(index);
  leave_if_done(index);
}

void Tools::spawn(std::size_t index, std::uint64_t number) {
  Tool& tool = tools_[index];
  Chance chance = services_.world().chance(kPurpose).of(index).of(number);
  const JobPlan plan = tool_job_plan(tool.plan, chance);
  const auto correlation = services_.note_spawn(plan, std::nullopt);
  tool.jobs.insert(correlation);
  readings_[correlation].tool = index;
  wire::ServiceRequest request;
  *request.mutable_who() = tool.name;
  auto& wish = *request.mutable_spawn();
  Services::describe(plan, *wish.mutable_job());
  wish.mutable_job()->set_correlation(correlation);
  wish.set_forward_stdout(true);
  wish.set_outlives_tool(tool.plan.outlived);
  if (plan.aimed) services_.reservations().aim(*wish.mutable_job(), chance.of(1));
  if (tool.plan.schedules) wish.set_scheduler_key(kSchedulerKey);
  tool.tickets.insert(services_.ask(tool.host, /*must=*/true, std::move(request),
                                    [this, index, correlation](const Given& given) {
                                      services_.on_spawned(correlation, given);
                                      readings_[correlation].refused = !given.answer.has_spawned();
                                      leave_if_done(index);
                                    }));
}

// One after the other, with its jobs between them.
void Tools::wish(std::size_t index, std::uint64_t number) {
  Tool& tool = tools_[index];
  if (tool.gone) return;
  const auto chance = services_.world().chance(kPurpose).of(index).of(kFirstWish + number);
  const Reservations::Asker asker{
      .host = tool.host, .who = tool.name, .by_tool = true, .is_scheduler = tool.plan.schedules};
  tool.tickets.insert(services_.reservations().ask(asker, chance, [this, index, number](bool) {
    Tool& wisher = tools_[index];
    if (wisher.gone) return;
    --wisher.wishes_left;
    if (number < wisher.plan.jobs) spawn(index, number);
    const bool last = wisher.wishes_left == 0;
    for (auto i = number + 1; last && i < wisher.plan.jobs; ++i) spawn(index, i);
    if (last) return leave_if_done(index);
    services_.later(wisher.host, kThinksUs, [this, index, number] { wish(index, number + 1); });
  }));
}

// What is there, and what others write.
void Tools::look_around(std::size_t index) {
  Tool& tool = tools_[index];
  Chance chance = services_.world().chance(kPurpose).of(index).of(1000);
  wire::ServiceRequest request;
  *request.mutable_who() = tool.name;
  request.mutable_query()->add_questions()->set_what(wire::Question::ALLOCATION);
  tool.tickets.insert(
      services_.ask(tool.host, /*must=*/true, std::move(request), [index](const Given& given) {
        const bool told = given.status && given.answer.replies().replies_size() == 1;
        if (!told) broken("a question is answered", index, "it was not told which nodes there are");
      }));
  if (!chance.percent(30)) return;
  pulling_.insert(tool.host);
  wire::ServiceRequest pull;
  *pull.mutable_who() = tool.name;
  *pull.mutable_pull()->mutable_sources()->add_names() =
      core::proc_name(fmt::format("sim@{}", chance.between(1, 4)), core::kAllRanks);
  pull.mutable_pull()->set_stdout(true);
  pull.mutable_pull()->set_subscription(1);
  tool.tickets.insert(
      services_.ask(tool.host, /*must=*/true, std::move(pull), [](const Given&) {}));
}

void Tools::leave_if_done(std::size_t index) {
  Tool& tool = tools_[index];
  if (tool.plan.stay_ms > 0 || tool.gone || tool.wishes_left > 0) return;
  const bool done = std::ranges::all_of(tool.jobs, [this](const auto& correlation) {
    return has_ended(correlation) || readings_[correlation].refused;
  });
  if (done) services_.later(tool.host, kRestUs, [this, index] { leave(index); });
}

bool Tools::has_ended(const std::string& correlation) const {
  const auto notices = notices_.find(services_.job_with(correlation));
  return notices != notices_.end() && notices->second.ends > 0;
}

void Tools::leave(std::size_t index) {
  Tool& tool = tools_[index];
  tool.wants_to_leave = true;
  if (!tool.attached || tool.gone) return;
  tool.gone = true;
  for (const auto ticket : tool.tickets) services_.excuse(ticket);
  services_.world().tell(tool.host, core::ToolGone{tool.name});
}

// ---- output ----

void Tools::on_output(HostId host, const core::DeliverOutput& output) {
  Stream nobody;
  const auto correlation = services_.correlation_of(output.source.nspace());
  const auto reading = readings_.find(correlation.value_or(""));
  const bool read = reading != readings_.end() && tools_[reading->second.tool].host == host;
  if (!read) {
    // What a job of its job writes is the tool's, too.
    std::string above = correlation ? services_.parent_of(*correlation) : "";
    while (!above.empty() && !readings_.contains(above)) above = services_.parent_of(above);
    const bool inherited = !above.empty() && tools_[readings_.at(above).tool].host == host;
    if (!inherited && !pulling_.contains(host)) {
      throw BrokenPromise("output goes to who reads it",
                          fmt::format("{} on host {}", output.source.nspace(), host));
    }
    return take(host, output, nobody);
  }
  const std::size_t index = reading->second.tool;
  if (has_ended(*correlation)) broken("the end is the last word", index, "output after the end");
  Stream& stream = reading->second.streams[output.source.rank()];
  for (const char byte : output.data.view()) {
    if (byte == Services::kLogByte) {
      ++stream.logged;
      ++stream.unpaid;
    } else if (byte != static_cast<char>(stream.seen++ % Clients::kByteCycle)) {
      broken("output is whole and in order", index, output.source.nspace());
    }
  }
  stream.uncredited += output.data.size();
  const auto room = services_.world().scenario().window_bytes + stream.unpaid;
  if (!tools_[index].gone && stream.uncredited > room) {
    broken("output stays within the credit", index, "more came than the reader has room for");
  }
  take(host, output, stream);
}

void Tools::take(HostId host, const core::DeliverOutput& output, Stream& stream) {
  const auto read = readings_.find(services_.correlation_of(output.source.nspace()).value_or(""));
  const bool slow = read != readings_.end() && tools_[read->second.tool].plan.slow;
  const bool counts = stream.uncredited > 0;
  Stream* counted = counts ? &stream : nullptr;
  services_.later(host, slow ? kSlowUs : kReadUs,
                  [this, host, counted, size = output.data.size(), number = output.delivery] {
                    if (counted != nullptr) {
                      counted->uncredited -= size;
                      counted->unpaid -= std::min<std::uint64_t>(counted->unpaid, size);
                    }
                    services_.world().tell(host, core::OutputDelivered{number});
                  });
}

// ---- starts and ends ----

void Tools::on_job_notice(HostId host, const wire::EventNotice& notice) {
  const auto& nspace = notice.source().nspace();
  if (nspace.find('@') == std::string::npos) return;  // not of a job, but of the daemon
  const JobId job = Services::job_of(nspace);
  Notices& notices = notices_[job];
  const bool ends = notice.code() == core::kEventJobEnd;
  const int times = ends ? ++notices.ends : ++notices.starts;
  if (times > 1) throw BrokenPromise("starts and ends are told once", nspace + ": twice");
  if (!ends && notices.ends > 0) {
    throw BrokenPromise("starts and ends are told once", nspace + ": the start after the end");
  }
  const auto reading = readings_.find(services_.correlation_of(nspace).value_or(""));
  if (reading == readings_.end()) return;
  const Tool& tool = tools_[reading->second.tool];
  if (tool.host != host) broken("starts and ends are told once", reading->second.tool, "elsewhere");
  if (!ends) return;
  const bool well = fact_of(notice, core::kFactJobStatus) == 0;
  if (well && !tool.gone) check_all_came(reading->second, job);
  leave_if_done(reading->second.tool);
}

void Tools::check_all_came(const Reading& reading, JobId job) const {
  const World& world = services_.world();
  const JobPlan& plan = *services_.plan_of(job);
  for (std::uint32_t rank = 0; rank < plan.processes; ++rank) {
    const auto stream = reading.streams.find(rank);
    const Stream seen = stream == reading.streams.end() ? Stream{} : stream->second;
    const auto planned = Processes::planned_output(world.scenario(), plan, job.value(), rank);
    const auto logged = services_.logged({job, ProcRank(rank)});
    if (seen.seen == planned && seen.logged == logged) continue;
    broken("output is whole and in order", reading.tool,
           fmt::format("{} of {} bytes of process {} of job {} before the end, {} of {} logged",
                       seen.seen, planned, rank, job.value(), seen.logged, logged));
  }
}

void Tools::host_gone(HostId host) {
  for (auto& tool : tools_) {
    if (tool.host == host && (tool.attached || tool.wants_to_leave)) tool.gone = true;
  }
}

std::size_t Tools::attached() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(tools_, [](const Tool& tool) { return tool.attached && !tool.gone; }));
}

// Who stays until its jobs are over has heard of their ends.
void Tools::when_quiet() const {
  for (std::size_t i = 0; i < tools_.size(); ++i) {
    if (tools_[i].attached && !tools_[i].gone) {
      broken("starts and ends are told once", i, "it waits for the end of a job");
    }
  }
}

}  // namespace tide::sim
