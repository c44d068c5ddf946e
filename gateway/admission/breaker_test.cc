#include "gateway/admission/breaker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "gateway/admission/admission_metrics.h"
#include "gateway/metrics/registry.h"

namespace stampgate {
namespace {

using Cause = TransportFailure::Cause;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class BreakerTest : public ::testing::Test {
 protected:
  void Answer(int status, int times = 1) {
    HttpAnswer answer;
    answer.status = status;
    for (int i = 0; i < times; ++i) breaker_.Count(answer, absl::Milliseconds(5), now_);
  }

  void Fail(Cause cause, int times = 1, absl::Duration duration = absl::Milliseconds(5)) {
    for (int i = 0; i < times; ++i) breaker_.Count(TransportFailure{cause, true, "", false}, duration, now_);
  }

  // Asks for a call whose exchange begins if the call may continue.
  std::optional<absl::Duration> Refuse() {
    Breaker::Probe probe;
    const std::optional<absl::Duration> wait = breaker_.Refuse(now_, probe);
    probe.Use();
    return wait;
  }

  bool IsOpen() { return !changes_.empty() && changes_.back(); }

  absl::Time now_ = absl::FromUnixSeconds(1000);
  std::vector<bool> changes_;
  MetricRegistry registry_;
  AdmissionMetrics metrics_{registry_};
  Breaker breaker_{metrics_.submit_breaker_open, [this](bool open) { changes_.push_back(open); }};
};

TEST_F(BreakerTest, OpensIfHalfOfTwentyExchangesFail) {
  Answer(200, 10);
  Fail(Cause::kBroken, 9);
  EXPECT_FALSE(IsOpen());
  EXPECT_EQ(metrics_.submit_breaker_open.Value(), 0);
  Answer(503);
  EXPECT_TRUE(IsOpen());
  EXPECT_EQ(metrics_.submit_breaker_open.Value(), 1);
}

TEST_F(BreakerTest, StaysClosedWithFewExchangesOrFewFailures) {
  Fail(Cause::kUnreachable, 19);
  now_ += absl::Seconds(11);
  Fail(Cause::kUnreachable, 19);
  now_ += absl::Seconds(11);
  Answer(200, 100);
  Answer(500, 99);
  EXPECT_THAT(changes_, IsEmpty());
}

TEST_F(BreakerTest, AConnectionThatDoesNotComeInASecondIsAFailure) {
  const auto end_unconnected = [this](absl::Duration duration) {
    for (int i = 0; i < 20; ++i) breaker_.Count(TransportFailure{Cause::kTimeout, false, "", false}, duration, now_);
  };
  end_unconnected(absl::Milliseconds(900));
  EXPECT_THAT(changes_, IsEmpty()) << "the deadline was shorter than a handshake can be";
  end_unconnected(absl::Milliseconds(1100));
  EXPECT_TRUE(IsOpen());
}

TEST_F(BreakerTest, NoRefusalOfUpstreamOpensIt) {
  for (const int status : {400, 401, 403, 404, 409, 429, 501}) {
    Answer(status, 100);
    now_ += absl::Seconds(11);  // otherwise the earlier successes would outnumber a failure
  }
  Fail(Cause::kTooLarge, 100);
  EXPECT_THAT(changes_, IsEmpty());
}

TEST_F(BreakerTest, NoShortDeadlineOpensIt) {
  Fail(Cause::kTimeout, 100, Breaker::kPatience - absl::Milliseconds(1));
  Fail(Cause::kCancelled, 100, absl::Seconds(20));
  Fail(Cause::kNoSlot, 100, absl::Seconds(20));
  EXPECT_THAT(changes_, IsEmpty());
  Fail(Cause::kTimeout, 20, Breaker::kPatience);
  EXPECT_TRUE(IsOpen());
}

TEST_F(BreakerTest, LetsOneProbeThroughInFiveSeconds) {
  Fail(Cause::kUnreachable, 20);
  EXPECT_EQ(Refuse(), absl::Seconds(5));
  now_ += absl::Seconds(3);
  const std::optional<absl::Duration> wait = Refuse();
  ASSERT_EQ(wait, absl::Seconds(2));
  now_ += *wait;
  EXPECT_EQ(Refuse(), std::nullopt);
  EXPECT_EQ(Refuse(), absl::Seconds(5));
  Fail(Cause::kUnreachable);
  EXPECT_EQ(Refuse(), absl::Seconds(5));
  EXPECT_THAT(changes_, ElementsAre(true));
}

TEST_F(BreakerTest, AProbeThatSendsNothingMakesTheNextCallAProbe) {
  Fail(Cause::kUnreachable, 20);
  now_ += absl::Seconds(5);
  {
    Breaker::Probe probe;
    EXPECT_EQ(breaker_.Refuse(now_, probe), std::nullopt);
    EXPECT_TRUE(probe.is_held());
    now_ += absl::Milliseconds(200);  // the call waits for its place in vain
    EXPECT_EQ(Refuse(), absl::Seconds(4.8));
  }
  EXPECT_EQ(Refuse(), std::nullopt);
  EXPECT_EQ(Refuse(), absl::Seconds(5));
}

TEST_F(BreakerTest, AProbeThatEndsAfterTheNextOneChangesNothing) {
  Fail(Cause::kUnreachable, 20);
  now_ += absl::Seconds(5);
  Breaker::Probe first;
  EXPECT_EQ(breaker_.Refuse(now_, first), std::nullopt);
  now_ += absl::Seconds(5);
  EXPECT_EQ(Refuse(), std::nullopt);
  first.Return();
  EXPECT_EQ(Refuse(), absl::Seconds(5));
}

TEST_F(BreakerTest, WhileItIsClosedNoCallIsAProbe) {
  Breaker::Probe probe;
  EXPECT_EQ(breaker_.Refuse(now_, probe), std::nullopt);
  EXPECT_FALSE(probe.is_held());
}

TEST_F(BreakerTest, ClosesWhenAnExchangeSucceeds) {
  Fail(Cause::kUnreachable, 20);
  now_ += absl::Seconds(5);
  EXPECT_EQ(Refuse(), std::nullopt);
  Answer(400);
  EXPECT_EQ(Refuse(), std::nullopt);
  Fail(Cause::kUnreachable, 19);  // the earlier failures no longer count
  EXPECT_THAT(changes_, ElementsAre(true, false));
}

}  // namespace
}  // namespace stampgate
