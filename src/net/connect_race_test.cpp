#include "net/connect_race.hpp"

#include <gmock/gmock.h>

#include <asio/ip/tcp.hpp>
#include <chrono>

#include "net/test_support.hpp"

namespace tide::net::test {
namespace {

using asio::ip::tcp;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

constexpr seconds kLong{60};  // nothing here may last until this is over

class ConnectRaceTest : public testing::Test {
 public:
  void start(std::vector<wire::Endpoint> endpoints, milliseconds timeout) {
    began = Clock::now();
    connecting->start(std::move(endpoints), timeout, [this](RaceResult told) {
      EXPECT_FALSE(result) << "told twice";
      took = Clock::now() - began;
      result = std::move(told);
    });
    EXPECT_FALSE(result) << "told from inside the call";
  }
  void race(std::vector<wire::Endpoint> endpoints, milliseconds timeout) {
    start(std::move(endpoints), timeout);
    ASSERT_TRUE(run_until(io, [&] { return result.has_value(); }));
  }
  // Sockets that are still connecting and timers would keep the loop going.
  void expect_nothing_is_left() {
    io.restart();
    io.run_for(seconds(10));
    EXPECT_TRUE(io.stopped());
  }
  [[nodiscard]] wire::Endpoint door() const {
    return endpoint("127.0.0.1", acceptor.local_endpoint().port());
  }
  [[nodiscard]] std::uint32_t winner() const { return result->winner ? result->winner->port() : 0; }
  [[nodiscard]] std::vector<std::uint32_t> others() const {
    std::vector<std::uint32_t> ports;
    for (const auto& other : result->others) ports.push_back(other.port());
    return ports;
  }

  asio::io_context io;
  tcp::acceptor acceptor{io, {asio::ip::address_v4::loopback(), 0}};
  std::shared_ptr<ConnectRace> connecting = std::make_shared<ConnectRace>(io);
  std::optional<RaceResult> result;
  Clock::time_point began;
  Clock::duration took{};
};

TEST_F(ConnectRaceTest, TheFirstThatAnswersWins) {
  const ClosedPort closed;
  race({door(), closed.where()}, kLong);
  EXPECT_EQ(winner(), door().port());
  EXPECT_EQ(result->socket->remote_endpoint().port(), door().port());
  EXPECT_THAT(result->failures, testing::IsEmpty());
  EXPECT_THAT(others(), testing::ElementsAre(closed.where().port()));
  expect_nothing_is_left();
}

TEST_F(ConnectRaceTest, ADeadEndpointCostsItsHeadStartOnly) {
  const HangingPort dead;
  race({dead.where(), door()}, kLong);
  EXPECT_EQ(winner(), door().port());
  EXPECT_GE(took, ConnectRace::kHeadStart);
  EXPECT_LT(took, seconds(5));
  EXPECT_THAT(result->failures, testing::IsEmpty());
  EXPECT_THAT(others(), testing::ElementsAre(dead.where().port()));
  expect_nothing_is_left();
}

TEST_F(ConnectRaceTest, AFailureStartsTheNextAtOnce) {
  const ClosedPort closed;
  std::vector<wire::Endpoint> endpoints(20, closed.where());
  endpoints.push_back(door());
  race(endpoints, kLong);
  EXPECT_EQ(winner(), door().port());
  EXPECT_EQ(result->failures.size(), 20U);
  EXPECT_LT(took, 10 * ConnectRace::kHeadStart);
}

TEST_F(ConnectRaceTest, OneThatFailsLateLeavesItsPlaceToTheNext) {
  const HangingPort dead;
  const ClosedPort closed;
  race({dead.where(), closed.where(), dead.where(), closed.where(), door()}, kLong);
  EXPECT_EQ(winner(), door().port());
  EXPECT_EQ(result->failures.size(), 2U);
  EXPECT_EQ(result->others.size(), 2U);
  expect_nothing_is_left();
}

TEST_F(ConnectRaceTest, WhenAllFailEachHasItsOwnError) {
  const ClosedPort closed;
  const HangingPort dead;
  race({dead.where(), closed.where(), endpoint("nowhere", 1)}, milliseconds(100));
  EXPECT_FALSE(result->winner);
  EXPECT_FALSE(result->socket);
  EXPECT_THAT(result->others, testing::IsEmpty());
  ASSERT_EQ(result->failures.size(), 3U);
  EXPECT_EQ(result->failures[0].endpoint.port(), closed.where().port());
  EXPECT_EQ(result->failures[0].error, asio::error::connection_refused);
  EXPECT_EQ(result->failures[1].endpoint.address(), "nowhere");
  EXPECT_EQ(result->failures[2].endpoint.port(), dead.where().port());
  EXPECT_EQ(result->failures[2].error, asio::error::timed_out);
}

TEST_F(ConnectRaceTest, TheDeadlineIsThatOfAllTogether) {
  const HangingPort dead;
  race({dead.where(), dead.where(), dead.where(), dead.where()}, milliseconds(500));
  EXPECT_FALSE(result->winner);
  EXPECT_EQ(result->failures.size(), 4U);
  EXPECT_GE(took, milliseconds(500));
  EXPECT_LT(took, milliseconds(1500)) << "one after the other takes two seconds";
}

TEST_F(ConnectRaceTest, EvenTheLastOfManyIsTriedBeforeTheDeadline) {
  const HangingPort dead;
  std::vector<wire::Endpoint> endpoints(20, dead.where());
  endpoints.push_back(door());
  race(endpoints, seconds(2));
  EXPECT_EQ(winner(), door().port());
}

TEST_F(ConnectRaceTest, CancelledItIsSilentAndLeavesNothing) {
  const HangingPort dead;
  start({dead.where(), dead.where()}, kLong);
  io.run_one_for(milliseconds(1));
  connecting->cancel();
  expect_nothing_is_left();
  EXPECT_FALSE(result);
}

}  // namespace
}  // namespace tide::net::test
