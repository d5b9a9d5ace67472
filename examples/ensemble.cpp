// ensemble URI NODES SECONDS MEMBERS MEMBER LAST: a workflow with nodes of its own.
//
// A tool, that is a program which is no job of the DVM: it attaches to it from outside. It reserves
// NODES nodes for SECONDS seconds and runs the command MEMBER there MEMBERS times, as many at once
// as there are nodes; nobody else's jobs get there meanwhile. When it is warned that the time is
// nearly over and members are left, it asks for as much time again. At the end it starts the
// command LAST on the same nodes and goes home: the nodes are for LAST as long as that runs, and go
// back when it ends.
//
// Copy it: replace main() by your own workflow. What is said to the DVM is in part 2, what the DVM
// says in part 1; all of it is plain PMIx. README.md beside this file says how to build and run it,
// and shows what it prints.
#include <pmix_tool.h>
#include <tide/pmix_keys.h>  // names of PMIx that libpmix 4.2 does not have yet

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <mutex>
#include <string>
#include <vector>

namespace {

// No wait for nodes lasts longer. A DVM gives up a grow by itself after tide_grow_timeout, a minute
// if nobody has said otherwise, and tells so.
constexpr std::chrono::seconds kPatience{120};

pmix_proc_t me;

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "ensemble: %s\n", why.c_str());
  // What was reserved is not lost: it goes back as this tool ends, as asked for in reserve().
  std::exit(1);
}

void say(const std::string& text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

// Entries of a request. They own what they point to, and may have to live until the answer.
class Infos {
 public:
  void text(const char* key, const std::string& value) { add(key, value.c_str(), PMIX_STRING); }
  void number(const char* key, std::uint64_t value) { add(key, &value, PMIX_UINT64); }
  void seconds(const char* key, std::uint32_t value) { add(key, &value, PMIX_UINT32); }
  void byte(const char* key, std::uint8_t value) { add(key, &value, PMIX_UINT8); }
  void flag(const char* key, bool value) { add(key, &value, PMIX_BOOL); }

  Infos() = default;
  Infos(const Infos&) = delete;
  Infos& operator=(const Infos&) = delete;
  ~Infos() {
    for (auto& info : infos_) PMIX_INFO_DESTRUCT(&info);
  }

  pmix_info_t* data() { return infos_.data(); }
  size_t size() const { return infos_.size(); }

 private:
  void add(const char* key, const void* value, pmix_data_type_t type) {
    infos_.emplace_back();
    PMIX_INFO_LOAD(&infos_.back(), key, value, type);
  }
  std::vector<pmix_info_t> infos_;
};

// ---- 1. What the DVM says ----

// Events that somebody waits for.
struct News {
  pmix_status_t code = 0;
  std::string allocation;    // of changes: the id that the answer to the request had
  std::string nodes;         // of changes: "v3,v4", those that have come
  std::string job;           // of ends: the namespace of the job
  pmix_status_t status = 0;  // of ends: how it ended; of failed changes: the cause
  std::string text;          // of failed changes: the same in words
};

std::mutex mutex;
std::condition_variable told;
std::list<News> news;  // told, and not looked at yet

// What the handler of the warning has to know; it runs on another thread.
std::atomic<int> members_left{0};
std::uint32_t lease_s = 0;

std::string text_of(const pmix_value_t& value) {
  return value.type == PMIX_STRING && value.data.string != nullptr ? value.data.string : "";
}

News read_news(pmix_status_t code, const pmix_info_t* info, size_t count) {
  News out;
  out.code = code;
  for (size_t i = 0; i < count; ++i) {
    const pmix_value_t& value = info[i].value;
    if (PMIX_CHECK_KEY(&info[i], PMIX_ALLOC_ID)) out.allocation = text_of(value);
    if (PMIX_CHECK_KEY(&info[i], PMIX_ALLOC_NODE_LIST)) out.nodes = text_of(value);
    if (PMIX_CHECK_KEY(&info[i], PMIX_NSPACE)) out.job = text_of(value);
    if (PMIX_CHECK_KEY(&info[i], PMIX_JOB_TERM_STATUS)) out.status = value.data.status;
    if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_TEXT_MESSAGE)) out.text = text_of(value);
  }
  return out;
}

// Called by PMIx on a thread of its own, so it writes down what it is told and wakes who waits. It
// must not wait for anything.
void on_news(size_t, pmix_status_t code, const pmix_proc_t*, pmix_info_t* info, size_t count,
             pmix_info_t*, size_t, pmix_event_notification_cbfunc_fn_t done, void* done_data) {
  {
    const std::lock_guard<std::mutex> lock(mutex);
    news.push_back(read_news(code, info, count));
  }
  told.notify_all();
  // PMIx has to hear that we are done with it.
  if (done != nullptr) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, done_data);
}

