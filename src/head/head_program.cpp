#include "head/head_program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <asio/post.hpp>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/log.hpp"
#include "base/uri.hpp"
#include "exec/unique_fd.hpp"
#include "head/pool_supply.hpp"
#include "head/slurm_supply.hpp"
#include "launch/daemon_blob.hpp"
#include "rim/settings.hpp"
#include "say/elastic.hpp"
#include "say/finding.hpp"
#include "say/granting.hpp"
#include "say/pool.hpp"
#include "say/starting.hpp"

namespace tide::head {

namespace {

constexpr auto kDirectoryLook = std::chrono::seconds(2);

core::HeadConfig core_config(const HeadSetup& setup, const NodePlaces& places,
                             const Supply& supply) {
  auto config = rim::head_config(setup.params);
  config.dvm_id = config.jobs.dvm_id = setup.info.dvm_id;
  config.dvm_name = setup.info.name;
  config.jobs.one_shot = setup.options.one_shot;
  config.roster.orders_fail = setup.failpoints.lookup("core.order_to_leave").has_value();
  config.roster.tree_launch = places.has_other_machines() && !places.in_step() &&
                              !setup.params.get_bool("plm_ssh_no_tree_spawn");
  config.elastic.managers = supply.managers();
  config.elastic.scheduler_key = setup.scheduler_key;
  return config;
}

net::ClientHubConfig clients_config(const HeadSetup& setup) {
  net::ClientHubConfig config;
  config.path = setup.info.directory + "/sock";
  config.dvm_id = setup.info.dvm_id;
  config.dvm_name = setup.info.name;
  // A job that just fits here must still fit into a launch message with all that is added to it.
  config.max_message_bytes = setup.params.get_size("prte_max_msg_size") / 4;
  return config;
}

void set_error(const Error& error, wire::ClientReply& reply) {
  reply.mutable_error()->set_code(static_cast<std::uint32_t>(error.code));
  reply.mutable_error()->set_message(error.message);
}

void add_names(const core::LaunchTarget& target, std::vector<std::string>& out) {
  out.push_back(target.node);
  for (const auto& below : target.below) add_names(below, out);
}

}  // namespace

HeadProgram::HeadProgram(HeadSetup setup, Reports reports)
    : setup_(std::move(setup)),
      places_(setup_.options, launch::ThisMachine::look(), starts_in_step(setup_)),
      reports_(std::move(reports)),
      supply_(make_supply()),
      core_(core_config(setup_, places_, *supply_)),
      host_(io_, core_, *this, setup_.failpoints.at("head"),
            static_cast<std::size_t>(setup_.params.get_int("tide_recorder_events")), counters_),
      timers_(io_, [this](core::TimerFired fired) { host_.post(fired); }),
      links_(io_, links_config(setup_), counters_,
             [this](rim::LinkEvent event) {
               std::visit([this](auto&& e) { host_.post(std::forward<decltype(e)>(e)); },
                          std::move(event));
             }),
      clients_(io_, clients_config(setup_), *this),
      launcher_(io_, local_config(), ssh_config(setup_, places_), *this, step_config(setup_)),
      services_(
          io_,
          [this](core::ServiceEvent event) {
            std::visit(
                [this](auto&& e) {
                  using Event = std::decay_t<decltype(e)>;
                  if constexpr (std::is_constructible_v<core::HeadEvent, Event>) {
                    host_.post(std::forward<decltype(e)>(e));
                  }
                },
                std::move(event));
          },
          setup_.info.directory + "/pmix.head"),
      signals_(io_, SIGTERM, SIGINT, SIGHUP),
      directory_timer_(io_),
      client_connections_(counters_.counter("client.connections")) {}

int HeadProgram::run() {
  const std::string dump = setup_.info.directory + "/logs/head.crash";
  if (auto installed = install_crash_dump(&host_.recorder(), dump); !installed) {
    log_warning(installed.error().message);
  }
  if (auto opened = open_doors(); !opened) {
    reports_.progress({say::dvm_not_started(opened.error().message), true});
    return 1;
  }
  wait_for_signals();
  watch_keepalive();
  watch_starter();
  watch_directory();
  start_dvm();
  io_.run();
  remove_crash_dump();
  return exit_status_;
}

Status HeadProgram::open_doors() {
  auto endpoints = listen_for_daemons(setup_, places_, links_);
  if (!endpoints) return endpoints.error();
  endpoints_ = std::move(*endpoints);
  setup_.info.system = setup_.options.system_server;
  setup_.info.link_uri =
      compose_dvm_uri(DvmUri{setup_.info.dvm_id, kHeadRank, endpoints_.at(0).address(),
                             static_cast<std::uint16_t>(endpoints_.at(0).port())});
  setup_.info.uri = setup_.info.link_uri;  // until PMIx is there
  if (auto written = setup_.directory.write_info(setup_.info); !written) return written;
  if (auto listening = clients_.listen(); !listening) return listening;
  return launcher_.start();
}

void HeadProgram::start_dvm() {
  core::StartDvm start;
  for (const auto& place : places_.at_start()) {
    start.nodes.push_back(node_request(place));
    start.nodes.back().manager = supply_->managers().front();
  }
  host_.post(std::move(start));
  tell_where_nodes_come_from();
  supply_->start();
  asio::post(io_, [this] { start_services(); });
}

void HeadProgram::tell_where_nodes_come_from() {
  const auto& grant = setup_.options.grant;
  if (const auto& aside = setup_.options.job_aside) {
    const auto nodes = setup_.options.nodes;
    reports_.progress({say::nodes_beside_job(nodes, aside->manager, aside->job), false});
  }
  if (!grant) return;
  std::uint64_t slots = 0;
  for (const auto& host : setup_.options.hosts) slots += host.slots;
  const auto nodes =
      say::nodes_of_job(setup_.options.hosts.size(), slots, grant->manager, grant->job);
  auto text = say::nodes_and_launcher(nodes, setup_.launcher.why);
  log_note("plm", 1, text);
  reports_.progress({std::move(text), false});
}

// While the daemons are on their way: it takes some milliseconds, and tools can't come before.
void HeadProgram::start_services() {
  pmix::ServerConfig config;
  config.nspace = setup_.info.dvm_id;
  config.rank = kHeadRank.value();
  config.node = short_host_name();  // tools look for a server of their own host
  config.system_server = setup_.options.system_server;
  if (auto started = services_.start(std::move(config)); !started) {
    log_error("tools can't attach to the head: " + started.error().message);
    return;
  }
  setup_.info.uri = services_.uri();
  host_.post(core::ServicesStarted{services_.uri()});
}

// What others start, but for nodes of this machine: these are ours to start wherever they stand in
// the tree, and come to `ours`.
wire::DaemonSeed HeadProgram::seed_with_all_below(const core::LaunchTarget& target,
                                                  std::vector<wire::DaemonSeed>& ours) const {
  const NodePlace& place = places_.of(target.node);
  wire::DaemonSeed seed = launch::seed_of(target);
  seed.set_host(place.host);
  seed.set_user(place.user);
  for (const auto& below : target.below) {
    auto child = seed_with_all_below(below, ours);
    if (child.host().empty()) {
      ours.push_back(std::move(child));
    } else {
      *seed.add_below() = std::move(child);
    }
  }
  return seed;
}

void HeadProgram::launch_daemons(const core::LaunchDaemons& action) {
  std::vector<wire::DaemonSeed> seeds;
  for (const auto& target : action.targets) {
    auto seed = seed_with_all_below(target, seeds);
    seeds.push_back(std::move(seed));
  }
  std::vector<std::string> nodes;
  for (const auto& target : action.targets) add_names(target, nodes);
  supply_->note_started(nodes);
  const wire::DaemonBlob common = common_blob(setup_, places_, endpoints_);
  std::vector<launch::LaunchItem> items;
  for (const auto& seed : seeds) items.push_back(launch_item(setup_, places_, seed, common));
  launcher_.launch(std::move(items));
}

// ---- nodes that come and go ----

std::unique_ptr<Supply> HeadProgram::make_supply() {
  Supply::Dvm dvm{.post = [this](core::HeadEvent event) { host_.post(std::move(event)); },
                  .view = [this] { return view_of_nodes(); },
                  .note =
                      [this](std::string text) {
                        log_warning(text);
                        reports_.progress({std::move(text), true});
                      }};
  const auto& options = setup_.options;
  if (options.grant && options.grant->manager == "slurm") {
    return std::make_unique<SlurmSupply>(io_, setup_.params, options, places_, setup_.info.name,
                                         std::move(dvm));
  }
  return std::make_unique<PoolSupply>(options, places_, std::move(dvm));
}

launch::LocalLauncherConfig HeadProgram::local_config() {
  auto config = launcher_config(setup_);
  config.spared = [this](pid_t pid) { return supply_->lets_go(pid); };
  return config;
}

Supply::View HeadProgram::view_of_nodes() const {
  Supply::View view;
  for (const auto& [rank, node] : core_.roster().nodes()) {
    view.known.insert(node.name);
    if (node.state < core::NodeState::kLeaving) view.staying.insert(node.name);
  }
  wire::StatusReply changes;
  core_.elastic().describe(changes, 0);
  for (const auto& campaign : changes.campaigns()) {
    view.known.insert(campaign.nodes().begin(), campaign.nodes().end());
  }
  return view;
}

void HeadProgram::return_nodes(const core::ReturnNodes& action) {
  const bool late = action.number != 0 && !core_.elastic().is_returning(CampaignId(action.number));
  supply_->give_back(action, late);
}

Result<wire::PoolAnswer> HeadProgram::carry_out(const wire::PoolOrder& order) {
  if (!core_.elastic().enabled()) return say::not_elastic();
  if (!core_.roster().ready()) return say::dvm_not_ready_to_change();
  return supply_->carry_out(order);
}

// ---- actions ----

void HeadProgram::perform(core::Action action) {
  std::visit(
      [this](auto&& a) {
        using T = std::decay_t<decltype(a)>;
        if constexpr (requires { links_.perform(std::forward<decltype(a)>(a)); }) {
          links_.perform(std::forward<decltype(a)>(a));
        } else if constexpr (requires { services_.perform(a); }) {
          services_.perform(a);
        } else if constexpr (std::is_same_v<T, core::StartTimer>) {
          timers_.start(a);
        } else if constexpr (std::is_same_v<T, core::Reply>) {
          clients_.send(a.client, a.reply, a.payload);
        } else if constexpr (std::is_same_v<T, core::Note>) {
          log_note(rim::subsystem_name(a.subsystem), a.verbosity, a.text);
        } else if constexpr (std::is_same_v<T, core::LaunchDaemons>) {
          launch_daemons(a);
        } else if constexpr (std::is_same_v<T, core::AskForNodes> ||
                             std::is_same_v<T, core::AskForTime>) {
          supply_->ask(a);
        } else if constexpr (std::is_same_v<T, core::CancelAsk>) {
          supply_->cancel(a);
        } else if constexpr (std::is_same_v<T, core::ReturnNodes>) {
          return_nodes(a);
        } else if constexpr (std::is_same_v<T, core::EndDaemon>) {
          a.answers ? launcher_.end(a.rank) : launcher_.give_up(a.rank);
        } else if constexpr (std::is_same_v<T, core::Probe>) {
          links_.probe(a, [this, rank = a.rank](bool refused) {
            core::ProbeAnswered answer{rank, refused};
            refused ? post_end_of(rank, answer) : host_.post(answer);
          });
        } else if constexpr (std::is_same_v<T, core::ReplyFromRim>) {
          reply_from_rim(a);
        } else if constexpr (std::is_same_v<T, core::ReplyStatus>) {
          reply_status(std::forward<decltype(a)>(a));
        } else if constexpr (std::is_same_v<T, core::AnnounceReady>) {
          announce_ready(a);
        } else if constexpr (std::is_same_v<T, core::NodesChanged>) {
          describe_dvm(a.nodes, a.slots);
        } else if constexpr (std::is_same_v<T, core::Progress>) {
          log_note("plm", 1, std::string(say::first_line(a.text)));
          reports_.progress(a);
        } else if constexpr (std::is_same_v<T, core::Exit>) {
          begin_exit(a);
        } else {
          log_error("the head's core asked for " + core::short_name<T>());
        }
      },
      std::move(action));
}

void HeadProgram::fail(core::Action action) {
  if (const auto* launch = std::get_if<core::LaunchDaemons>(&action)) {
    for (const auto& target : launch->targets) {
      host_.post(core::DaemonLaunchFailed{target.rank, "failpoint"});
    }
  } else if (const auto* ask = std::get_if<core::AskForNodes>(&action)) {
    host_.post(core::NodesRefused{ask->ask, say::resource_manager_failed("failpoint")});
  } else if (const auto* time = std::get_if<core::AskForTime>(&action)) {
    host_.post(core::NodesRefused{time->ask, say::resource_manager_failed("failpoint")});
  } else if (const auto* back = std::get_if<core::ReturnNodes>(&action)) {
    host_.post(core::ReturnAnswered{back->number, back->manager, core::ReturnVerdict::kFailed});
  }
}

void HeadProgram::announce_ready(const core::AnnounceReady& action) {
  setup_.info.ready = true;
  describe_dvm(action.nodes, action.slots);
  starter_.reset();
  reports_.ready(setup_.info);
}

// For whoever looks for DVMs and does not ask their heads.
void HeadProgram::describe_dvm(std::uint32_t nodes, std::uint32_t slots) {
  setup_.info.nodes = nodes;
  setup_.info.slots = slots;
  if (auto written = setup_.directory.write_info(setup_.info); !written) {
    log_error(written.error().message);
  }
}

void HeadProgram::reply_from_rim(const core::ReplyFromRim& action) {
  wire::ClientReply reply;
  reply.set_request(action.request.request());
  if (action.request.has_params()) {
    for (const auto& entry : setup_.params.entries()) {
      auto* row = reply.mutable_params()->add_params();
      row->set_name(std::string(entry.def->name));
      row->set_value(entry.value);
      row->set_source(entry.source.text);
    }
  } else if (action.request.has_recorder()) {
    reply.mutable_recorder();
    for (const auto& line : host_.recorder().lines()) {
      reply.mutable_recorder()->add_lines(fmt::format("{} {}", line.time_ms, line.text));
    }
  } else if (action.request.has_pool()) {
    if (const auto done = carry_out(action.request.pool()); done) {
      *reply.mutable_pool() = *done;
    } else {
      set_error(done.error(), reply);
    }
  } else if (setup_.failpoints.lookup(action.request.release().name())) {
    host_.release(action.request.release().name());  // the daemons were told, too
    reply.mutable_done();
  } else {
    set_error(say::no_such_failpoint(action.request.release().name(), setup_.failpoints.names()),
              reply);
  }
  clients_.send(action.client, reply, {});
}

void HeadProgram::reply_status(core::ReplyStatus action) {
  auto* status = action.reply.mutable_status();
  status->set_pid(static_cast<std::uint32_t>(getpid()));
  status->set_uri(setup_.info.uri);
  const auto source = supply_->source();
  status->set_source(source.text);
  status->set_source_left_ms(source.left_ms);
  counters_.gauge("tree.repairs")
      .set(static_cast<std::int64_t>(core_.overlay().membership().repairs()));
  counters_.gauge("log.dropped_lines").set(static_cast<std::int64_t>(log_dropped_lines()));
  counters_.gauge("link.refused").set(static_cast<std::int64_t>(links_.refused()));
  counters_.gauge("client.refused").set(static_cast<std::int64_t>(clients_.refused()));
  const auto& changes = core_.elastic().counts();
  counters_.gauge("elastic.grows").set(static_cast<std::int64_t>(changes.grows));
  counters_.gauge("elastic.shrinks").set(static_cast<std::int64_t>(changes.shrinks));
  counters_.gauge("elastic.rollbacks").set(static_cast<std::int64_t>(changes.rollbacks));
  counters_.gauge("elastic.lease_warnings").set(static_cast<std::int64_t>(changes.lease_warnings));
  counters_.gauge("elastic.lease_ends").set(static_cast<std::int64_t>(changes.lease_ends));
  counters_.gauge("jobs.released").set(static_cast<std::int64_t>(core_.jobs().released()));
  counters_.gauge("jobs.given_up").set(static_cast<std::int64_t>(core_.jobs().given_up()));
  counters_.gauge("jobs.held").set(static_cast<std::int64_t>(core_.jobs().held()));
  counters_.gauge("jobs.submitted").set(static_cast<std::int64_t>(core_.jobs().submitted()));
  for (const auto& counter : counters_.snapshot()) {
    auto* row = status->add_counters();
    row->set_name(counter.name);
    row->set_value(static_cast<std::uint64_t>(counter.value));
  }
  clients_.send(action.client, action.reply, {});
}

// ---- what happens around the core ----

void HeadProgram::on_client_connected(ClientId /*client*/, std::uint32_t /*pid*/) {
  client_connections_.add();
}
void HeadProgram::on_client_message(ClientId client, wire::ClientRequest request, Bytes payload) {
  host_.post(core::ClientMessage{client, std::move(request), std::move(payload)});
}
void HeadProgram::on_client_gone(ClientId client) {
  host_.post(core::ClientGone{client});
}
void HeadProgram::on_client_refused(const std::string& text) {
  log_warning("a client was refused: " + text);
}

void HeadProgram::on_daemon_started(Rank rank, pid_t pid) {
  host_.post(core::DaemonStarted{rank, static_cast<std::uint32_t>(pid)});
}
void HeadProgram::on_daemon_launch_failed(Rank rank, std::string text) {
  host_.post(core::DaemonLaunchFailed{rank, std::move(text)});
}
void HeadProgram::on_daemon_exited(Rank rank, std::string text) {
  post_end_of(rank, core::DaemonExited{rank, std::move(text)});
}
// Perhaps with all its job, which the scheduler knows.
void HeadProgram::on_daemon_leaves(Rank rank) {
  const auto& nodes = core_.roster().nodes();
  const auto node = nodes.find(rank);
  if (node == nodes.end() || core_.roster().is_shutting_down()) return;
  supply_->daemon_ended(node->second.name, [] {});
}
// Its daemons are mostly known to be lost by then, and nobody knows why.
void HeadProgram::on_step_lost(const std::string& text) {
  if (!core_.roster().is_shutting_down()) log_warning(text);
}
// What a scheduler takes back it ends without a word to us: then it is no loss.
void HeadProgram::post_end_of(Rank rank, core::HeadEvent event) {
  const auto& nodes = core_.roster().nodes();
  const auto node = nodes.find(rank);
  const bool expected =
      node == nodes.end() || !core::is_up(node->second.state) || core_.roster().is_shutting_down();
  if (expected) return host_.post(std::move(event));
  supply_->daemon_ended(node->second.name, [this, event = std::move(event)] { host_.post(event); });
}
// On whoever debugs daemons nothing is lost that they say. In the background nobody sees standard
// error.
void HeadProgram::on_daemon_output(Rank rank, std::string_view text) {
  const auto& nodes = core_.roster().nodes();
  const auto node = nodes.find(rank);
  if (!setup_.options.daemonize || node == nodes.end()) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    return;
  }
  const std::string path = dvm_log_path(setup_.info.directory, node->second.name);
  const exec::UniqueFd log(
      open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!log.is_open() || write(log.get(), text.data(), text.size()) < 0) {
    log_warning(system_error("cannot write " + path, errno).message);
  }
}
void HeadProgram::on_warden_lost(std::string text) {
  log_error("the warden of the local nodes was lost: " + text);
  // Nobody is left to report the daemons' ends; they were told to end by losing their parent.
  std::vector<Rank> ranks;
  for (const auto& [rank, node] : core_.roster().nodes()) {
    if (places_.of(node.name).host.empty()) ranks.push_back(rank);
  }
  for (const Rank rank : ranks) host_.post(core::DaemonExited{rank, "its warden was lost"});
  host_.post(core::EndRequested{"the warden of the local nodes was lost"});
}

