#include "sim/scale_world.hpp"

#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "sim/network.hpp"

namespace tide::sim {
namespace {

constexpr std::uint64_t kReapUs = 1'000;   // until the launcher tells of a daemon that died
constexpr std::uint64_t kSpawnUs = 1'000;  // a fork and an exec
constexpr std::uint64_t kSweepUs = 10;
constexpr std::uint64_t kRegisterUs = 100;

core::HeadConfig head_config(std::uint32_t radix) {
  core::HeadConfig config;
  config.dvm_id = config.dvm_name = config.jobs.dvm_id = "scale";
  config.overlay.radix = radix;
  config.elastic.enabled = true;
  config.jobs.launch_with_map =
      false;  // a hundred thousand copies of it do not fit into one machine
  return config;
}

}  // namespace

std::uint64_t Traffic::all() const {
  return std::accumulate(messages.begin(), messages.end(), std::uint64_t{0});
}

Traffic Traffic::since(const Traffic& earlier) const {
  Traffic out = *this;
  for (std::size_t i = 0; i < kKinds; ++i) out.messages[i] -= earlier.messages[i];
  for (std::size_t i = 0; i < reductions.size(); ++i) out.reductions[i] -= earlier.reductions[i];
  out.launches -= earlier.launches;
  out.bytes -= earlier.bytes;
  return out;
}

ScaleWorld::ScaleWorld(std::uint32_t daemons, std::uint32_t radix, std::uint32_t latency_us)
    : radix_(radix),
      latency_us_(latency_us),
      daemons_wanted_(daemons),
      head_(std::make_unique<core::HeadCore>(head_config(radix))) {}

const core::DaemonCore* ScaleWorld::daemon(Rank rank) const {
  const auto found = daemons_.find(rank.value());
  return found == daemons_.end() ? nullptr : found->second.get();
}

std::optional<std::uint64_t> ScaleWorld::completed_us(Serial serial) const {
  const auto found = completed_us_.find(serial);
  if (found == completed_us_.end()) return std::nullopt;
  return found->second;
}

bool ScaleWorld::alive(HostId host) const {
  return host == kHeadRank.value() || daemons_.contains(host);
}

// ---- what happens when ----

void ScaleWorld::after(std::uint64_t delay_us, HostId host, core::DaemonEvent event) {
  agenda_[now_us_ + delay_us].push_back({host, std::move(event)});
}

void ScaleWorld::after(std::uint64_t delay_us, core::HeadEvent event) {
  agenda_[now_us_ + delay_us].push_back({kHeadRank.value(), std::move(event)});
}

void ScaleWorld::run_for(std::uint64_t ms) {
  const auto until_us = now_us_ + ms * 1000;
  while (!agenda_.empty() && agenda_.begin()->first <= until_us) {
    auto node = agenda_.extract(agenda_.begin());
    now_us_ = node.key();
    // What is announced for this very moment meanwhile comes in another round.
    for (auto& happening : node.mapped()) happen(std::move(happening));
  }
  now_us_ = until_us;
}

void ScaleWorld::happen(Happening happening) {
  const auto now_ms = now_us_ / 1000;
  const HostId host = happening.host;
  if (!alive(host)) return;
  auto* common = std::get_if<core::DaemonEvent>(&happening.event);
  if (common != nullptr && !link_changes(*common)) return;
  if (host != kHeadRank.value()) {
    perform_all(host, daemons_.at(host)->on(*common, now_ms));
  } else if (common == nullptr) {
    perform_all(host, head_->on(std::get<core::HeadEvent>(happening.event), now_ms));
  } else {
    std::visit(
        [&](auto&& event) {
          if constexpr (std::is_constructible_v<core::HeadEvent, decltype(event)>) {
            perform_all(host, head_->on(std::forward<decltype(event)>(event), now_ms));
          }
        },
        std::move(*common));
  }
  if (host == kHeadRank.value()) completed_us_.try_emplace(head_->overlay().completed(), now_us_);
}

// False: the event is of a link that this end has closed already.
bool ScaleWorld::link_changes(const core::DaemonEvent& event) {
  const auto open_end = [this](LinkId id) -> bool& {
    return links_.at(id.value() / 2).open.at(id.value() % 2);
  };
  if (const auto* up = std::get_if<core::LinkUp>(&event)) open_end(up->link) = true;
  if (const auto* in = std::get_if<core::MessageIn>(&event)) return open_end(in->link);
  if (const auto* down = std::get_if<core::LinkDown>(&event)) {
    return std::exchange(open_end(down->link), false);
  }
  return true;
}

// ---- what is done from outside ----

// Ranks are given out in the order of the nodes, so node and rank have the same number.
std::vector<core::NodeRequest> ScaleWorld::more_nodes(std::uint32_t count) {
  std::vector<core::NodeRequest> out;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto number = ++nodes_given_;
    out.push_back({fmt::format("v{}", number), 1, Incarnation(1'000'000 + number)});
  }
  return out;
}

