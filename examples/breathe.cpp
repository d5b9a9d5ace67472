// breathe [NODES…]: an MPI program that breathes.
//
// For each number on its command line it has a burst of work to do. It asks the DVM for so many
// nodes more, starts a worker on each when they are there, computes with all processes, old and
// new, lets the workers end, gives the nodes back, and goes on to the next burst. Where nodes can't
// be had it says why and does the work with the processes that it has.
//
// Copy it: replace compute() by your own work. What talks to the DVM is plain PMIx, in part 1; what
// starts and ends workers is plain MPI, in part 2. README.md beside this file says how to build and
// run it, and shows what it prints.
#define OMPI_SKIP_MPICXX 1  // of MPI the C interface is enough
#include <mpi.h>
#include <pmix.h>
#include <tide/pmix_keys.h>  // names of PMIx that libpmix 4.2 does not have yet

#include <array>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

// No wait lasts longer. A DVM gives up a grow by itself after tide_grow_timeout, a minute if nobody
// has said otherwise, and tells so.
constexpr std::chrono::seconds kPatience{120};

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "breathe: %s\n", why.c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

// ---- 1. Talking to the DVM ----
// Only rank 0 does this: whoever asks is the one who is told how it ended.

// How a change of the DVM's size has ended, as an event tells it.
struct Outcome {
  bool done = false;        // PMIX_DVM_IS_READY; else PMIX_ERR_DVM_MOD, and all is as it was
  std::string allocation;   // which change: the id that the answer to the request had
  std::string nodes;        // "v3,v4": those that have come, or have gone
  pmix_status_t cause = 0;  // why not
  std::string text;         // the same in words
};

std::mutex mutex;
std::condition_variable told;
std::list<Outcome> outcomes;  // told, and not looked at yet

std::string text_of(const pmix_value_t& value) {
  return value.type == PMIX_STRING && value.data.string != nullptr ? value.data.string : "";
}

// Called by PMIx on a thread of its own, so it writes down what it is told and wakes who waits. It
// must not call MPI, nor wait for anything.
void on_event(size_t, pmix_status_t code, const pmix_proc_t*, pmix_info_t* info, size_t count,
              pmix_info_t*, size_t, pmix_event_notification_cbfunc_fn_t done, void* done_data) {
  Outcome outcome;
  outcome.done = code == PMIX_DVM_IS_READY;
  for (size_t i = 0; i < count; ++i) {
    const pmix_value_t& value = info[i].value;
    if (PMIX_CHECK_KEY(&info[i], PMIX_ALLOC_ID)) outcome.allocation = text_of(value);
    if (PMIX_CHECK_KEY(&info[i], PMIX_ALLOC_NODE_LIST)) outcome.nodes = text_of(value);
    if (PMIX_CHECK_KEY(&info[i], PMIX_JOB_TERM_STATUS)) outcome.cause = value.data.status;
    if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_TEXT_MESSAGE)) outcome.text = text_of(value);
  }
  {
    const std::lock_guard<std::mutex> lock(mutex);
    outcomes.push_back(outcome);
  }
  told.notify_all();
  // PMIx has to hear that we are done with it.
  if (done != nullptr) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, done_data);
}

// Both codes, in one handler. Without a callback the call comes back when it is registered, or with
// what is wrong as a negative number.
void listen() {
  std::array<pmix_status_t, 2> codes = {PMIX_DVM_IS_READY, PMIX_ERR_DVM_MOD};
  const pmix_status_t handler = PMIx_Register_event_handler(codes.data(), codes.size(), nullptr, 0,
                                                            on_event, nullptr, nullptr);
  if (handler < 0) give_up(std::string("no event handler: ") + PMIx_Error_string(handler));
}

// The event about this allocation. Each request that has begun something gets exactly one.
Outcome wait_for_outcome(const std::string& allocation) {
  std::unique_lock<std::mutex> lock(mutex);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (true) {
    for (auto one = outcomes.begin(); one != outcomes.end(); ++one) {
      if (one->allocation != allocation) continue;
      Outcome found = *one;
      outcomes.erase(one);
      return found;
    }
    if (told.wait_until(lock, deadline) == std::cv_status::timeout) {
      give_up("nobody says what became of " + allocation);
    }
  }
}

