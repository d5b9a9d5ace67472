// Accepts connections on one socket and lets them wait on the doorstep until they speak: a caller
// that never says a word costs a descriptor and nothing else, and is the first to go when room is
// short. When nobody may come in the kernel keeps the callers in its queue. Running out of
// descriptors is such a case, never an end: one is kept back for whoever comes to put things right.
#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <asio/basic_socket_acceptor.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace tide::net {

// How a caller came in.
enum class Admission : std::uint8_t {
  kOrdinary,
  kReserve,  // with the descriptor that was kept back, the last there is
};

// Why a caller was sent away from the doorstep.
enum class Dismissal : std::uint8_t {
  kSilent,   // it said nothing in time
  kCrowded,  // others came, and it had said nothing yet
};

struct DoorstepLimits {
  std::size_t max_waiting = 1024;    // callers that have not been let in
  std::uint32_t patience_ms = 5000;  // for the first byte
  bool keep_reserve = false;         // hold a descriptor back
};

template <class Protocol>
class Listener : public std::enable_shared_from_this<Listener<Protocol>> {
 public:
  using Socket = typename Protocol::socket;
  using Acceptor = asio::basic_socket_acceptor<Protocol>;
  using Clock = std::chrono::steady_clock;

  class Handler {
   public:
    virtual ~Handler() = default;
    // A caller that has begun to speak.
    virtual void on_accepted(Socket socket, Admission admission) = 0;
    virtual void on_dismissed(Socket socket, Dismissal why) = 0;
    virtual void on_accept_trouble(const std::string& text) = 0;
    // Asked before each on_accepted: 0 to go on, else how long to wait before asking again.
    virtual std::uint32_t admit_delay_ms() = 0;
  };

