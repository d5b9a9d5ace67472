#include "say/watching.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace tide::say {

namespace {

// "2 of 4 nodes: v1, v2"
std::string some_of(Names nodes, std::size_t of, std::string_view one, std::string_view many) {
  return fmt::format("{} of {}: {}", nodes.size(), counted(of, one, many), name_list(nodes));
}

}  // namespace

std::string waits_for_dvm(Names nodes, std::size_t of) {
  if (nodes.empty()) {
    return fmt::format("the DVM to be ready: {} reported, and not yet all know of each other",
                       of == 1 ? "its node has" : fmt::format("all {} nodes have", of));
  }
  return "the DVM to be ready: nothing was heard yet of " + some_of(nodes, of, "node", "nodes");
}

std::string waits_for_suspects(Names nodes) {
  return fmt::format("nodes that are not heard of at the moment and will be back or lost: {}",
                     name_list(nodes));
}

std::string waits_for_files(Names nodes, bool removes) {
  if (removes) return "its files to be removed on " + some_of(nodes, nodes.size(), "node", "nodes");
  if (nodes.empty()) return "more of its files from the command that has them, or for its turn";
  return "its files to arrive on " + some_of(nodes, nodes.size(), "node", "nodes");
}

std::string waits_for_launch(Names nodes, std::size_t of) {
  return "the launch to be acknowledged by the daemons on " + some_of(nodes, of, "node", "nodes");
}

std::string waits_for_debugger(std::string_view breakpoint, std::uint32_t job) {
  return fmt::format(
      "its processes to end, which were stopped for a debugger ({}); tide kill {} --signal CONT "
      "lets all go on",
      one_line(breakpoint), job);
}

std::string waits_for_processes(Names nodes, std::size_t of) {
  return "its processes to end on " + some_of(nodes, of, "node", "nodes");
}

std::string waits_for_stacks(Names nodes, std::size_t of) {
  return "gdb to show the stacks of its processes, before they are ended, on " +
         some_of(nodes, of, "node", "nodes");
}

std::string waits_for_end(Names nodes, std::size_t of, int signal, std::uint64_t ago_ms) {
  const std::string where = some_of(nodes, of, "node", "nodes");
  if (signal == 0) return "its processes to end on " + where;
  const char* next = " (SIGKILL follows where it is not enough)";
  return fmt::format("its processes to end after {}, ordered {} ago{}, on {}", signal_name(signal),
                     human_duration_ms(ago_ms), signal_name(signal) == "SIGKILL" ? "" : next,
                     where);
}

std::string waits_for_output(Names nodes) {
  return fmt::format("the last of its output, from {}: {}", counted(nodes.size(), "node", "nodes"),
                     name_list(nodes));
}

std::string waits_for_reader(std::string_view reader, std::size_t streams, std::uint64_t bytes) {
  return fmt::format("{} to read its output: {} not taken, and {} can't be written to", reader,
                     counted(bytes, "byte is", "bytes are"), counted(streams, "stream", "streams"));
}

std::string waits_for_collective(std::string_view what, Names nodes,
                                 std::span<const std::uint32_t> ranks) {
  const std::string who = ranks.empty() ? "" : fmt::format(" (of this job: {})", rank_words(ranks));
  return fmt::format("all to enter {}: some have, not yet all on {}{}", what, name_list(nodes),
                     who);
}

std::string waits_for_spawned(std::uint32_t rank, std::uint32_t job) {
  return fmt::format("job {} to run, which its process {} spawns", job, rank);
}

std::string waits_for_head(std::string_view state) {
  return fmt::format("nothing but the head, which is about to take it on from {}", state);
}

std::string fact_pmix(std::size_t processes, std::size_t of, std::size_t nodes,
                      std::size_t of_nodes) {
  if (processes == of) return "every process has called PMIx_Init";
  if (processes == 0) return "on no node all its processes have called PMIx_Init";
  return fmt::format("PMIx_Init was called by all processes on {} of {}: {} of {}", nodes,
                     counted(of_nodes, "node", "nodes"), processes,
                     counted(of, "process", "processes"));
}

std::string fact_suspected(Names nodes) {
  return fmt::format("not heard of at the moment, so either back soon or lost: {}",
                     name_list(nodes));
}

std::string fact_children(Names jobs) {
  return fmt::format("has spawned {}, and its run lasts until they have ended: {}",
                     counted(jobs.size(), "job that is still there", "jobs that are still there"),
                     name_list(jobs));
}

std::string fact_parent(std::string_view nspace, std::uint32_t rank) {
  return fmt::format("was spawned by {}, process {}", one_line(nspace), rank);
}

std::string fact_timeout(std::uint64_t left_ms) {
  return fmt::format("will be ended in {}, by its --timeout", human_duration_ms(left_ms));
}

std::string fact_nobody_reads() {
  return "nobody reads its output: what it writes is dropped";
}

std::string fact_input_waits(std::size_t tools) {
  return fmt::format("its standard input is full, and {} for room in it",
                     counted(tools, "request of a tool waits", "requests of tools wait"));
}

Error job_never_submitted(std::string_view name, std::uint64_t submitted) {
  const std::string last =
      submitted == 0 ? "none was submitted yet" : fmt::format("the last one is {}", submitted);
  return not_found(fmt::format("there is no job {} in this DVM: {}{}tide jobs --all lists them",
                               one_line(name), last, kTry));
}

Error job_forgotten(std::string_view name) {
  return not_found(
      fmt::format("job {} has ended so long ago that nothing is kept of it{}a larger "
                  "tide_history_jobs for the next DVM",
                  one_line(name), kTry));
}

Error processes_forgotten(std::string_view name) {
  return not_found(fmt::format(
      "the processes of job {} are not kept any more: it has ended, and others after it{}tide "
      "explain {} says how it ended",
      one_line(name), kTry, one_line(name)));
}

std::string events_forgotten(std::uint64_t count) {
  return fmt::format("{} before this: more happened than is remembered",
                     counted(count, "event is lost", "events are lost"));
}

}  // namespace tide::say
