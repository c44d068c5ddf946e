#include "gateway/audit/unsent_allows.h"

#include <gtest/gtest.h>

namespace stampgate {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class UnsentAllowsTest : public ::testing::Test {
 protected:
  // Makes calls as fast as they are allowed. Returns how many were allowed.
  int Flood(const char* caller, seconds time, bool sent = false) {
    int allowed = 0;
    for (const auto end = now_ + time; now_ < end; now_ += milliseconds(1)) {
      if (unsent_.Refuse(caller).has_value()) continue;
      ++allowed;
      unsent_.Count(caller, sent);
    }
    return allowed;
  }

  UnsentAllows::Clock::time_point now_{seconds(1000)};
  UnsentAllows unsent_{[this] { return now_; }};
};

TEST_F(UnsentAllowsTest, ACallerHasABurstAndThenARate) {
  const int allowed = Flood("a", seconds(3600));
  EXPECT_NEAR(allowed, UnsentAllows::kBurst + 3600 * UnsentAllows::kPerSecond, 2);
}

TEST_F(UnsentAllowsTest, TheStatedDelayIsTrue) {
  Flood("a", seconds(10));
  const std::optional<absl::Duration> wait = unsent_.Refuse("a");
  ASSERT_TRUE(wait.has_value());
  EXPECT_LE(*wait, absl::Seconds(1 / UnsentAllows::kPerSecond));
  now_ += std::chrono::ceil<UnsentAllows::Clock::duration>(absl::ToChronoNanoseconds(*wait + absl::Microseconds(1)));
  EXPECT_FALSE(unsent_.Refuse("a").has_value());
}

TEST_F(UnsentAllowsTest, AnotherCallerIsNotConcerned) {
  Flood("a", seconds(10));
  EXPECT_TRUE(unsent_.Refuse("a").has_value());
  EXPECT_FALSE(unsent_.Refuse("b").has_value());
}

TEST_F(UnsentAllowsTest, CallsThatAreSentAreNotLimited) { EXPECT_EQ(Flood("a", seconds(100), /*sent=*/true), 100'000); }

TEST_F(UnsentAllowsTest, EachCallThatIsSentPermitsOneMore) {
  Flood("a", seconds(10));
  for (int i = 0; i < 500; ++i) {
    unsent_.Count("a", /*sent=*/true);
    ASSERT_FALSE(unsent_.Refuse("a").has_value());
    unsent_.Count("a", /*sent=*/false);
  }
  EXPECT_TRUE(unsent_.Refuse("a").has_value());
}

TEST_F(UnsentAllowsTest, WhileTheSpaceIsScarceEachCallCounts) {
  EXPECT_EQ(Flood("a", seconds(10), /*sent=*/true), 10'000);
  unsent_.SetScarce(true);
  EXPECT_NEAR(Flood("a", seconds(3600), /*sent=*/true), UnsentAllows::kBurst + 3600 * UnsentAllows::kPerSecond, 2);
  EXPECT_FALSE(unsent_.Refuse("b").has_value()) << "another caller";
  unsent_.SetScarce(false);
  EXPECT_EQ(Flood("a", seconds(10), /*sent=*/true), 10'000);
}

// Many calls were allowed before the first of them ended without a request.
TEST_F(UnsentAllowsTest, CallsThatWereAllowedAtTheSameTimeCountToo) {
  for (int i = 0; i < 3000; ++i) unsent_.Count("a", /*sent=*/false);
  const std::optional<absl::Duration> wait = unsent_.Refuse("a");
  ASSERT_TRUE(wait.has_value());
  EXPECT_GE(*wait, absl::Seconds(2000 / UnsentAllows::kPerSecond));
}

}  // namespace
}  // namespace stampgate
