// What tide explain says: what a job waits for, and what is worth knowing of it. Each reads on
// after "waits for" or stands by itself; none is a guess.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/messages.hpp"

namespace tide::say {

using Names = std::span<const std::string>;

// ---- "waits for …"; `nodes`: those that it waits for, of so many ----
std::string waits_for_dvm(Names nodes, std::size_t of);
std::string waits_for_suspects(Names nodes);
// `nodes`: none, it is the client's or another job's turn.
std::string waits_for_files(Names nodes, bool removes);
std::string waits_for_launch(Names nodes, std::size_t of);
// Where they stopped; who lets them go on need not be this DVM.
std::string waits_for_debugger(std::string_view breakpoint, std::uint32_t job);
std::string waits_for_processes(Names nodes, std::size_t of);
// A signal was sent so long ago, and daemons follow it up.
std::string waits_for_stacks(Names nodes, std::size_t of);
std::string waits_for_end(Names nodes, std::size_t of, int signal, std::uint64_t ago_ms);
std::string waits_for_output(Names nodes);
// Streams have no credit left, because who reads has not taken so many bytes.
std::string waits_for_reader(std::string_view reader, std::size_t streams, std::uint64_t bytes);
// `ranks`: of the job on these nodes, those that may be missing.
std::string waits_for_collective(std::string_view what, Names nodes,
                                 std::span<const std::uint32_t> ranks);
std::string waits_for_spawned(std::uint32_t rank, std::uint32_t job);
std::string waits_for_head(std::string_view state);

// ---- what else is known ----
std::string fact_pmix(std::size_t processes, std::size_t of, std::size_t nodes,
                      std::size_t of_nodes);
std::string fact_suspected(Names nodes);
std::string fact_children(Names jobs);
std::string fact_parent(std::string_view nspace, std::uint32_t rank);
std::string fact_timeout(std::uint64_t left_ms);
std::string fact_nobody_reads();
std::string fact_input_waits(std::size_t tools);

// ---- there is no such job ----
Error job_never_submitted(std::string_view name, std::uint64_t submitted);
Error job_forgotten(std::string_view name);
Error processes_forgotten(std::string_view name);

// ---- tide events ----
std::string events_forgotten(std::uint64_t count);

}  // namespace tide::say
