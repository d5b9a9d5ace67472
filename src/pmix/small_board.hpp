// What the head does with published data, for tests in which there is no head.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pmix/server.hpp"
#include "pmix/test_support.hpp"

namespace tide::pmix::testing {

class SmallBoard {
 public:
  // Answers and takes away what can be answered; lookups that wait stay, and other requests.
  void serve(Server& server, std::vector<RecordingHandler::Request>& requests) {
    std::erase_if(requests, [&](const RecordingHandler::Request& open) {
      wire::ServiceAnswer answer;
      const bool decided = decide(open.request, answer);
      if (decided) server.answer(open.ticket, answer);
      return decided;
    });
  }

 private:
  bool decide(const wire::ServiceRequest& request, wire::ServiceAnswer& answer) {
    if (request.has_publish()) return publish(request.publish(), answer), true;
    if (request.has_lookup()) return look_up(request.lookup(), answer);
    if (!request.has_unpublish()) return false;
    for (const auto& key : request.unpublish().keys()) data_.erase(key);
    if (request.unpublish().keys().empty()) data_.clear();
    return true;
  }
  void publish(const wire::Publish& publish, wire::ServiceAnswer& answer) {
    for (const auto& datum : publish.data()) {
      if (data_.contains(datum.key())) {
        answer.set_error_code(static_cast<std::uint32_t>(ErrorCode::kAlreadyExists));
      }
    }
    if (answer.error_code() > 0) return;
    for (const auto& datum : publish.data()) data_[datum.key()] = datum;
  }
  bool look_up(const wire::Lookup& lookup, wire::ServiceAnswer& answer) const {
    for (const auto& key : lookup.keys()) {
      const auto datum = data_.find(key);
      if (datum != data_.end()) *answer.mutable_found()->add_data() = datum->second;
    }
    return answer.found().data_size() >= static_cast<int>(lookup.wait_for());
  }

  std::map<std::string, wire::Datum> data_;
};

}  // namespace tide::pmix::testing
