#include "launch/step_session.hpp"

#include <algorithm>
#include <csignal>

namespace tide::launch {
namespace {

using std::chrono::milliseconds;

// After the command has said that one failed: for what the task itself said, on another way.
constexpr auto kGather = milliseconds(300);
// For all daemons to end what they have started when their life line is cut.
constexpr auto kCutGrace = milliseconds(5000);
// For the command to end when nobody is left.
constexpr auto kLeaveGrace = milliseconds(1000);
// For the scheduler to kill what is left. One that waits for a machine that is gone takes longer
// than anybody should wait here.
constexpr std::uint32_t kKillGraceMs = 3000;
// For the last words of a daemon that did not find the head in time.
constexpr std::uint32_t kMostForLastWordsMs = 5000;

}  // namespace

StepSession::StepSession(asio::io_context& io, Settings settings,
                         const std::vector<StepMember>& members, Callbacks callbacks)
    : io_(io),
      settings_(std::move(settings)),
      callbacks_(std::move(callbacks)),
      book_(members),
      output_([this](std::string_view line) { heard(line); }),
      errors_([this](std::string_view line) { complained(line); }),
      limit_(io),
      gather_(io),
      cuts_(io) {}

StepSession::~StepSession() {
  if (!agent_) return;
  agent_->close_input();
  agent_->signal(SIGKILL);
}

Status StepSession::start(exec::ProcessSpawner& spawner, std::span<const std::string> argv,
                          const exec::Environment& environment, exec::Secret framed_blob) {
  const auto read = [weak = weak_from_this()](LineReader StepSession::* stream) {
    return [weak, stream](std::string_view text) {
      if (const auto self = weak.lock()) ((*self).*stream).feed(text);
    };
  };
  agent_ = std::make_shared<AgentProcess>(
      io_, AgentProcess::Helpers::kTidyUpAfterIt, settings_.watch_child,
      AgentProcess::Callbacks{.heard = read(&StepSession::output_),
                              .complained = read(&StepSession::errors_),
                              .ended = [weak = weak_from_this()](int wait_status) {
                                if (const auto self = weak.lock()) self->command_ended(wait_status);
                              }});
  if (auto started = agent_->start(spawner, argv, environment); !started) return started;
  agent_->write(std::move(framed_blob));
  arm(settings_.timeout_ms);
  return ok_status();
}

void StepSession::heard(std::string_view line) {
  const auto word = book_.heard(line);
  if (!word) return;
  if (word->what == StepWord::What::kGreets) return greeted(*word);
  if (word->what == StepWord::What::kJoined) return joined(*word);
  if (word->what == StepWord::What::kLeaves) return callbacks_.leaves(word->rank);
  StepEnd end;
  end.has_ended = true;
  end.wait_status = static_cast<int>(word->number);
  member_ended(word->rank, std::move(end));
}

void StepSession::greeted(const StepWord& word) {
  if (word.number != kRemoteProtocol) {
    StepEnd end;
    end.other_protocol = true;
    end.their_version = word.text;
    member_ended(word.rank, std::move(end));
  } else {
    callbacks_.greeted(word.rank, word.text);
  }
  if (all_greeted_ || ending_ || book_.count(StepBook::State::kSilent) > 0) return;
  all_greeted_ = true;
  arm(settings_.timeout_ms + std::min(settings_.timeout_ms, kMostForLastWordsMs));
}

void StepSession::joined(const StepWord& word) {
  if (!cut_.contains(word.rank)) callbacks_.joined(word.rank, static_cast<pid_t>(word.number));
  const auto waiting =
      book_.count(StepBook::State::kSilent) + book_.count(StepBook::State::kGreeted);
  if (waiting == 0 && !ending_) limit_.cancel();
}

void StepSession::complained(std::string_view line) {
  const bool waiting = book_.has_suspects();
  book_.complained(line);
  if (waiting || !book_.has_suspects()) return;
  gather_.expires_after(kGather);
  gather_.async_wait([weak = weak_from_this()](const asio::error_code& error) {
    const auto self = weak.lock();
    if (!error && self) self->tell_suspects();
  });
}

void StepSession::tell_suspects() {
  for (const Rank rank : book_.take_suspects()) member_ended(rank, {});
}

// What it says later is nobody's any more.
void StepSession::member_ended(Rank rank, StepEnd end) {
  const StepBook::State state = book_.state(rank);
  if (state == StepBook::State::kOver) return;
  end.joined = state == StepBook::State::kJoined;
  end.greeted = end.greeted || state == StepBook::State::kGreeted;
  end.words = end.with_step ? book_.words_at_the_end(rank) : book_.words_of(rank);
  book_.over(rank);
  if (end.has_ended) {
    leave_out(rank);
  } else if (!end.with_step) {
    cut(rank);
  }
  callbacks_.ended(rank, end);
}

// ---- its end ----

void StepSession::end(Rank rank) {
  if (!book_.contains(rank) || cut_.contains(rank) || ending_) return;
  if (book_.state(rank) != StepBook::State::kJoined) return cut(rank);
  to_cut_.push_back({rank, Clock::now() + milliseconds(settings_.orderly_end_ms)});
  if (to_cut_.size() == 1) cut_those_due();
}

void StepSession::cut_those_due() {
  while (!to_cut_.empty() && to_cut_.front().at <= Clock::now()) {
    const Rank rank = to_cut_.front().rank;
    to_cut_.pop_front();
    cut(rank);
  }
  if (to_cut_.empty()) return;
  cuts_.expires_at(to_cut_.front().at);
  cuts_.async_wait([weak = weak_from_this()](const asio::error_code& error) {
    const auto self = weak.lock();
    if (!error && self) self->cut_those_due();
  });
}

void StepSession::give_up(Rank rank) {
  if (!book_.contains(rank) || ending_) return;
  if (book_.state(rank) != StepBook::State::kJoined) return cut(rank);
  given_up_.insert(rank);
  leave_out(rank);
}

bool StepSession::may_order() const {
  return std::ranges::all_of(
      given_up_, [this](Rank rank) { return book_.state(rank) == StepBook::State::kOver; });
}

// The command brings an order to the tasks of all members, and srun kills them all when it can't
// bring it to one: one that is just ending, or whose machine has booted meanwhile. So there is none
// for who has ended by itself, and none while somebody does not answer.
void StepSession::cut(Rank rank) {
  if (cut_.contains(rank)) return;
  if (may_order()) agent_->write(exec::Secret(end_order_text(rank)));
  leave_out(rank);
}

// The others go on. When nobody is left who is to go on, the life line itself is cut.
void StepSession::leave_out(Rank rank) {
  if (cut_.emplace(rank, Clock::now()).second && cut_.size() == book_.size()) end();
}

void StepSession::end() {
  if (ending_) return;
  ending_ = true;
  cuts_.cancel();
  arm(patience_ms());
  if (book_.count(StepBook::State::kJoined) == 0) return agent_->close_input();
  // The end of the input is an order, too (see cut()), and who is just ending needs none.
  cuts_.expires_after(milliseconds(settings_.orderly_end_ms));
  cuts_.async_wait([weak = weak_from_this()](const asio::error_code& error) {
    const auto self = weak.lock();
    if (!error && self) self->agent_->close_input();
  });
}

// A machine that was lost long ago is waited for no more.
std::uint32_t StepSession::patience_ms() const {
  const auto now = Clock::now();
  auto until = now + kLeaveGrace;
  for (const Rank rank : book_.living()) {
    const auto cut = cut_.find(rank);
    const auto told =
        cut == cut_.end() ? now + milliseconds(settings_.orderly_end_ms) : cut->second;
    until = std::max(until, told + kCutGrace);
  }
  return static_cast<std::uint32_t>(std::chrono::ceil<milliseconds>(until - now).count());
}

void StepSession::terminate() {
  signal_ = signal_ == 0 ? SIGTERM : SIGKILL;
  agent_->signal(signal_);
  arm(kKillGraceMs);
}

// ---- time ----

void StepSession::arm(std::uint32_t after_ms) {
  limit_ms_ = after_ms;
  limit_.expires_after(milliseconds(after_ms));
  limit_.async_wait([weak = weak_from_this()](const asio::error_code& error) {
    const auto self = weak.lock();
    if (!error && self) self->overdue();
  });
}

void StepSession::overdue() {
  if (ending_) return terminate();
  if (!all_greeted_) {
    all_greeted_ = true;
    const auto waited_ms = limit_ms_;
    arm(settings_.timeout_ms + std::min(settings_.timeout_ms, kMostForLastWordsMs));
    return time_out(StepBook::State::kSilent, waited_ms);
  }
  time_out(StepBook::State::kGreeted, limit_ms_);
}

void StepSession::time_out(StepBook::State state, std::uint32_t waited_ms) {
  for (const Rank rank : book_.in_state(state)) {
    StepEnd end;
    end.timed_out = true;
    end.waited_ms = waited_ms;
    member_ended(rank, std::move(end));
  }
}

void StepSession::command_ended(int wait_status) {
  const auto self = shared_from_this();  // whoever is told may drop us
  output_.finish();
  errors_.finish();
  ending_ = true;
  for (asio::steady_timer* timer : {&limit_, &gather_, &cuts_}) timer->cancel();
  for (const Rank rank : book_.living()) {
    StepEnd end;
    end.with_step = true;
    end.wait_status = wait_status;
    member_ended(rank, std::move(end));
  }
  callbacks_.over();
}

}  // namespace tide::launch