void on_more_time(pmix_status_t status, pmix_info_t*, size_t, void* request,
                  pmix_release_cbfunc_t release, void* release_data) {
  say(status == PMIX_SUCCESS ? "got " + std::to_string(lease_s) + " s more"
                             : std::string("got no more time: ") + PMIx_Error_string(status));
  if (release != nullptr) release(release_data);
  delete static_cast<Infos*>(request);
}

// The time is nearly over. Only the process that asked for the warning gets it. In a handler a
// request must not be waited for, hence the form with a callback; the entries of the request live
// until that is called.
void on_warning(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t* info, size_t count,
                pmix_info_t*, size_t, pmix_event_notification_cbfunc_fn_t done, void* done_data) {
  std::string allocation;
  std::uint32_t left_s = 0;
  for (size_t i = 0; i < count; ++i) {
    if (PMIX_CHECK_KEY(&info[i], PMIX_ALLOC_ID)) allocation = text_of(info[i].value);
    if (PMIX_CHECK_KEY(&info[i], PMIX_TIME_REMAINING)) left_s = info[i].value.data.uint32;
  }
  say(allocation + " ends in " + std::to_string(left_s) + " s, " +
      std::to_string(members_left.load()) + " members are left");
  if (members_left.load() > 0) {
    auto* request = new Infos;
    request->text(PMIX_ALLOC_ID, allocation);
    request->seconds(PMIX_ALLOC_TIME, lease_s);  // so much more than what is left
    // A warning is given once, so the next one is asked for, too.
    request->seconds(PMIX_ALLOC_WARN_TIMEOUT, (lease_s + 1) / 2);
    const pmix_status_t status = PMIx_Allocation_request_nb(PMIX_ALLOC_EXTEND, request->data(),
                                                            request->size(), on_more_time, request);
    if (status != PMIX_SUCCESS) on_more_time(status, nullptr, 0, request, nullptr, nullptr);
  }
  if (done != nullptr) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, done_data);
}

// Without a callback the call comes back when the handler is registered, or with what is wrong as a
// negative number.
void listen(std::vector<pmix_status_t> codes, pmix_notification_fn_t handler) {
  const pmix_status_t status = PMIx_Register_event_handler(codes.data(), codes.size(), nullptr, 0,
                                                           handler, nullptr, nullptr);
  if (status < 0) give_up(std::string("no event handler: ") + PMIx_Error_string(status));
}

// The first one that is meant.
template <class Meant>
News wait_for(const Meant& meant, std::chrono::seconds limit, const char* what) {
  std::unique_lock<std::mutex> lock(mutex);
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (true) {
    for (auto one = news.begin(); one != news.end(); ++one) {
      if (!meant(*one)) continue;
      News found = *one;
      news.erase(one);
      return found;
    }
    if (told.wait_until(lock, deadline) == std::cv_status::timeout) {
      give_up(std::string("nobody says ") + what);
    }
  }
}

// ---- 2. What is said to the DVM ----

// "Give me so many nodes, for myself, for so long." The answer comes when the request is granted
// and does not wait for daemons; that the nodes can be used is told by an event.
std::string reserve(std::uint64_t nodes) {
  Infos request;
  request.number(PMIX_ALLOC_NUM_NODES, nodes);
  request.text(PMIX_ALLOC_REQ_ID, "ensemble");  // a name of our own, by which people know it, too
  request.seconds(PMIX_ALLOC_TIME, lease_s);
  request.seconds(PMIX_ALLOC_WARN_TIMEOUT, (lease_s + 1) / 2);  // half of it before its end
  // When this tool has ended the nodes are still for what it has started, and for what that has
  // started, and so on; they go back when the last of it ends. If nothing is left then at once.
  request.byte(PMIX_ALLOC_INHERITANCE, PMIX_ALLOC_INHERIT_CHILD);
  pmix_info_t* results = nullptr;
  size_t count = 0;
  std::string allocation;
  const pmix_status_t status =
      PMIx_Allocation_request(PMIX_ALLOC_NEW, request.data(), request.size(), &results, &count);
  if (status != PMIX_SUCCESS) give_up(std::string("no nodes: ") + PMIx_Error_string(status));
  for (size_t i = 0; i < count; ++i) {
    if (PMIX_CHECK_KEY(&results[i], PMIX_ALLOC_ID)) allocation = text_of(results[i].value);
  }
  if (results != nullptr) PMIX_INFO_FREE(results, count);
  // Exactly one of the two comes.
  const News end = wait_for(
      [&](const News& one) {
        const bool change = one.code == PMIX_DVM_IS_READY || one.code == PMIX_ERR_DVM_MOD;
        return change && one.allocation == allocation;
      },
      kPatience, "what became of the nodes");
  if (end.code != PMIX_DVM_IS_READY) give_up("no nodes: " + end.text);
  say("reserved " + end.nodes + " as " + allocation);
  return allocation;
}

