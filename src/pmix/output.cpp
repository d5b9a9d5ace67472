#include "pmix/output.hpp"

#include <pmix_server.h>

#include <memory>
#include <utility>

#include "pmix/convert.hpp"
#include "pmix/info_list.hpp"
#include "pmix/upcalls.hpp"

namespace tide::pmix {
namespace {

// libpmix reads all of it until it calls back.
struct Delivery {
  pmix_proc_t source{};
  std::string data;
  pmix_byte_object_t bytes{};
  InfoArray end;  // says that nothing follows, if so
};

std::shared_ptr<Delivery> delivery_of(const ProcName& source, std::string data) {
  auto made = std::make_shared<Delivery>();
  made->source = to_pmix(source);
  made->data = std::move(data);
  made->bytes = {made->data.data(), made->data.size()};
  if (!made->data.empty()) return made;
  InfoList list;
  list.flag(PMIX_IOF_COMPLETE, true);
  if (auto end = list.finish()) made->end = std::move(end).value();
  return made;
}

}  // namespace

void Outputs::deliver(const ProcName& source, wire::Stream stream, std::string data,
                      std::function<void()> done) {
  if (!is_nspace(source.nspace)) {
    bridge_.post([done = std::move(done)](Handler&) { done(); });
    return;
  }
  const auto delivery = delivery_of(source, std::move(data));
  const pmix_iof_channel_t channel =
      stream == wire::STDERR ? PMIX_FWD_STDERR_CHANNEL : PMIX_FWD_STDOUT_CHANNEL;
  sending_.insert(++last_);
  bridge_.begin(
      [&](void* number) {
        return PMIx_server_IOF_deliver(&delivery->source, channel, &delivery->bytes,
                                       delivery->end.data(), delivery->end.size(), operation_done,
                                       number);
      },
      [this, delivery, number = last_, done = std::move(done)](pmix_status_t, const std::string&) {
        sent(number);
        done();
      });
}

void Outputs::when_sent(std::function<void()> then) {
  if (sending_.empty()) return then();
  waiting_.emplace_back(last_, std::move(then));
}

void Outputs::sent(std::uint64_t number) {
  sending_.erase(number);
  while (!waiting_.empty() && (sending_.empty() || waiting_.front().first < *sending_.begin())) {
    const auto then = std::move(waiting_.front().second);
    waiting_.pop_front();
    then();
  }
}

}  // namespace tide::pmix
