#include "core/publish_board.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/message_limit.hpp"

namespace tide::core {

PublishBoard::Reader PublishBoard::reader_of(Rank daemon, const wire::ServiceRequest& request) {
  return Reader{daemon, request.who(), request.user(), request.group()};
}

// Whether `other` is among those that `one` means by the range.
bool PublishBoard::within(wire::Range range, const Reader& one, const Reader& other,
                          const wire::ProcNames& audience) {
  switch (range) {
    case wire::RANGE_MANAGER:
      return false;
    case wire::RANGE_LOCAL:
      return one.daemon == other.daemon;
    case wire::RANGE_NAMESPACE:
      return one.name.nspace() == other.name.nspace();
    case wire::RANGE_PROC_LOCAL:
      return id_of(one.name) == id_of(other.name);
    case wire::RANGE_CUSTOM:
      return std::ranges::any_of(audience.names(), [&](const wire::ProcName& name) {
        return name.nspace() == other.name.nspace() &&
               (name.rank() == kAllRanks || name.rank() == other.name.rank());
      });
    default:
      return true;
  }
}

bool PublishBoard::permitted(const Entry& entry, const Reader& reader) {
  const auto& terms = entry.terms;
  if (terms.users().empty() && terms.groups().empty()) return true;
  return reader.user == entry.publisher.user ||
         std::ranges::find(terms.users(), reader.user) != terms.users().end() ||
         std::ranges::find(terms.groups(), reader.group) != terms.groups().end();
}

bool PublishBoard::may_see(const Entry& entry, const Reader& reader) {
  return permitted(entry, reader) &&
         within(entry.terms.range(), entry.publisher, reader, entry.terms.audience());
}

// Two of one name may live side by side only where nobody sees both.
bool PublishBoard::taken(const Entry& entry) const {
  const auto [first, last] = entries_.equal_range(entry.key);
  return std::any_of(first, last, [&](const auto& item) {
    const Entry& other = item.second;
    if (other.terms.range() != entry.terms.range()) return false;
    if (entry.terms.range() == wire::RANGE_CUSTOM) {
      return id_of(other.publisher.name) == id_of(entry.publisher.name);
    }
    return within(entry.terms.range(), other.publisher, entry.publisher, {});
  });
}

Status PublishBoard::publish(Rank daemon, const wire::ServiceRequest& request) {
  std::vector<Entry> fresh;
  for (const auto& datum : request.publish().data()) {
    Entry entry{datum.key(), datum.value(), reader_of(daemon, request), request.publish()};
    entry.terms.clear_data();
    const bool twice =
        std::ranges::any_of(fresh, [&](const Entry& other) { return other.key == entry.key; });
    if (twice || taken(entry)) {
      return Error{ErrorCode::kAlreadyExists, "\"" + entry.key + "\" is published already"};
    }
    fresh.push_back(std::move(entry));
  }
  for (auto& entry : fresh) entries_.emplace(entry.key, std::move(entry));
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    at = try_lookup(at->first, at->second) ? waiting_.erase(at) : std::next(at);
  }
  return ok_status();
}

Status PublishBoard::unpublish(const wire::ServiceRequest& request) {
  const auto& wish = request.unpublish();
  std::erase_if(entries_, [&](const auto& item) {
    const Entry& entry = item.second;
    if (id_of(entry.publisher.name) != id_of(request.who())) return false;
    if (wish.has_ended()) return entry.terms.persistence() == wire::PERSIST_PROC;
    if (wish.range() != wire::RANGE_UNDEFINED && wish.range() != entry.terms.range()) return false;
    return wish.keys().empty() || std::ranges::find(wish.keys(), entry.key) != wish.keys().end();
  });
  return ok_status();
}

void PublishBoard::lookup(const Requester& from, const wire::ServiceRequest& request) {
  if (!try_lookup(from, request)) waiting_.emplace(from, request);
}

bool PublishBoard::try_lookup(const Requester& from, const wire::ServiceRequest& request) {
  const Reader reader = reader_of(from.daemon, request);
  const auto& wish = request.lookup();
  std::vector<Entries::iterator> found;
  for (const auto& key : wish.keys()) {
    const auto [first, last] = entries_.equal_range(key);
    const auto seen = std::find_if(first, last, [&](const auto& item) {
      return may_see(item.second, reader) &&
             within(wish.range(), reader, item.second.publisher, {});
    });
    if (seen != last && std::ranges::find(found, seen) == found.end()) found.push_back(seen);
  }
  if (found.size() < wish.wait_for()) return false;
  wire::Found out;
  for (const auto& item : found) {
    const Entry& entry = item->second;
    auto* datum = out.add_data();
    datum->set_key(entry.key);
    datum->set_value(entry.value);
    *datum->mutable_publisher() = entry.publisher.name;
  }
  if (out.ByteSizeLong() > limit_) {  // what nobody gets is not read
    answer_(from, too_large("what was found"), {});
    return true;
  }
  for (const auto& item : found) {
    if (item->second.terms.persistence() == wire::PERSIST_FIRST_READ) entries_.erase(item);
  }
  const Status status = found.empty()
                            ? Status(Error{ErrorCode::kNotFound, "nothing is published there"})
                            : ok_status();
  answer_(from, status, out);
  return true;
}

void PublishBoard::on_nspace_gone(const std::string& nspace) {
  std::erase_if(entries_, [&](const auto& item) {
    const Entry& entry = item.second;
    return entry.publisher.name.nspace() == nspace &&
           (entry.terms.persistence() == wire::PERSIST_PROC ||
            entry.terms.persistence() == wire::PERSIST_APP);
  });
  std::erase_if(waiting_, [&](const auto& item) { return item.second.who().nspace() == nspace; });
}

void PublishBoard::on_daemon_lost(Rank daemon) {
  std::erase_if(waiting_, [&](const auto& item) { return item.first.daemon == daemon; });
}

}  // namespace tide::core
