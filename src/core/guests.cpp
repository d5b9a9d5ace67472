#include "core/guests.hpp"

#include <memory>
#include <utility>

#include "core/service_status.hpp"

namespace tide::core {

namespace {
// Tokens of ours are told from those of processes by this.
constexpr std::uint64_t kOurs = std::uint64_t{1} << 63U;
}  // namespace

void Guests::introduce(const std::set<std::string>& nspaces, const Then& then) {
  const auto party = std::make_shared<Party>();
  party->then = then;
  for (const auto& nspace : nspaces) {
    if (jobs_.launch_of(nspace) != nullptr) continue;
    const bool first = !guests_.contains(nspace);
    Guest& guest = guests_[nspace];
    if (guest.known) continue;
    guest.waiting.push_back(party);
    ++party->missing;
    if (first) ask(nspace);
  }
  if (party->missing == 0) then(ok_status());
}

void Guests::ask(const std::string& nspace) {
  const std::uint64_t token = kOurs | ++last_token_;
  asked_[token] = nspace;
  wire::UpBody body;
  body.mutable_service_request()->set_token(token);
  body.mutable_service_request()->mutable_job_info()->set_nspace(nspace);
  head_.send_to_head(std::move(body), {});
}

bool Guests::on_answer(const wire::ServiceAnswer& answer) {
  if ((answer.token() & kOurs) == 0) return false;
  const auto asked = asked_.extract(answer.token());
  if (asked.empty() || !guests_.contains(asked.mapped())) return true;
  if (jobs_.launch_of(asked.mapped()) != nullptr) {  // has come here meanwhile
    conclude(asked.mapped(), ok_status());
    guests_.erase(asked.mapped());
  } else if (const Status status = status_of(answer); !status || !answer.has_job()) {
    conclude(asked.mapped(), status ? Status(Error{ErrorCode::kProtocol, "no job"}) : status);
  } else {
    out_.emplace_back(RegisterGuest{std::make_shared<const wire::LaunchCommon>(answer.job())});
  }
  return true;
}

void Guests::handle(const GuestRegistered& event) {
  conclude(event.nspace, event.status);
}

void Guests::conclude(const std::string& nspace, const Status& status) {
  const auto found = guests_.find(nspace);
  if (found == guests_.end()) return;
  const auto waiting = std::exchange(found->second.waiting, {});
  if (status) {
    found->second.known = true;
  } else {
    guests_.erase(found);
  }
  for (const auto& party : waiting) {
    if (!status) party->status = status;
    if (--party->missing == 0) party->then(party->status);
  }
}

void Guests::forget(const std::string& nspace) {
  if (!guests_.contains(nspace)) return;
  out_.emplace_back(DeregisterGuest{nspace});
  conclude(nspace, Error{ErrorCode::kNotFound, "the job has ended"});
  guests_.erase(nspace);
}

}  // namespace tide::core
