#include "core/local_services.hpp"

namespace tide::core {

bool LocalServices::deliver(const wire::DownBody& body, const Bytes& payload) {
  switch (body.body_case()) {
    case wire::DownBody::kCollectiveResult:
      collectives_.on_result(body.collective_result(), payload);
      return true;
    case wire::DownBody::kModexRequest:
      requests_.on_modex_request(body.modex_request());
      return true;
    case wire::DownBody::kModexAnswer:
      requests_.on_modex_answer(body.modex_answer(), payload);
      return true;
    case wire::DownBody::kServiceAnswer:
      if (!guests_.on_answer(body.service_answer())) requests_.on_answer(body.service_answer());
      return true;
    case wire::DownBody::kEvent:
      tools_.on_event(body.event());
      return true;
    case wire::DownBody::kToolOutput:
      tools_.on_output(body.tool_output(), payload);
      return true;
    case wire::DownBody::kForgetGuest:
      guests_.forget(body.forget_guest().nspace());
      collectives_.forget(body.forget_guest().nspace());
      return true;
    default:
      return false;
  }
}

void LocalServices::forget(const std::string& nspace) {
  collectives_.forget(nspace);
  requests_.forget(nspace);
}

}  // namespace tide::core