// The first answer, which comes when the request is granted and does not wait for daemons.
struct Answer {
  pmix_status_t status = PMIX_SUCCESS;  // anything else: refused, nothing has happened
  std::string allocation;               // the name of the nodes from now on, "a1"
  bool complete = false;                // nothing is left to be done, no event follows
};

Answer request(pmix_alloc_directive_t directive, pmix_info_t* info, size_t count) {
  pmix_info_t* results = nullptr;
  size_t result_count = 0;
  Answer answer;
  answer.status = PMIx_Allocation_request(directive, info, count, &results, &result_count);
  for (size_t i = 0; i < result_count; ++i) {
    if (PMIX_CHECK_KEY(&results[i], PMIX_ALLOC_ID)) answer.allocation = text_of(results[i].value);
    if (PMIX_CHECK_KEY(&results[i], TIDE_ALLOC_COMPLETE)) {
      answer.complete = results[i].value.data.flag;
    }
  }
  if (results != nullptr) PMIX_INFO_FREE(results, result_count);
  return answer;
}

// "Give me so many nodes", which everybody may use: jobs of others run there, too. Without
// PMIX_ALLOC_SHARE they would be reserved.
Answer ask_for(std::uint64_t nodes) {
  const bool share = true;
  std::array<pmix_info_t, 2> info{};
  PMIX_INFO_LOAD(&info[0], PMIX_ALLOC_NUM_NODES, &nodes, PMIX_UINT64);
  PMIX_INFO_LOAD(&info[1], PMIX_ALLOC_SHARE, &share, PMIX_BOOL);
  return request(PMIX_ALLOC_NEW, info.data(), info.size());
}

// "Take back what came under this name."
Answer give_back(const std::string& allocation) {
  pmix_info_t info{};
  PMIX_INFO_LOAD(&info, PMIX_ALLOC_ID, allocation.c_str(), PMIX_STRING);
  const Answer answer = request(PMIX_ALLOC_RELEASE, &info, 1);
  PMIX_INFO_DESTRUCT(&info);
  return answer;
}

// Whether a job of this name is still there, by the list of all.
bool is_running(const std::string& job) {
  pmix_query_t query;
  pmix_info_t* results = nullptr;
  size_t count = 0;
  pmix_status_t status = PMIX_SUCCESS;
  PMIX_QUERY_CONSTRUCT(&query);
  PMIX_ARGV_APPEND(status, query.keys, PMIX_QUERY_NAMESPACES);
  if (status == PMIX_SUCCESS) status = PMIx_Query_info(&query, 1, &results, &count);
  std::string jobs = ",";
  for (size_t i = 0; i < count; ++i) jobs += text_of(results[i].value) + ",";
  if (results != nullptr) PMIX_INFO_FREE(results, count);
  PMIX_QUERY_DESTRUCT(&query);
  return status == PMIX_SUCCESS && jobs.find("," + job + ",") != std::string::npos;
}

