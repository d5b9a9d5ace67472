#include "core/local_requests.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/message_limit.hpp"
#include "core/proc_names.hpp"
#include "core/service_status.hpp"

namespace tide::core {

namespace {
constexpr std::size_t kOutputPiece = 64UL << 10U;
}  // namespace

// ---- what the head answers ----

// What spawns a job goes out again in its launch, with more than it came with.
bool LocalRequests::fits(const ServiceAsked& event) const {
  const std::size_t bytes = event.request.ByteSizeLong() + event.data.size();
  return bytes <= (event.request.has_spawn() ? limit_ / 2 : limit_);
}

void LocalRequests::handle(const ServiceAsked& event) {
  if (event.request.has_log()) return log(event);
  if (!fits(event)) {
    wire::ServiceAnswer answer;
    set_status(answer, too_large("the request"));
    out_.emplace_back(AnswerService{event.ticket, std::move(answer)});
    return;
  }
  const bool publishes_for_life =
      event.request.has_publish() && event.request.publish().persistence() == wire::PERSIST_PROC;
  if (publishes_for_life || event.request.has_allocation()) {
    missed_.insert(id_of(event.request.who()));
  }
  const std::uint32_t token = ++last_token_;
  requests_[token] = Asked{event.ticket, event.request.who()};
  const std::uint32_t timeout_ms = event.request.timeout_ms();
  if (timeout_ms > 0) out_.emplace_back(timers_.arm(TimerKind::kRequest, timeout_ms, token));
  wire::UpBody body;
  *body.mutable_service_request() = event.request;
  body.mutable_service_request()->set_token(token);
  head_.send_to_head(std::move(body), event.data);
}

void LocalRequests::log(const ServiceAsked& event) {
  const auto& log = event.request.log();
  wire::ServiceAnswer answer;
  std::string_view rest = log.text();
  do {
    const auto piece = rest.substr(0, kOutputPiece);
    rest.remove_prefix(piece.size());
    if (jobs_.write_for(event.request.who(), log.stream(), Bytes(std::string(piece)))) continue;
    set_status(answer, Error{ErrorCode::kNotFound, "only processes of a job have output"});
    break;
  } while (!rest.empty());
  out_.emplace_back(AnswerService{event.ticket, std::move(answer)});
}

void LocalRequests::on_proc_ended(const wire::ProcName& proc) {
  if (missed_.erase(id_of(proc)) == 0) return;
  wire::UpBody body;
  auto& request = *body.mutable_service_request();
  request.set_token(++last_token_);  // nobody waits for the answer
  *request.mutable_who() = proc;
  request.mutable_unpublish()->set_has_ended(true);
  head_.send_to_head(std::move(body), {});
}

void LocalRequests::on_answer(const wire::ServiceAnswer& answer) {
  const auto token = static_cast<std::uint32_t>(answer.token());
  const auto asked = requests_.extract(token);
  if (asked.empty()) return;
  timers_.cancel(TimerKind::kRequest, token);
  std::set<std::string> wanted;  // who spawned a job asks about it next
  if (answer.has_spawned() && status_of(answer)) wanted.insert(answer.spawned().nspace());
  guests_.introduce(wanted, [this, ticket = asked.mapped().ticket, answer](const Status&) {
    out_.emplace_back(AnswerService{ticket, answer});  // also when it is over already
  });
}

void LocalRequests::give_up(std::uint32_t token) {
  timers_.cancel(TimerKind::kRequest, token);
  wire::UpBody body;
  body.mutable_service_cancel()->set_token(token);
  head_.send_to_head(std::move(body), {});
}

// ---- what others have put ----

// The local server has to know the job before anybody asks about it: libpmix 4.2.2 locks itself up
// when it comes to know one that somebody waits for.
void LocalRequests::handle(const ModexAsked& event) {
  const std::string& nspace = event.whose.nspace();
  if (jobs_.launch_of(nspace) == nullptr && !guests_.knows(nspace)) {
    const Error unknown{ErrorCode::kNotFound, "nobody here has to do with this job"};
    out_.emplace_back(AnswerModex{event.ticket, unknown, {}});
    return;
  }
  const std::uint32_t token = ++last_token_;
  modexes_[token] = event.ticket;
  if (event.timeout_ms > 0) {
    out_.emplace_back(timers_.arm(TimerKind::kModex, event.timeout_ms, token));
  }
  ask_modex(token, event.whose);
}

void LocalRequests::ask_modex(std::uint32_t token, const wire::ProcName& whose) {
  wire::UpBody body;
  body.mutable_modex_request()->set_origin(self_.value());
  body.mutable_modex_request()->set_token(token);
  *body.mutable_modex_request()->mutable_whose() = whose;
  head_.send_to_head(std::move(body), {});
}

void LocalRequests::answer_modex(std::uint32_t token, const Status& status, const Bytes& data) {
  const auto ticket = modexes_.extract(token);
  if (ticket.empty()) return;
  timers_.cancel(TimerKind::kModex, token);
  out_.emplace_back(AnswerModex{ticket.mapped(), status, data});
}

void LocalRequests::on_modex_answer(const wire::ModexAnswer& answer, const Bytes& data) {
  answer_modex(static_cast<std::uint32_t>(answer.token()), status_of(answer), data);
}

void LocalRequests::on_modex_request(const wire::ModexRequest& request) {
  fetching_[++last_fetch_] = request;
  const auto* launch = jobs_.launch_of(request.whose().nspace());
  const bool known_there =
      launch != nullptr &&
      std::any_of(launch->hosts().begin(), launch->hosts().end(),
                  [&](const wire::HostedRanks& host) { return host.daemon() == request.origin(); });
  out_.emplace_back(FetchModex{last_fetch_, request.whose(), !known_there});
}

void LocalRequests::handle(const ModexFetched& event) {
  const auto fetching = fetching_.extract(event.fetch);
  if (fetching.empty()) return;
  wire::UpBody body;
  auto* answer = body.mutable_modex_answer();
  answer->set_origin(fetching.mapped().origin());
  answer->set_token(fetching.mapped().token());
  const bool fits = event.data.size() <= limit_;
  set_status(*answer, fits ? event.status : Status(too_large("what the process has put")));
  head_.send_to_head(std::move(body), fits ? event.data : Bytes());
}

// ---- ends ----

bool LocalRequests::handle_timer(TimerKind kind, std::uint32_t subject) {
  if (kind == TimerKind::kModex) {
    answer_modex(subject, timed_out("the modex"), {});
    return true;
  }
  if (kind != TimerKind::kRequest) return false;
  const auto asked = requests_.extract(subject);
  if (asked.empty()) return true;
  give_up(subject);
  wire::ServiceAnswer late;
  set_status(late, timed_out("the request"));
  out_.emplace_back(AnswerService{asked.mapped().ticket, std::move(late)});
  return true;
}

void LocalRequests::forget(const std::string& nspace) {
  std::erase_if(fetching_,
                [&](const auto& entry) { return entry.second.whose().nspace() == nspace; });
  std::erase_if(requests_, [&](const auto& entry) {
    if (entry.second.who.nspace() != nspace) return false;
    give_up(entry.first);
    return true;
  });
  std::erase_if(missed_, [&](const ProcId& one) { return one.first == nspace; });
}

void LocalRequests::forget_tool(const wire::ProcName& tool) {
  missed_.erase(id_of(tool));
  std::erase_if(requests_, [&](const auto& entry) {
    if (id_of(entry.second.who) != id_of(tool)) return false;
    give_up(entry.first);
    return true;
  });
}

}  // namespace tide::core