void HeadProgram::wait_for_signals() {
  signals_.async_wait([this](std::error_code error, int number) {
    // A signal that came just before the wait was cancelled is reported all the same.
    if (error || exiting_) return;
    wait_for_signals();  // first: the event may end the program and cancel it
    host_.post(core::EndRequested{fmt::format("the head got {}", strsignal(number))});
  });
}

void HeadProgram::watch_keepalive() {
  if (!setup_.options.keepalive_fd) return;
  if (keepalive_ == nullptr) {
    keepalive_ =
        std::make_unique<asio::posix::stream_descriptor>(io_, *setup_.options.keepalive_fd);
  }
  keepalive_->async_read_some(
      asio::buffer(keepalive_byte_), [this](std::error_code error, std::size_t) {
        if (error == asio::error::operation_aborted) return;
        if (error) {
          host_.post(core::EndRequested{"whoever started the DVM went away"});
        } else {
          watch_keepalive();
        }
      });
}

// Whoever interrupts a start does not want the DVM.
void HeadProgram::watch_starter() {
  if (setup_.starter_fd < 0) return;
  const int own = fcntl(setup_.starter_fd, F_DUPFD_CLOEXEC, 0);
  if (own < 0) return;
  starter_ = std::make_unique<asio::posix::stream_descriptor>(io_, own);
  starter_->async_wait(asio::posix::descriptor_base::wait_error, [this](std::error_code error) {
    if (!error) host_.post(core::EndRequested{"the start of the DVM was interrupted"});
  });
}