// Nodes are given back when nobody uses them any more: processes that are still there would be told
// to end, and counted as lost. MPI does not say when spawned processes have ended; the DVM does.
void wait_for_end_of(const std::string& job) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (is_running(job)) {
    if (std::chrono::steady_clock::now() > deadline) give_up("the workers do not end");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

// ---- 2. Workers ----

// Who takes part in a burst; of fixed size, so that MPI can gather it.
struct Member {
  std::array<char, PMIX_MAX_NSLEN + 1> job{};
  std::array<char, 256> node{};
};

// This process. MPI_Init has called PMIx_Init already; calling it again is cheap and tells who we
// are. PMIx_Finalize has to be called as often.
Member introduce() {
  Member me;
  pmix_proc_t name;
  pmix_value_t* node = nullptr;
  const pmix_status_t status = PMIx_Init(&name, nullptr, 0);
  if (status != PMIX_SUCCESS) give_up("this has to run in a DVM: prun ./breathe");
  std::snprintf(me.job.data(), me.job.size(), "%s", name.nspace);
  if (PMIx_Get(&name, PMIX_HOSTNAME, nullptr, 0, &node) == PMIX_SUCCESS) {
    std::snprintf(me.node.data(), me.node.size(), "%s", text_of(*node).c_str());
    PMIX_VALUE_RELEASE(node);
  }
  return me;
}

// One more process of this program on each of these nodes ("v3,v4"), started by all of us together.
// "v3:1,v4:1" says one each, also where a node has more slots. If it fails MPI ends the program.
MPI_Comm start_workers(char* program, const std::string& nodes) {
  std::string places;
  int count = 0;
  for (const char c : nodes + ",") {
    if (c == ',') places += ":1";
    count += c == ',' ? 1 : 0;
    places += c;
  }
  places.pop_back();
  MPI_Info where = MPI_INFO_NULL;
  MPI_Comm workers = MPI_COMM_NULL;
  MPI_Info_create(&where);
  MPI_Info_set(where, "host", places.c_str());
  MPI_Comm_spawn(program, MPI_ARGV_NULL, count, where, 0, MPI_COMM_WORLD, &workers,
                 MPI_ERRCODES_IGNORE);
  MPI_Info_free(&where);
  return workers;
}

// The work: pi as the area below 4 / (1 + x²) from 0 to 1, in so many strips. Every process takes
// every size-th of them; rank 0 gets the sum.
double compute(MPI_Comm all, std::int64_t strips) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &size);
  MPI_Bcast(&strips, 1, MPI_INT64_T, 0, all);  // workers hear here how much there is to do
  const double width = 1.0 / static_cast<double>(strips);
  double area = 0;
  for (std::int64_t i = rank; i < strips; i += size) {
    const double x = (static_cast<double>(i) + 0.5) * width;
    area += width * 4 / (1 + x * x);
  }
  double sum = 0;
  MPI_Reduce(&area, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, all);
  return sum;
}

struct Result {
  double pi = 0;
  std::vector<Member> members;  // at rank 0: all who took part
};

// What all processes do in a burst, the old ones (`strips` from rank 0) and the new ones.
Result take_part(MPI_Comm all, const Member& me, std::int64_t strips) {
  int size = 1;
  MPI_Comm_size(all, &size);
  Result result;
  result.members.resize(static_cast<std::size_t>(size));
  MPI_Gather(&me, sizeof me, MPI_BYTE, result.members.data(), sizeof me, MPI_BYTE, 0, all);
  result.pi = compute(all, strips);
  return result;
}

// A worker does its part of one burst and ends.
void work(MPI_Comm parents, const Member& me) {
  MPI_Comm all = MPI_COMM_NULL;
  MPI_Intercomm_merge(parents, 1, &all);
  take_part(all, me, 0);
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&parents);
}

// ---- 3. A burst ----

// Rank 0: gets the nodes, if they can be had.
Outcome breathe_in(int burst, std::uint64_t nodes) {
  std::printf("burst %d: asks for %llu more %s\n", burst, static_cast<unsigned long long>(nodes),
              nodes == 1 ? "node" : "nodes");
  std::fflush(stdout);
  const Answer answer = ask_for(nodes);
  if (answer.status != PMIX_SUCCESS) {
    std::printf("burst %d: refused: %s\n", burst, PMIx_Error_string(answer.status));
    return {};
  }
  std::printf("burst %d: granted as %s\n", burst, answer.allocation.c_str());
  std::fflush(stdout);
  const Outcome outcome = wait_for_outcome(answer.allocation);
  if (outcome.done) {
    std::printf("burst %d: can use %s\n", burst, outcome.nodes.c_str());
  } else {
    std::printf("burst %d: failed with %s: %s\n", burst, PMIx_Error_string(outcome.cause),
                outcome.text.c_str());
  }
  return outcome;
}

