// Between libpmix's thread and ours: what it asks becomes a call of the Handler on the io_context,
// what we answer goes back to the one who waits.
#pragma once

#include <pmix_server.h>

#include <asio/io_context.hpp>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "pmix/local_counts.hpp"
#include "pmix/local_waiters.hpp"
#include "pmix/server.hpp"
#include "pmix/tool_door.hpp"

namespace tide::pmix {

// Who waits inside libpmix for an answer of ours.
struct Waiter {
  struct Operation {
    pmix_op_cbfunc_t call = nullptr;
    void* data = nullptr;
  };
  struct Modex {
    pmix_modex_cbfunc_t call = nullptr;
    void* data = nullptr;
  };
  // Everything else: turns the answer into what libpmix wants to be called with. Runs on libpmix's
  // thread, but for a Tool, and must not call functions of libpmix.
  using Service = std::function<void(pmix_status_t status, const wire::ServiceAnswer& answer)>;
  using Collective =
      std::function<void(pmix_status_t status, const std::string& data, std::uint64_t context)>;
  using Tool = std::function<void(pmix_status_t status, const ProcName& name)>;
  std::variant<Operation, Modex, Service, Collective, Tool> whom;
  std::vector<std::string> nspaces;  // the jobs that it has to do with
  // Of a collective: nobody is answered when all of these are gone.
  std::shared_ptr<const LocalWaiters::Group> here = nullptr;
};

class Bridge : public std::enable_shared_from_this<Bridge> {
 public:
  // Called on the io_context when libpmix has done something for us.
  using Then = std::function<void(pmix_status_t status, std::string data)>;

  Bridge(asio::io_context& io, Handler& handler) : io_(io), handler_(&handler) {}

  // The functions that libpmix calls have no place for a pointer to us, so there is one for all.
  // False if there was one before: libpmix 4.2.2 ends the program when it is started again.
  bool install();
  // Null when there is none: libpmix is not started, or is being stopped.
  static std::shared_ptr<Bridge> current();

  // ---- any thread ----
  // Calls on the io_context, unless the bridge is closed then.
  void post(std::function<void(Handler&)> call);
  // Nothing when the bridge is closed. What is opened is answered, by close() at the latest.
  std::optional<std::uint64_t> open_ticket(Waiter waiter);
  void operation_done(const void* number, pmix_status_t status, std::string data);
  ToolDoor& door() { return door_; }
  LocalWaiters& local_waiters() { return local_waiters_; }
  LocalCounts& local_counts() { return local_counts_; }

  // ---- the io_context's thread ----
  void answer(std::uint64_t ticket, pmix_status_t status, std::string data);
  void answer_service(std::uint64_t ticket, pmix_status_t status,
                      const wire::ServiceAnswer& answer);
  void answer_collective(std::uint64_t ticket, pmix_status_t status, const std::string& data,
                         std::uint64_t context);
  void answer_tool(std::uint64_t ticket, pmix_status_t status, const ProcName& name);
  // Lets `start` begin something that ends in operation_done() with the pointer it is given. What
  // fails at once is told to `then`, which may be null, like what fails later.
  void begin(const std::function<pmix_status_t(void* number)>& start, Then then);
  void fail_tickets_of(const std::string& nspace, pmix_status_t status);
  // No call of the handler or of a Then follows. libpmix may still call us, and gets errors.
  void close();
  // Ends libpmix's thread: nothing calls us after that. Clients can bring it into a state in which
  // it does not end; we go on all the same.
  static void finalize_library();

 private:
  std::optional<Waiter> take(std::uint64_t ticket);
  void finish(std::uint64_t number, pmix_status_t status, std::string data);

  asio::io_context& io_;
  Handler* handler_;
  ToolDoor door_;
  LocalWaiters local_waiters_;
  LocalCounts local_counts_{tell_library_count};
  std::atomic<bool> closed_ = false;
  std::mutex mutex_;  // for the tickets
  std::uint64_t last_ticket_ = 0;
  std::map<std::uint64_t, Waiter> tickets_;
  std::uint64_t last_operation_ = 0;
  std::map<std::uint64_t, Then> operations_;  // touched by the io_context's thread only
};

}  // namespace tide::pmix
