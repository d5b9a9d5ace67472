// What processes and tools have published: who may see it, how long it is kept, and who waits for
// it. Values are opaque.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/proc_names.hpp"
#include "core/requester.hpp"

namespace tide::core {

class PublishBoard {
 public:
  using Answer = std::function<void(const Requester&, const Status&, const wire::Found&)>;

  PublishBoard(std::size_t message_limit, Answer answer)
      : limit_(message_limit), answer_(std::move(answer)) {}

  // All of it or, if one of the keys is taken, nothing. Answers those who waited for it.
  Status publish(Rank daemon, const wire::ServiceRequest& request);
  Status unpublish(const wire::ServiceRequest& request);
  // Answered now, or when as many as it waits for are there.
  void lookup(const Requester& from, const wire::ServiceRequest& request);
  void cancel(const Requester& from) { waiting_.erase(from); }

  // ---- ends of publishers and of readers ----
  void on_nspace_gone(const std::string& nspace);
  void on_daemon_lost(Rank daemon);

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] bool nobody_waits() const { return waiting_.empty(); }

 private:
  struct Reader {
    Rank daemon;
    wire::ProcName name;
    std::uint32_t user = 0;
    std::uint32_t group = 0;
  };
  struct Entry {
    std::string key;
    std::string value;
    Reader publisher;
    wire::Publish terms;  // without the data
  };
  using Entries = std::multimap<std::string, Entry>;  // by key

  static Reader reader_of(Rank daemon, const wire::ServiceRequest& request);
  static bool may_see(const Entry& entry, const Reader& reader);
  static bool permitted(const Entry& entry, const Reader& reader);
  static bool within(wire::Range range, const Reader& one, const Reader& other,
                     const wire::ProcNames& audience);
  [[nodiscard]] bool taken(const Entry& entry) const;
  bool try_lookup(const Requester& from, const wire::ServiceRequest& request);

  std::size_t limit_;  // of one message
  Answer answer_;
  Entries entries_;
  std::map<Requester, wire::ServiceRequest> waiting_;
};

}  // namespace tide::core