void ScaleWorld::start() {
  core::StartDvm request;
  request.nodes = more_nodes(daemons_wanted_);
  after(0, std::move(request));
}

void ScaleWorld::grow(std::uint32_t daemons) {
  core::ClientMessage message{ClientId(next_client_++), {}, {}};
  message.request.set_request(1);
  message.request.mutable_grow()->set_count(daemons);
  after(0, std::move(message));
}

void ScaleWorld::grant(const core::AskForNodes& ask) {
  after(latency_us_, core::NodesGranted{ask.ask, more_nodes(ask.count)});
}

void ScaleWorld::shrink(const std::vector<Rank>& ranks) {
  core::ClientMessage message{ClientId(next_client_++), {}, {}};
  message.request.set_request(1);
  for (const Rank rank : ranks) {
    message.request.mutable_shrink()->add_nodes(fmt::format("v{}", rank.value()));
  }
  after(0, std::move(message));
}

std::uint64_t ScaleWorld::repairs() const {
  std::uint64_t sum = repairs_of_the_gone_ + head_->overlay().membership().repairs();
  for (const auto& [host, daemon] : daemons_) sum += daemon->overlay().membership().repairs();
  return sum;
}

void ScaleWorld::broadcast() {
  core::ClientMessage message{ClientId(next_client_++), {}, {}};
  message.request.set_request(1);
  message.request.mutable_release()->set_name("nothing.held");
  after(0, std::move(message));
}

void ScaleWorld::submit_job() {
  core::ClientMessage message{ClientId(next_client_++), {}, {}};
  message.request.set_request(1);
  auto* job = message.request.mutable_submit()->mutable_job();
  job->set_stdin_rank(-1);
  job->set_map_by(wire::JobSpec::NODE);
  job->add_apps()->add_argv("virtual");
  job_ended_us_.reset();
  after(0, std::move(message));
}

void ScaleWorld::kill(Rank rank) {
  const auto gone = daemons_.extract(rank.value());
  if (gone.empty()) return;
  repairs_of_the_gone_ += gone.mapped()->overlay().membership().repairs();
  for (const auto id : links_of_[rank.value()]) {
    Link& link = links_[id];
    for (const std::size_t end : {0U, 1U}) {
      if (link.host[end] != rank.value() || !link.open[1 - end]) continue;
      link.open[end] = false;
      after(latency_us_, link.host[1 - end],
            core::LinkDown{end_id(id, 1 - end), core::LinkEnd::kClosed, "connection reset"});
    }
  }
  after(kReapUs, core::DaemonExited{rank, "killed"});
}

// ---- what the cores want done ----

void ScaleWorld::perform_all(HostId self, core::Actions actions) {
  for (auto& action : actions) perform(self, action);
}

void ScaleWorld::perform(HostId self, core::Action& action) {
  if (auto* message = std::get_if<core::Send>(&action)) {
    send(*message);
  } else if (auto* wish = std::get_if<core::Connect>(&action)) {
    connect(self, *wish);
  } else if (auto* closing = std::get_if<core::CloseLink>(&action)) {
    close(*closing);
  } else if (auto* timer = std::get_if<core::StartTimer>(&action)) {
    after(std::uint64_t{timer->after_ms} * 1000, self,
          core::TimerFired{timer->timer, timer->generation});
  } else if (auto* launching = std::get_if<core::LaunchDaemons>(&action)) {
    for (const auto& target : launching->targets) launch(target);
  } else if (auto* spawning = std::get_if<core::SpawnProc>(&action)) {
    spawn(self, spawning->proc);
  } else if (auto* told = std::get_if<core::RegisterJob>(&action)) {
    after(kRegisterUs, self, core::JobRegistered{told->job, told->launch->attempt()});
  } else if (auto* sweep = std::get_if<core::SweepJob>(&action)) {
    after(kSweepUs, self, core::JobSwept{sweep->job, 0});
  } else if (auto* probe = std::get_if<core::Probe>(&action)) {
    after(std::uint64_t{2} * latency_us_,
          core::ProbeAnswered{probe->rank, !alive(probe->rank.value())});
  } else if (std::holds_alternative<core::AnnounceReady>(action)) {
    ready_us_ = now_us_;
  } else if (auto* ask = std::get_if<core::AskForNodes>(&action)) {
    grant(*ask);
  } else if (auto* order = std::get_if<core::ReturnNodes>(&action)) {
    after(latency_us_, core::ReturnAnswered{order->number, order->manager});
  } else if (std::holds_alternative<core::Exit>(action)) {
    kill(Rank(self));
  } else if (auto* reply = std::get_if<core::Reply>(&action)) {
    take_reply(*reply);
  }
}