void append(char*** list, const std::string& text) {
  pmix_status_t status = PMIX_SUCCESS;
  PMIX_ARGV_APPEND(status, *list, text.c_str());
  if (status != PMIX_SUCCESS) give_up("no memory");
}

// One process that runs a command, on a node of the allocation and on no other. Returns the
// namespace of the job, which is its name from now on.
std::string start(const std::string& command, const std::string& number,
                  const std::string& allocation, bool outlives_us) {
  pmix_app_t app;
  PMIX_APP_CONSTRUCT(&app);
  append(&app.argv, "sh");
  append(&app.argv, "-c");
  append(&app.argv, command);
  append(&app.env, "MEMBER=" + number);
  app.cmd = strdup("/bin/sh");  // PMIX_APP_DESTRUCT frees it
  app.maxprocs = 1;
  Infos job;
  // Without it the job would be one of the default session, which does not see our nodes.
  job.text(PMIX_SPAWN_TARGET, allocation);
  job.text(PMIX_MAPBY, "node");
  job.flag(PMIX_FWD_STDOUT, true);  // libpmix writes it to our own output
  job.flag(PMIX_FWD_STDERR, true);
  job.flag(PMIX_NOTIFY_COMPLETION, true);  // so that we hear PMIX_EVENT_JOB_END
  // What a tool has started ends with it, unless it is said that it does not.
  if (outlives_us) job.flag(PMIX_NOHUP, true);
  pmix_nspace_t nspace;
  const pmix_status_t status = PMIx_Spawn(job.data(), job.size(), &app, 1, nspace);
  PMIX_APP_DESTRUCT(&app);
  if (status != PMIX_SUCCESS) {
    give_up("can't start '" + command + "': " + PMIx_Error_string(status));
  }
  return nspace;
}

// ---- 3. The workflow ----

// As many members at once as there are nodes. Returns whether all ended well.
bool run_members(const std::string& command, int count, std::uint64_t at_once,
                 const std::string& allocation) {
  std::list<std::string> running;
  bool all_well = true;
  for (int started = 0; members_left > 0;) {
    while (started < count && running.size() < at_once) {
      ++started;
      running.push_back(start(command, std::to_string(started), allocation, false));
    }
    // Of the DVM itself, too, if that ends: its namespace is none of our jobs'.
    const News end = wait_for([](const News& one) { return one.code == PMIX_EVENT_JOB_END; },
                              std::chrono::hours(24), "that a member has ended");
    const auto before = running.size();
    running.remove(end.job);
    if (running.size() == before) give_up("the DVM has ended");
    --members_left;
    if (end.status != PMIX_SUCCESS) {
      all_well = false;
      say("a member failed: " + std::string(PMIx_Error_string(end.status)));
    }
  }
  return all_well;
}

void attach(const char* uri) {
  Infos how;
  how.text(PMIX_SERVER_URI, uri);
  const pmix_status_t status = PMIx_tool_init(&me, how.data(), how.size());
  if (status != PMIX_SUCCESS) {
    give_up(std::string("can't attach to ") + uri + ": " + PMIx_Error_string(status));
  }
}

std::uint32_t number_of(const char* text) {
  const long number = std::strtol(text, nullptr, 10);
  if (number < 1 || number > 100'000) give_up(std::string("no such number: ") + text);
  return static_cast<std::uint32_t>(number);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) give_up("URI NODES SECONDS MEMBERS MEMBER LAST are needed; see README.md");
  const std::uint32_t nodes = number_of(argv[2]);
  lease_s = number_of(argv[3]);
  const auto members = static_cast<int>(number_of(argv[4]));
  attach(argv[1]);
  // Before anything is asked for, so that nothing is missed.
  listen({PMIX_DVM_IS_READY, PMIX_ERR_DVM_MOD}, on_news);
  listen({PMIX_EVENT_JOB_END}, on_news);
  listen({PMIX_ALLOC_TIMEOUT_WARNING}, on_warning);
  members_left = members;  // also when the warning comes before the first of them has started
  const std::string allocation = reserve(nodes);
  const bool all_well = run_members(argv[5], members, nodes, allocation);
  say("all " + std::to_string(members) + " members have ended");
  const std::string last = start(argv[6], "last", allocation, true);
  say(allocation + " is left to " + last);
  PMIx_tool_finalize();
  return all_well ? 0 : 1;
}