// Without its description nobody finds the DVM. Cleaners of /tmp take what looks old.
void HeadProgram::watch_directory() {
  directory_timer_.expires_after(kDirectoryLook);
  directory_timer_.async_wait([this](std::error_code error) {
    if (error) return;
    watch_directory();
    if (setup_.directory.has_info()) return;
    auto written = setup_.directory.write_info(setup_.info);
    log_warning(written ? "dvm.json was gone and is restored" : written.error().message);
  });
}

// ---- the end ----

void HeadProgram::begin_exit(const core::Exit& action) {
  exiting_ = true;
  exit_status_ = action.status;
  log_note("errmgr", action.status == 0 ? 1 : 0,
           fmt::format("ending: {}", say::first_line(action.reason)));
  host_.stop();
  timers_.cancel_all();
  directory_timer_.cancel();
  links_.shutdown();
  // First of all: what the launcher does last ends all that we have started.
  supply_->finish([this] { launcher_.shutdown(); });
}

// Last of all the clients: who waits for the end is answered when everything is gone.
void HeadProgram::on_shutdown_done() {
  services_.stop();
  if (auto removed = setup_.directory.remove(); !removed) log_error(removed.error().message);
  clients_.shutdown();
  signals_.cancel();
  starter_.reset();
  if (keepalive_) keepalive_->cancel();
}

}  // namespace tide::head