  Listener(asio::io_context& io, Acceptor acceptor, DoorstepLimits limits, Handler& handler)
      : acceptor_(std::move(acceptor)),
        accept_pause_(io),
        admit_pause_(io),
        expiry_(io),
        limits_(limits),
        handler_(&handler) {}
  ~Listener() { release_reserve(); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  void start() {
    keep_reserve();
    next();
  }

  // The reason to wait may be over: ask again now.
  void wake() { admit_pause_.cancel(); }

  // Nothing is called any more; who waits is sent away without a word.
  void close() {
    handler_ = nullptr;
    accept_pause_.cancel();
    admit_pause_.cancel();
    expiry_.cancel();
    silent_.clear();
    ready_.clear();
    release_reserve();
    asio::error_code ignored;
    acceptor_.close(ignored);
  }

 private:
  struct Caller {
    Socket socket;
    Admission admission;
    Clock::time_point since;
  };

  static constexpr std::chrono::milliseconds kTroublePause{100};
  // Whoever has something to say says it at once; that may take a busy machine a moment.
  static constexpr std::chrono::milliseconds kCrowdedGrace{20};
  static constexpr std::chrono::milliseconds kRetry{2};

  // ---- accepting ----

  void next() {
    if (handler_ == nullptr) return;
    keep_reserve();
    if (silent_.size() + ready_.size() >= limits_.max_waiting && !make_room())
      return wait(kCrowdedGrace);
    acceptor_.async_accept(
        [self = this->shared_from_this()](asio::error_code error, Socket socket) {
          self->accepted(error, std::move(socket));
        });
  }

  void wait(std::chrono::milliseconds delay) {
    accept_pause_.expires_after(delay);
    accept_pause_.async_wait([self = this->shared_from_this()](asio::error_code) { self->next(); });
  }

  void accepted(asio::error_code error, Socket socket) {
    if (handler_ == nullptr) return;
    if (error == asio::error::connection_aborted) return next();  // it hung up in the queue
    if (error == asio::error::no_descriptors || error.value() == ENFILE) return out_of_room(error);
    if (error) return trouble(error);
    receive(std::move(socket), Admission::kOrdinary);
    next();
  }

  void trouble(asio::error_code error) {
    handler_->on_accept_trouble("accepting a connection: " + error.message());
    wait(kTroublePause);
  }

  void out_of_room(asio::error_code error) {
    if (make_room()) return wait(kRetry);
    if (!silent_.empty()) return wait(kCrowdedGrace);
    if (reserve_ < 0) return trouble(error);
    release_reserve();
    asio::error_code late;
    acceptor_.non_blocking(true, late);
    Socket socket = acceptor_.accept(late);
    if (late) {
      keep_reserve();
      return trouble(error);
    }
    handler_->on_accept_trouble("accepting a connection: " + error.message() +
                                "; the descriptor in reserve was used");
    receive(std::move(socket), Admission::kReserve);
    wait(kTroublePause);
  }

  void keep_reserve() {
    if (limits_.keep_reserve && reserve_ < 0) reserve_ = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  }
  void release_reserve() {
    if (reserve_ >= 0) ::close(std::exchange(reserve_, -1));
  }

  // ---- the doorstep ----

  void receive(Socket socket, Admission admission) {
    if (has_spoken(socket)) {
      ready_.push_back({std::move(socket), admission, Clock::now()});
      return admit();
    }
    const std::uint64_t id = ++last_id_;
    const auto at = silent_.emplace(id, Caller{std::move(socket), admission, Clock::now()}).first;
    at->second.socket.async_wait(Socket::wait_read,
                                 [weak = this->weak_from_this(), id](asio::error_code) {
                                   if (const auto self = weak.lock()) self->on_first_word(id);
                                 });
    if (silent_.size() == 1) watch_expiry();
  }

  static bool has_spoken(Socket& socket) {
    char first = 0;
    return ::recv(socket.native_handle(), &first, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
  }

  void on_first_word(std::uint64_t id) {
    const auto found = silent_.find(id);
    if (handler_ == nullptr || found == silent_.end()) return;
    Caller caller = std::move(found->second);
    silent_.erase(found);
    // Else it hung up without a word, as probes and port scans do.
    if (!has_spoken(caller.socket)) return;
    ready_.push_back(std::move(caller));
    admit();
  }

  void admit() {
    while (handler_ != nullptr && !ready_.empty() && !admit_waits_) {
      if (const std::uint32_t delay_ms = handler_->admit_delay_ms(); delay_ms > 0) {
        admit_waits_ = true;
        admit_pause_.expires_after(std::chrono::milliseconds(delay_ms));
        admit_pause_.async_wait([self = this->shared_from_this()](asio::error_code) {
          self->admit_waits_ = false;
          self->admit();
        });
        return;
      }
      Caller caller = std::move(ready_.front());
      ready_.pop_front();
      handler_->on_accepted(std::move(caller.socket), caller.admission);
    }
  }

  // Sends the caller away that has been silent longest; false when there is none to send.
  bool make_room() {
    if (silent_.empty() || Clock::now() - silent_.begin()->second.since < kCrowdedGrace)
      return false;
    dismiss_oldest(Dismissal::kCrowded);
    return true;
  }

  void dismiss_oldest(Dismissal why) {
    Caller caller = std::move(silent_.begin()->second);
    silent_.erase(silent_.begin());
    asio::error_code ignored;
    caller.socket.cancel(ignored);
    handler_->on_dismissed(std::move(caller.socket), why);
  }

  void watch_expiry() {
    expiry_.expires_at(silent_.begin()->second.since +
                       std::chrono::milliseconds(limits_.patience_ms));
    expiry_.async_wait([self = this->shared_from_this()](asio::error_code error) {
      if (!error) self->expire();
    });
  }

  void expire() {
    const auto before = Clock::now() - std::chrono::milliseconds(limits_.patience_ms);
    while (handler_ != nullptr && !silent_.empty() && silent_.begin()->second.since <= before)
      dismiss_oldest(Dismissal::kSilent);
    if (handler_ != nullptr && !silent_.empty()) watch_expiry();
  }

  Acceptor acceptor_;
  asio::steady_timer accept_pause_;
  asio::steady_timer admit_pause_;
  asio::steady_timer expiry_;  // of the oldest silent caller
  DoorstepLimits limits_;
  Handler* handler_;
  bool admit_waits_ = false;
  int reserve_ = -1;
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, Caller> silent_;  // oldest first
  std::deque<Caller> ready_;                // have spoken, and wait to be let in
};

}  // namespace tide::net
