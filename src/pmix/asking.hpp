// For the upcalls by which processes and tools ask something of the DVM.
#pragma once

#include <pmix_common.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pmix/bridge.hpp"
#include "pmix/server.hpp"

namespace tide::pmix {

inline constexpr pmix_status_t kStopping = PMIX_ERR_UNREACH;

wire::ProcName to_wire(const ProcName& name);
ProcName from_wire(const wire::ProcName& name);

// Nothing if one of them is no process, or there are some and no array.
std::optional<wire::ProcNames> wire_names(const pmix_proc_t* procs, std::size_t count);

// Posts the request with a ticket; `answer` hears what becomes of it, once. PMIX_SUCCESS, or
// kStopping and nothing happens.
pmix_status_t ask(const ProcName& who, wire::ServiceRequest request, std::string data,
                  Waiter::Service answer);

// An answer that is a status alone.
Waiter::Service status_to(pmix_op_cbfunc_t done, void* done_data);
Waiter::Service status_to(pmix_info_cbfunc_t done, void* done_data);

// Several answers as one: `done` hears the first that is no success, when all are there.
class Gathered {
 public:
  Gathered(std::size_t count, std::function<void(pmix_status_t)> done)
      : open_(count), done_(std::move(done)) {}

  // Any thread.
  void step(pmix_status_t status);

 private:
  std::mutex mutex_;
  std::size_t open_;
  pmix_status_t status_ = PMIX_SUCCESS;
  std::function<void(pmix_status_t)> done_;
};
Waiter::Service step_of(std::shared_ptr<Gathered> all);

}  // namespace tide::pmix
