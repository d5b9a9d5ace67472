#include "pmix/asking.hpp"

#include <utility>

#include "pmix/convert.hpp"

namespace tide::pmix {

wire::ProcName to_wire(const ProcName& name) {
  wire::ProcName made;
  made.set_nspace(name.nspace);
  made.set_rank(name.rank);
  return made;
}

ProcName from_wire(const wire::ProcName& name) {
  return {name.nspace(), name.rank()};
}

std::optional<wire::ProcNames> wire_names(const pmix_proc_t* procs, std::size_t count) {
  wire::ProcNames names;
  if (procs == nullptr && count > 0) return std::nullopt;
  for (std::size_t index = 0; index < count; ++index) {
    const auto name = from_pmix(procs[index]);
    if (!name || name->nspace.empty()) return std::nullopt;
    *names.add_names() = to_wire(*name);
  }
  return names;
}

pmix_status_t ask(const ProcName& who, wire::ServiceRequest request, std::string data,
                  Waiter::Service answer) {
  const auto bridge = Bridge::current();
  if (!bridge) return kStopping;
  *request.mutable_who() = to_wire(who);
  const auto ticket = bridge->open_ticket({std::move(answer), {who.nspace}});
  if (!ticket) return kStopping;
  bridge->post([request = std::move(request), data = std::move(data),
                ticket = *ticket](Handler& handler) { handler.on_request(request, data, ticket); });
  return PMIX_SUCCESS;
}

Waiter::Service status_to(pmix_op_cbfunc_t done, void* done_data) {
  return [done, done_data](pmix_status_t status, const wire::ServiceAnswer&) {
    if (done != nullptr) done(status, done_data);
  };
}

Waiter::Service status_to(pmix_info_cbfunc_t done, void* done_data) {
  return [done, done_data](pmix_status_t status, const wire::ServiceAnswer&) {
    if (done != nullptr) done(status, nullptr, 0, done_data, nullptr, nullptr);
  };
}

void Gathered::step(pmix_status_t status) {
  {
    const std::lock_guard lock(mutex_);
    if (status_ == PMIX_SUCCESS) status_ = status;
    if (--open_ > 0) return;
  }
  done_(status_);
}

Waiter::Service step_of(std::shared_ptr<Gathered> all) {
  return [all = std::move(all)](pmix_status_t status, const wire::ServiceAnswer&) {
    all->step(status);
  };
}

}  // namespace tide::pmix