void ScaleWorld::take_reply(const core::Reply& reply) {
  if (reply.reply.has_ended()) {
    job_ended_us_ = now_us_;
    job_exit_status_ = reply.reply.ended().exit_status();
  } else if (reply.reply.change_ended().done()) {
    ++changes_done_;
    changed_us_ = now_us_;
  }
}

void ScaleWorld::launch(const core::LaunchTarget& target) {
  const HostId host = target.rank.value();
  core::DaemonConfig config;
  config.overlay.self = config.jobs.self = target.rank;
  config.overlay.radix = radix_;
  config.jobs.node = target.node;
  tickets_[host] = {target.incarnation, target.campaign};
  auto& daemon = daemons_[host] = std::make_unique<core::DaemonCore>(std::move(config));
  wire::Report report;
  report.set_node(target.node);
  report.set_pid(1000 + host);
  report.mutable_topology()->set_cores(1);
  report.add_endpoints()->set_port(host);
  wire::Endpoint head;
  head.set_port(kHeadRank.value());
  after(latency_us_, core::DaemonStarted{target.rank, 1000 + host});
  perform_all(host, daemon->start({head}, std::move(report)));
}

void ScaleWorld::connect(HostId from, const core::Connect& wish) {
  const HostId to = wish.endpoints.at(0).port();
  if (!alive(to)) {
    after(std::uint64_t{2} * latency_us_, from,
          core::ConnectFailed{wish.peer, true, "connection refused"});
    return;
  }
  links_.push_back(Link{{from, to}, {}});
  const auto link = links_.size() - 1;
  for (const HostId end : {from, to}) links_of_[end].push_back(link);
  after(latency_us_, to, link_up(link, 1));
  after(std::uint64_t{2} * latency_us_, from, link_up(link, 0));
}

core::LinkUp ScaleWorld::link_up(std::size_t link, std::size_t end) const {
  const HostId peer = links_.at(link).host.at(1 - end);
  const auto known = tickets_.find(peer);
  const Ticket ticket = known == tickets_.end() ? Ticket{} : known->second;
  return {end_id(link, end), Rank(peer), ticket.incarnation, end == 1 ? ticket.campaign : 0,
          end == 0};
}

void ScaleWorld::send(const core::Send& message) {
  const auto end = message.link.value() % 2;
  const Link& link = links_.at(message.link.value() / 2);
  if (!link.open.at(end)) return;
  ++traffic_.messages.at(static_cast<std::size_t>(message.message.body_case()));
  if (message.message.has_reduction()) {
    ++traffic_.reductions.at(static_cast<std::size_t>(message.message.reduction().id().kind()));
  }
  if (message.message.down().has_launch()) ++traffic_.launches;
  traffic_.bytes += message.message.ByteSizeLong() + message.payload.size();
  after(
      latency_us_, link.host.at(1 - end),
      core::MessageIn{end_id(message.link.value() / 2, 1 - end), message.message, message.payload});
}

void ScaleWorld::close(const core::CloseLink& closing) {
  const auto id = closing.link.value() / 2;
  const auto end = closing.link.value() % 2;
  Link& link = links_.at(id);
  if (!link.open.at(end)) return;
  link.open.at(end) = false;
  after(latency_us_, link.host.at(1 - end),
        core::LinkDown{end_id(id, 1 - end), end_of(closing.reason), closing.text});
}

void ScaleWorld::spawn(HostId host, core::ProcKey proc) {
  after(kSpawnUs, host, core::ProcSpawned{proc, 5000});
  for (const auto stream : {wire::STDOUT, wire::STDERR}) {
    after(kSpawnUs + kRunUs, host, core::ProcOutputClosed{proc, stream});
  }
  after(kSpawnUs + kRunUs, host, core::ProcExited{proc, 0, 0});
}

}  // namespace tide::sim