// Rank 0: gives them back.
void breathe_out(int burst, const std::string& allocation, const std::string& workers) {
  wait_for_end_of(workers);
  const Answer answer = give_back(allocation);
  if (answer.status != PMIX_SUCCESS) {
    std::printf("burst %d: can't give %s back: %s\n", burst, allocation.c_str(),
                PMIx_Error_string(answer.status));
    return;
  }
  if (answer.complete) return;  // they were lost meanwhile: nothing is left to go
  const Outcome outcome = wait_for_outcome(answer.allocation);
  std::printf("burst %d: %s %s\n", burst, outcome.done ? "gave back" : "could not give back",
              outcome.done ? outcome.nodes.c_str() : outcome.text.c_str());
}

// Rank 0: says what came out, and whether it is right.
bool report(int burst, const Result& result) {
  std::map<std::string, int> places;
  for (const Member& member : result.members) ++places[member.node.data()];
  std::string where;
  for (const auto& [node, processes] : places) {
    where += " " + node + (processes > 1 ? ":" + std::to_string(processes) : "");
  }
  const double error = std::fabs(result.pi - std::acos(-1.0));
  const bool right = error < 1e-9;
  std::printf("burst %d: %zu processes on%s: pi = %.10f, %s\n", burst, result.members.size(),
              where.c_str(), result.pi, right ? "right" : "WRONG");
  return right;
}

// All ranks of the program, together. Returns at rank 0 whether the result is right.
bool do_burst(char* program, const Member& me, int rank, int burst, std::uint64_t nodes) {
  const auto strips = static_cast<std::int64_t>(4'000'000 * (nodes + 1));
  Outcome outcome;
  if (rank == 0) outcome = breathe_in(burst, nodes);
  // Everybody has to know what only rank 0 was told: on which nodes workers start.
  std::string names = outcome.done ? outcome.nodes : "";
  int length = static_cast<int>(names.size());
  MPI_Bcast(&length, 1, MPI_INT, 0, MPI_COMM_WORLD);
  names.resize(static_cast<std::size_t>(length));
  MPI_Bcast(names.data(), length, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (names.empty()) {  // with what we have
    const Result result = take_part(MPI_COMM_WORLD, me, strips);
    return rank != 0 || report(burst, result);
  }
  MPI_Comm workers = start_workers(program, names);
  MPI_Comm all = MPI_COMM_NULL;  // one communicator of both; we are first, so rank 0 stays rank 0
  MPI_Intercomm_merge(workers, 0, &all);
  const Result result = take_part(all, me, strips);
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&workers);
  if (rank != 0) return true;
  const bool right = report(burst, result);
  std::fflush(stdout);
  breathe_out(burst, outcome.allocation, result.members.back().job.data());
  std::fflush(stdout);
  return right;
}

std::vector<std::uint64_t> bursts_of(int argc, char** argv) {
  std::vector<std::uint64_t> bursts;
  for (int i = 1; i < argc; ++i) {
    const long nodes = std::strtol(argv[i], nullptr, 10);
    if (nodes < 1 || nodes > 100'000) give_up(std::string("no number of nodes: ") + argv[i]);
    bursts.push_back(static_cast<std::uint64_t>(nodes));
  }
  if (bursts.empty()) bursts = {2, 3, 1};
  return bursts;
}

}  // namespace

int main(int argc, char** argv) {
  int rank = 0;
  bool right = true;
  MPI_Comm parents = MPI_COMM_NULL;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_get_parent(&parents);
  const Member me = introduce();
  if (parents != MPI_COMM_NULL) {
    work(parents, me);
  } else {
    if (rank == 0) listen();
    int burst = 0;
    for (const std::uint64_t nodes : bursts_of(argc, argv)) {
      right = do_burst(argv[0], me, rank, ++burst, nodes) && right;
    }
  }
  PMIx_Finalize(nullptr, 0);
  MPI_Finalize();
  return right ? 0 : 1;
}
