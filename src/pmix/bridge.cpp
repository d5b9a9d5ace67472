#include "pmix/bridge.hpp"

#include <algorithm>
#include <asio/post.hpp>
#include <chrono>
#include <cstdint>
#include <future>
#include <string_view>
#include <thread>
#include <utility>

namespace tide::pmix {
namespace {

// libpmix's thread never waits for us, so this is a matter of how busy the machine is; unless a
// client has confused it (docs/pmix.md).
constexpr auto kLongestGoodbye = std::chrono::seconds(5);

struct Place {
  std::mutex mutex;
  bool taken = false;
  std::weak_ptr<Bridge> bridge;
};

Place& place() {
  static Place one;
  return one;
}

void release_text(void* text) {
  delete static_cast<std::string*>(text);
}

// libpmix reads the data after this call, on its own thread, and then calls release_text.
void call(const Waiter::Modex& whom, pmix_status_t status, std::string data) {
  if (data.empty()) {
    whom.call(status, nullptr, 0, whom.data, nullptr, nullptr);
    return;
  }
  auto* text = new std::string(std::move(data));
  whom.call(status, text->data(), text->size(), whom.data, release_text, text);
}

void call(const Waiter::Operation& whom, pmix_status_t status, const std::string& /*data*/) {
  whom.call(status, whom.data);
}

void call(const Waiter::Service& whom, pmix_status_t status, const std::string& /*data*/) {
  whom(status, {});
}

void call(const Waiter::Collective& whom, pmix_status_t status, const std::string& data) {
  whom(status, data, 0);
}

void call(const Waiter::Tool& whom, pmix_status_t status, const std::string& /*data*/) {
  whom(status, {});
}

bool is_forgotten(const Waiter& waiter) {
  return waiter.here != nullptr && waiter.here->forgotten();
}

void call(const Waiter& waiter, pmix_status_t status, std::string data) {
  if (is_forgotten(waiter)) return;
  std::visit([&](const auto& whom) { call(whom, status, std::move(data)); }, waiter.whom);
}

void run_and_forget(pmix_status_t /*status*/, void* work) {
  const std::unique_ptr<std::function<void()>> owned(static_cast<std::function<void()>*>(work));
  (*owned)();
}

// The functions by which libpmix is answered put the reply into a queue of the client without a
// lock, which loses it when libpmix's thread does the same at that moment. So they are called
// there, by way of a request that does nothing.
void on_library_thread(std::function<void()> work) {
  pmix_proc_t nobody{};
  std::string_view("nobody").copy(nobody.nspace, PMIX_MAX_NSLEN);
  PMIx_server_deregister_client(&nobody, run_and_forget,
                                new std::function<void()>(std::move(work)));
}

// libpmix keeps a pointer for us. It gets a number instead, which can't dangle when libpmix calls
// back late, or leak when it never does.
void* as_pointer(std::uint64_t number) {
  return reinterpret_cast<void*>(number);  // NOLINT(performance-no-int-to-ptr): never followed
}

}  // namespace

bool Bridge::install() {
  Place& where = place();
  const std::lock_guard lock(where.mutex);
  if (std::exchange(where.taken, true)) return false;
  where.bridge = weak_from_this();
  return true;
}

std::shared_ptr<Bridge> Bridge::current() {
  Place& where = place();
  const std::lock_guard lock(where.mutex);
  auto bridge = where.bridge.lock();
  return bridge && !bridge->closed_ ? bridge : nullptr;
}

void Bridge::post(std::function<void(Handler&)> call) {
  asio::post(io_, [weak = weak_from_this(), call = std::move(call)] {
    const auto self = weak.lock();
    if (self && !self->closed_) call(*self->handler_);
  });
}

std::optional<std::uint64_t> Bridge::open_ticket(Waiter waiter) {
  const std::lock_guard lock(mutex_);
  if (closed_) return std::nullopt;
  tickets_.emplace(++last_ticket_, std::move(waiter));
  return last_ticket_;
}

std::optional<Waiter> Bridge::take(std::uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  auto node = tickets_.extract(ticket);
  if (!node) return std::nullopt;
  return std::move(node.mapped());
}

void Bridge::answer(std::uint64_t ticket, pmix_status_t status, std::string data) {
  auto waiter = take(ticket);
  if (!waiter) return;
  if (std::holds_alternative<Waiter::Tool>(waiter->whom)) return call(*waiter, status, {});
  on_library_thread([waiter = std::move(*waiter), status, data = std::move(data)]() mutable {
    call(waiter, status, std::move(data));
  });
}

void Bridge::answer_service(std::uint64_t ticket, pmix_status_t status,
                            const wire::ServiceAnswer& answer) {
  auto waiter = take(ticket);
  if (auto* whom = waiter ? std::get_if<Waiter::Service>(&waiter->whom) : nullptr) {
    on_library_thread([whom = std::move(*whom), status, answer] { whom(status, answer); });
  }
}

void Bridge::answer_collective(std::uint64_t ticket, pmix_status_t status, const std::string& data,
                               std::uint64_t context) {
  auto waiter = take(ticket);
  if (!waiter) return;
  on_library_thread([waiter = std::move(*waiter), status, data, context] {
    if (is_forgotten(waiter)) return;
    const auto* whom = std::get_if<Waiter::Collective>(&waiter.whom);
    whom != nullptr ? (*whom)(status, data, context) : call(waiter, status, data);  // else a fence
  });
}

void Bridge::answer_tool(std::uint64_t ticket, pmix_status_t status, const ProcName& name) {
  const auto waiter = take(ticket);
  if (const auto* whom = waiter ? std::get_if<Waiter::Tool>(&waiter->whom) : nullptr) {
    (*whom)(status, name);
  }
}

void Bridge::begin(const std::function<pmix_status_t(void* number)>& start, Then then) {
  const std::uint64_t number = ++last_operation_;
  operations_.emplace(number, std::move(then));
  const pmix_status_t status = start(as_pointer(number));
  if (status == PMIX_SUCCESS) return;
  operation_done(as_pointer(number), status, {});
}

void Bridge::operation_done(const void* number, pmix_status_t status, std::string data) {
  if (status == PMIX_OPERATION_SUCCEEDED) status = PMIX_SUCCESS;
  asio::post(io_, [weak = weak_from_this(), number = reinterpret_cast<std::uint64_t>(number),
                   status, data = std::move(data)]() mutable {
    if (const auto self = weak.lock()) self->finish(number, status, std::move(data));
  });
}

void Bridge::finish(std::uint64_t number, pmix_status_t status, std::string data) {
  auto node = operations_.extract(number);
  if (node && node.mapped() && !closed_) node.mapped()(status, std::move(data));
}

void Bridge::fail_tickets_of(const std::string& nspace, pmix_status_t status) {
  std::vector<std::uint64_t> concerned;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [ticket, waiter] : tickets_) {
      const auto& names = waiter.nspaces;
      if (std::find(names.begin(), names.end(), nspace) != names.end()) concerned.push_back(ticket);
    }
  }
  for (const std::uint64_t ticket : concerned) answer(ticket, status, {});
}

void Bridge::close() {
  local_counts_.close();
  std::map<std::uint64_t, Waiter> open;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    open.swap(tickets_);
  }
  if (open.empty()) return;
  const auto all_told = std::make_shared<std::promise<void>>();
  on_library_thread([all_told, open = std::move(open)] {
    for (const auto& [ticket, waiter] : open) call(waiter, PMIX_ERR_UNREACH, {});
    all_told->set_value();
  });
  all_told->get_future().wait_for(kLongestGoodbye);
}

void Bridge::finalize_library() {
  const auto ended = std::make_shared<std::promise<void>>();
  std::thread([ended] {
    PMIx_server_finalize();
    ended->set_value();
  }).detach();
  ended->get_future().wait_for(kLongestGoodbye);
}

}  // namespace tide::pmix
