#include "gateway/server/drain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

using std::chrono::milliseconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::StartsWith;

// A server in virtual time. Records what the drain does, and when.
class FakeServer : public Drainable {
 public:
  static constexpr Clock::duration kNever = std::chrono::hours(1);

  // When, after the begin of the drain, the last call ends by itself, the last refusal is sent, and the peers of all
  // connections have closed their side.
  Clock::duration calls_end = Clock::duration::zero();
  Clock::duration refusals_end = Clock::duration::zero();
  Clock::duration peers_end = Clock::duration::zero();
  // How long the calls need to end after EndCalls, if EndDiskWaits is called after that.
  Clock::duration calls_need = Clock::duration::zero();
  bool have_connections = true;

  std::vector<std::string> done() const { return done_; }
  Clock::duration elapsed() const { return now_ - start_; }

  Clock::time_point Now() override { return now_; }
  void Refuse(Clock::time_point last_words) override { Add(absl::StrCat("refuse, last words at ", At(last_words))); }
  bool WaitUntilNoCall(Clock::time_point deadline) override { return WaitUntil(calls_end, deadline); }
  void WaitUntilNoRefusal(Clock::time_point deadline) override { WaitUntil(refusals_end, deadline); }
  void EndCalls() override {
    Add("end calls");
    asked_ = elapsed();
  }
  void EndDiskWaits() override {
    if (calls_end > elapsed()) calls_end = std::min(calls_end, std::max(elapsed(), asked_ + calls_need));
  }
  bool HaveConnections() override { return have_connections; }
  void CloseIdleConnections() override {
    if (!std::exchange(closed_idle_, true)) Add("close idle connections");
  }
  void CloseAllConnections() override { Add("close all connections"); }
  void WaitForPeers(Clock::time_point deadline) override { WaitUntil(peers_end, deadline); }
  void Sleep(Clock::duration time) override { now_ += time; }

 private:
  int64_t At(Clock::time_point time) const { return std::chrono::duration_cast<milliseconds>(time - start_).count(); }
  void Add(const std::string& what) { done_.push_back(absl::StrCat(At(now_), ": ", what)); }
  bool WaitUntil(Clock::duration event, Clock::time_point deadline) {
    now_ = std::max(now_, std::min(start_ + event, deadline));
    return elapsed() >= event;
  }

  const Clock::time_point start_ = Clock::time_point(std::chrono::hours(1));
  Clock::time_point now_ = start_;
  Clock::duration asked_ = kNever;
  bool closed_idle_ = false;
  std::vector<std::string> done_;
};

TEST(DrainTest, WithoutCallsAndConnectionsItEndsAtOnce) {
  FakeServer server;
  server.have_connections = false;
  Drain(server, absl::Seconds(25));
  EXPECT_THAT(server.done(), ElementsAre("0: refuse, last words at 24000", "0: close all connections"));
}

TEST(DrainTest, ClientsHaveHalfASecondToReadTheHealthStatus) {
  FakeServer server;
  Drain(server, absl::Seconds(25));
  EXPECT_THAT(server.done(), ElementsAre("0: refuse, last words at 24000", "500: close all connections"));
}

TEST(DrainTest, CallsContinueAndIdleConnectionsAreClosed) {
  FakeServer server;
  server.calls_end = milliseconds(7000);
  Drain(server, absl::Seconds(25));
  EXPECT_THAT(server.done(), ElementsAre("0: refuse, last words at 24000", "500: close idle connections",
                                         "7000: close all connections"));
}

TEST(DrainTest, CallsThatDoNotEndAreEndedASecondBeforeTheEnd) {
  FakeServer server;
  server.calls_end = FakeServer::kNever;
  server.calls_need = milliseconds(100);
  Drain(server, absl::Seconds(25));
  EXPECT_THAT(server.done(), ElementsAre("0: refuse, last words at 24000", "500: close idle connections",
                                         "24000: end calls", "24100: close all connections"));
}

// Calls that hang even then end with their connections.
TEST(DrainTest, ConnectionsAreClosedHalfASecondBeforeTheEndWhateverTheCallsDo) {
  FakeServer server;
  server.calls_end = FakeServer::kNever;
  server.calls_need = FakeServer::kNever;
  Drain(server, absl::Seconds(25));
  EXPECT_EQ(server.done().back(), "24500: close all connections");
}

TEST(DrainTest, RefusalsAndPeersCanDelayTheEndOnlyShortly) {
  FakeServer server;
  server.refusals_end = FakeServer::kNever;
  server.peers_end = FakeServer::kNever;
  Drain(server, absl::Seconds(25));
  EXPECT_EQ(server.done().back(), "600: close all connections");
  EXPECT_EQ(server.elapsed(), milliseconds(1100));
}

TEST(DrainTest, ItEndsWithinItsTimeEvenIfNothingElseEnds) {
  for (const int grace : {0, 100, 400, 700, 1200, 25'000}) {
    FakeServer server;
    server.calls_end = server.calls_need = server.refusals_end = server.peers_end = FakeServer::kNever;
    Drain(server, absl::Milliseconds(grace));
    EXPECT_LE(server.elapsed(), milliseconds(grace)) << grace;
    EXPECT_THAT(server.done().back(), ::testing::EndsWith("close all connections")) << grace;
  }
}

TEST(DrainTest, WithoutATimeNoCallIsEndedBeforeItsConnection) {
  FakeServer server;
  server.calls_end = FakeServer::kNever;
  Drain(server, absl::ZeroDuration());
  EXPECT_THAT(server.done(), Not(Contains(::testing::HasSubstr("end calls"))));
}

}  // namespace
}  // namespace stampgate
