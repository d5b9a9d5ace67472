#include "core/event_log.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tide::core {

namespace {

constexpr std::array kNames = {
    "dvm-starting",        "dvm-ready",           "dvm-failed",
    "dvm-ending",          "dvm-ended",           "node-up",
    "node-suspected",      "node-back",           "node-lost",
    "job-submitted",       "job-started",         "job-running",
    "job-registered",      "job-failing",         "job-ended",
    "tool-attached",       "tool-gone",           "node-left",
    "grow-begun",          "grow-done",           "grow-failed",
    "shrink-begun",        "shrink-done",         "shrink-failed",
    "change-phase",        "lease-warning",       "lease-extended",
    "lease-moved",         "lease-ended",         "return-failed",
    "request-queued",      "request-refused",     "allocation-made",
    "allocation-extended", "allocation-targeted", "allocation-ended",
};

constexpr std::uint64_t kEventsPerAnswer = 200;
constexpr std::size_t kDetailBytes = 400;  // of a command or reason

}  // namespace

const char* event_kind_name(EventKind kind) {
  return kNames.at(static_cast<std::size_t>(kind));
}

void EventLog::add(EventKind kind, wire::DvmEvent event) {
  event.set_number(++last_);
  event.set_at_ms(now_ms_);
  event.set_kind(event_kind_name(kind));
  if (event.detail().size() > kDetailBytes) {
    event.set_detail(event.detail().substr(0, kDetailBytes) + "…");
  }
  events_.push_back(std::move(event));
  if (events_.size() > remembered_) events_.pop_front();
}

void EventLog::add_of_dvm(EventKind kind, std::string_view detail) {
  wire::DvmEvent event;
  event.set_detail(std::string(detail));
  add(kind, std::move(event));
}

void EventLog::add_of_node(EventKind kind, const std::string& node, std::string_view detail) {
  wire::DvmEvent event;
  event.set_node(node);
  event.set_detail(std::string(detail));
  add(kind, std::move(event));
}

void EventLog::ask(ClientId client, std::uint32_t request, const wire::EventsQuery& query) {
  const Follower follower{request, std::min(query.after(), last_)};
  followers_.erase(client);
  if (!query.follow() || follower.after < last_) {
    answer(client, follower);
  } else {
    followers_.emplace(client, follower);
  }
}

void EventLog::tell() {
  std::erase_if(followers_, [this](const auto& entry) {
    if (entry.second.after >= last_) return false;
    answer(entry.first, entry.second);
    return true;
  });
}

void EventLog::answer(ClientId client, const Follower& follower) {
  wire::ClientReply reply;
  reply.set_request(follower.request);
  auto& body = *reply.mutable_events();
  const std::uint64_t forgotten = last_ - events_.size();  // the numbers up to this
  const std::uint64_t from = std::max(follower.after, forgotten);
  const std::uint64_t until = std::min(last_, from + kEventsPerAnswer);
  for (std::uint64_t number = from; number < until; ++number) {
    *body.add_events() = events_[number - forgotten];
  }
  body.set_dropped(from - follower.after);
  body.set_more(until < last_);
  body.set_now_ms(now_ms_);
  body.set_start_ms(start_ms_);
  out_.emplace_back(Reply{client, std::move(reply), {}});
}

}  // namespace tide::core
